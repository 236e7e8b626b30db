"""Published figures beside the rows that they belong to."""

from dataclasses import replace

from trilabel.compare import MethodRow, Spec, recipe_row
from trilabel.compare.published import figures
from trilabel.compare.references import references


def test_published_figures_of_the_recipe_and_of_the_same_method(base):
    labels = ("single-positive", "all")
    spec = Spec((recipe_row("cole2021-an", base, "ours"), MethodRow("LL", replace(base, method="large-loss"))), labels)
    found = references(spec, ["voc2012"], ["mAP"])
    expected = [
        (figure.labels, figure.value, f"{figure.source}, voc2012")
        for figure in figures()
        if figure.data == "voc2012" and figure.recipe in ("cole2021-an", "kim2022-an") and figure.metric == "mAP"
    ]
    ours = [(each.labels, each.value, each.source) for each in found if each.row == "ours"]
    assert ours == expected and {source.split(",")[0] for *_, source in ours} == {"Cole 2021", "Kim 2022"}
    assert all(each.row == "ours" for each in found), "LL-R says its mode, and has as many settings as the recipe"
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
