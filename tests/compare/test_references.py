"""Published figures beside the rows that they belong to."""

from dataclasses import replace

from trilabel.compare import MethodRow, Spec, recipe_row
from trilabel.compare.references import references


def test_published_figures_of_the_recipe_and_of_the_same_method(base):
    labels = ("single-positive", "all")
    spec = Spec((recipe_row("cole2021-an", base, "ours"), MethodRow("LL", replace(base, method="large-loss"))), labels)
    found = references(spec, ["voc2012"], ["mAP"])
    ours = [(each.labels, each.value, each.source) for each in found if each.row == "ours"]
    assert ours == [  # also printed in Cole's table A1 and Kim's appendix
        ("single-positive", 85.1, "Cole 2021, table 1, voc2012"),
        ("all", 90.2, "Kim 2022, table 2, voc2012"),  # with all labels known nothing is assumed
        ("single-positive", 85.1, "Kim 2022, table 2, voc2012"),
    ]
    same = [(each.labels, each.value, each.note) for each in found if each.row == "LL"]
    assert same == [("single-positive", 89.2, "")], "the method's own settings are those of LL-R, which says its mode"
    large = recipe_row("kim2022-ll-r", base, "other delta")
    large = replace(large, config=replace(large.config, settings={"mode": "reject", "delta": 0.4}))
    theirs = references(Spec((large,), labels), ["voc2012"], ["mAP"])
    assert {(each.row, each.source) for each in theirs} == {("other delta", "Kim 2022, table 2, voc2012")}
    assert references(spec, ["voc2012"], ["exact_match"]) == references(spec, [], ["mAP"]) == []
    assert references(replace(spec, labels=("keep-share=0.5",)), ["voc2012"], ["mAP"]) == []


def test_no_published_figure_of_another_head_graph_or_stages(base):
    rows = [recipe_row("kim2022-ll-r", base, "as it is")]
    for name, changes in (
        ("head", {"head": "saliency"}),
        ("stages", {"stages": "linear"}),
        ("graph", {"graph": "gnn"}),
    ):
        rows.append(replace(rows[0], name=name, config=replace(rows[0].config, **changes)))
    settings = {"mode": "reject", "delta": 0.4}
    rows.append(replace(rows[0], name="settings", config=replace(rows[0].config, settings=settings)))
    found = references(Spec(tuple(rows), ("single-positive",)), ["voc2012"], ["mAP"])
    assert [(each.row, each.value, bool(each.note)) for each in found] == [
        ("as it is", 89.2, False),
        ("settings", 89.2, True),
    ]


def test_a_figure_with_settings_is_shown_beside_these_settings_only(base):
    first = recipe_row("wang2023-sr", base, "k 5")
    configs = {f"k {k}": replace(first.config, head_settings={"k": k}) for k in (1, 9)}
    rows = (first, *(replace(first, name=name, config=config) for name, config in configs.items()))
    found = references(Spec(rows, ("keep-share=0.5",)), ["coco2014"], ["mAP"])
    own = "with its own settings of the method"
    assert [(each.row, each.value, each.note) for each in found] == [
        ("k 5", 81.3, ""), ("k 5", 81.25, "head_settings.k=5"),
        ("k 1", 81.3, own), ("k 1", 80.9, "head_settings.k=1"),
        ("k 9", 81.3, own),
    ]  # fmt: skip
    said = replace(first, config=replace(first.config, head_settings={"k": "5"}))
    assert references(Spec((said,), ("keep-share=0.5",)), ["coco2014"], ["mAP"]) == found[:2], (
        "the default, written out"
    )


def test_a_figure_of_another_backbone_says_so(base):
    row = recipe_row("durand2019-bce", base, "BCE")
    found = references(Spec((row,), ("dense-share=0.3",)), ["coco2014"], ["mAP"])
    assert [(each.value, each.note) for each in found] == [(71.14, "backbone=resnet50"), (73.80, "")]
