"""The papers' figures: typed a second time, in agreement with each other, and found by what they are of."""

import csv
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from trilabel import metrics
from trilabel.compare import published
from trilabel.compare.published import PublishedFigure, figures, read_figure
from trilabel.labels import Labels, simulate
from trilabel.recipes import RECIPES
from trilabel.training.relabelling import Relabelling

FULL = Labels.from_signed(np.where(np.random.default_rng(0).random((4, 6)) < 0.5, 1, -1))
NINE = " ".join(f"keep-share=0.{tenth}" for tenth in range(1, 10))
GROUPS = [f"mAP_G{group}" for group in range(1, 6)]
UNSURE = "[e] Bayesian uncertainty 0.5"


def value_of(paper, table, data, labels, recipe, metric, about=""):
    """The one figure that is all this; `about` need only start so."""
    same = (paper, table, data, labels, recipe, metric)
    found = [
        each.value
        for each in figures()
        if (each.paper, each.table, each.data, each.labels, each.recipe, each.metric) == same
        and each.about.startswith(about)
    ]
    assert len(found) == 1, (same, about, found)
    return found[0]


def test_the_header_names_the_fields():
    with Path(published.__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == [field.name for field in fields(PublishedFigure)]


def test_every_table_is_whole():
    assert Counter((each.paper, each.table) for each in figures()) == {
        ("durand2019", "table 1"): 3,
        ("durand2019", "table 2"): 11 * 7 - 1,  # [c] labels no negatives
        ("durand2019", "table 3"): 3,
        ("durand2019", "table 4"): 6 * 4,
        ("huynh2020", "table 1"): (9 + 8) * 6,  # fixed features: all but logistic
        ("huynh2020", "table 3"): 3 * 6,
        ("huynh2020", "table 4"): 5,
        ("cole2021", "table 1"): 11 * 8 - 2 * 4,  # LinearInit is not linear
        ("cole2021", "table A1"): 4 * 4,
        ("kim2022", "table 2"): 9 * 8,
        ("kim2022", "table 3"): 9 * 6,
        ("kim2022", "table 4"): 8 * 2,
        ("wang2023", "table 1"): 10 * 9,
        ("wang2023", "table 2"): 5 * 7 * 3,
        ("wang2023", "table 4"): 6 * 6,
    }


def test_recipes_exist_and_rows_without_one_say_what_they_are():
    assert {each.recipe for each in figures()} - {""} <= set(RECIPES)
    assert all(each.about for each in figures())


def test_label_settings_hide_or_change_labels():
    settings = {word for each in figures() for word in each.labels.split(" ")} - {"all"}
    assert len(settings) > 10
    for setting in settings:
        made = simulate.apply(FULL, setting)
        assert made.shape == FULL.shape and made.classes == FULL.classes
        if not setting.startswith("single-positive=1,"):  # with every negative of a small matrix nothing need change
            assert made != FULL, setting


def test_data_has_one_spelling():
    assert {each.data for each in figures()} == {
        "voc2007", "voc2012", "coco2014", "nuswide", "cub", "visual-genome", "openimages-v3", "openimages-600",
    }  # fmt: skip


def test_metrics_are_named_as_ours():
    scored = metrics.evaluate(np.random.default_rng(0).random((4, 6)), FULL)
    relabelling = Relabelling("score", {}, Labels.from_signed(np.zeros((4, 6), np.int8)))
    relabelled = relabelling.summary(FULL)
    ours = {*scored, "pointing_game_by_class", *GROUPS, *vars(relabelled)}
    assert {each.metric.removesuffix("_gain") for each in figures()} <= ours


def test_values_are_percentages():
    for each in figures():
        lowest = -100 if each.metric.endswith("_gain") else 0
        assert lowest <= each.value <= 100, each
        assert each.deviation is None or 0 < each.deviation < 100, each
    assert any(each.value < 0 for each in figures())


def test_nothing_is_there_twice():
    keys = Counter(
        (each.paper, each.table, each.data, each.labels, each.recipe, each.metric, each.about) for each in figures()
    )
    assert max(keys.values()) == 1


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (79.22, ("durand2019", "table 1", "coco2014", "all", "durand2019-bce", "mAP")),
        (71.60, ("durand2019", "table 1", "coco2014", "noisy-plus", "durand2019-bce", "mAP")),
        (-1.49, ("durand2019", "table 2", "voc2007", "keep-share=0.1", "durand2019-two-steps", "mAP_gain")),
        (79.07, ("durand2019", "table 2", "voc2007", "keep-share=0.1", "durand2019-positive", "positives_right")),
        (61.15, ("durand2019", "table 2", "voc2007", "keep-share=0.1", "durand2019-relabel", "true_positive_rate")),
        (12.07, ("durand2019", "table 2", "voc2007", "keep-share=0.1", "durand2019", "exact_match_gain")),
        (94.79, ("durand2019", "table 2", "voc2007", "keep-share=0.1", "", "used_share", UNSURE)),
        (83.05, ("durand2019", "table 3", "openimages-600", "all", "", "mAP", "partial-BCE")),
        (83.36, ("durand2019", "table 3", "openimages-600", "all", "durand2019-openimages", "mAP")),
        (66.21, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019-bce-linear", "mAP")),
        (25.14, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019-gnn", "exact_match")),
        (70.13, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019-relabel", "macro_F1")),
        (74.37, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019", "micro_F1")),
        (69.47, ("huynh2020", "table 1", "openimages-v3", "all", "huynh2020-openimages-logistic", "mAP_G1")),
        (76.34, ("huynh2020", "table 1", "openimages-v3", "all", "huynh2020-openimages-fast0tag", "mAP")),
        (75.06, ("huynh2020", "table 1", "openimages-v3", "all", "huynh2020-openimages-wsabie-linear", "mAP_G3")),
        (78.07, ("huynh2020", "table 1", "openimages-v3", "all", "huynh2020-openimages-imcl", "mAP")),
        (87.1, ("cole2021", "table 1", "voc2012", "single-positive=1,20", "cole2021-iun", "mAP")),
        (19.4, ("cole2021", "table 1", "cub", "single-positive=1,312", "cole2021-iun-linear", "mAP")),
        (42.9, ("cole2021", "table 1", "nuswide", "single-positive=1,1", "cole2021-iu", "mAP")),
        (76.8, ("cole2021", "table 1", "coco2014", "all", "cole2021-bce-ls", "mAP")),
        (64.1, ("cole2021", "table 1", "coco2014", "single-positive", "cole2021-an", "mAP")),
        (49.5, ("cole2021", "table 1", "nuswide", "single-positive", "cole2021-role-linear", "mAP")),
        (88.2, ("cole2021", "table 1", "voc2012", "single-positive", "cole2021-role-linear-init", "mAP")),
        (56.9, ("cole2021", "table A1", "coco2014", "single-positive", "cole2021-pr-linear", "mAP")),
        (87.7, ("cole2021", "table A1", "voc2012", "single-positive", "cole2021-an-ls-asymmetric", "mAP")),
        (78.0, ("kim2022", "table 2", "coco2014", "all", "cole2021-bce", "mAP", "Full label")),
        (34.0, ("kim2022", "table 2", "cub", "all", "kim2022-an-linear-init", "mAP", "Full label")),
        (89.2, ("kim2022", "table 2", "voc2012", "single-positive", "kim2022-ll-r", "mAP")),
        (70.7, ("kim2022", "table 2", "coco2014", "single-positive", "kim2022-ll-cp", "mAP")),
        (49.6, ("kim2022", "table 2", "nuswide", "single-positive", "kim2022-ll-ct-linear-init", "mAP")),
        (21.2, ("kim2022", "table 2", "cub", "single-positive", "", "mAP", "EPR + LinearInit")),
        (84.7, ("kim2022", "table 3", "openimages-v3", "all", "", "mAP_G5", "WAN")),
        (82.6, ("kim2022", "table 3", "openimages-v3", "all", "kim2022-openimages-ll-ct", "mAP")),
        (51.5, ("kim2022", "table 4", "coco2014", "single-positive", "cole2021-role", "pointing_game_by_class")),
        (83.5, ("kim2022", "table 4", "voc2012", "single-positive", "kim2022-ll-cp", "pointing_game_by_class")),
        (81.0, ("wang2023", "table 1", "coco2014", NINE, "wang2023", "mAP")),
        (54.0, ("wang2023", "table 1", "visual-genome", NINE, "wang2023-csl", "OF1")),
        (86.1, ("wang2023", "table 1", "voc2007", NINE, "wang2023-hst", "CF1", "HST")),
        (53.5, ("wang2023", "table 2", "coco2014", "keep-share=0.1", "wang2023-s-bce", "CF1")),
        (79.3, ("wang2023", "table 2", "coco2014", "keep-share=0.3", "wang2023-sr-cr-plain", "mAP")),
        (80.0, ("wang2023", "table 2", "coco2014", "keep-share=0.9", "wang2023", "OF1")),
        (90.1, ("wang2023", "table 4", "openimages-v3", "all", "", "mAP_G5", "CSL")),
        (81.5, ("wang2023", "table 4", "openimages-v3", "all", "wang2023-openimages", "mAP")),
    ],
)  # fmt: skip
def test_figures_as_printed(value, where):
    assert value_of(*where) == value


def test_groups_average_to_the_whole():
    """Groups are of one size, so that a number in a wrong column or row shows."""
    tables = {}
    for each in figures():
        if each.metric in (*GROUPS, "mAP") and each.data == "openimages-v3":
            tables.setdefault((each.paper, each.recipe, each.about), {})[each.metric] = each.value
    rows = [row for row in tables.values() if "mAP" in row]  # Huynh 2020, table 4 has one group
    assert len(rows) == 17 + 3 + 9 + 6
    for row in rows:
        assert np.mean([row[group] for group in GROUPS]) == pytest.approx(row["mAP"], abs=0.08)


def test_differences_that_the_papers_state():
    def wang(recipe, tenths, metric="mAP"):
        return value_of("wang2023", "table 2", "coco2014", f"keep-share=0.{tenths}", f"wang2023{recipe}", metric)

    shares = (1, 3, 5, 7, 9)
    assert [round(wang("-sr", n) - wang("-bn-bce", n), 1) for n in shares] == [5.1, 3.7, 4.0, 4.0, 4.5]
    assert [round(wang("-cr", n) - wang("-bn-bce", n), 1) for n in shares] == [1.7, 1.3, 1.3, 1.3, 1.1]
    assert [round(wang("-cr", 1, m) - wang("-bn-bce", 1, m), 1) for m in ("OF1", "CF1")] == [2.5, 2.1]
    assert [wang("-sr-cr-plain", n) < wang("-sr", n) for n in shares] == [False, True, True, True, True]
    assert all(wang("", n) > wang("-sr", n) for n in shares)

    def kim(recipe, data, table="table 2", metric="mAP"):
        return value_of("kim2022", table, data, "single-positive", recipe, metric)

    assert round(kim("kim2022-ll-r", "coco2014") - kim("cole2021-an-ls", "coco2014"), 1) == 4.1
    init = [f"{name}-linear-init" for name in ("kim2022-ll-r", "cole2021-an-ls")]
    assert round(kim(init[0], "coco2014") - kim(init[1], "coco2014"), 1) == 2.7
    for data, gain in (("voc2012", 1.2), ("coco2014", 2.6)):
        ours, role = (
            kim(name, data, "table 4", "pointing_game_by_class") for name in ("kim2022-ll-ct", "cole2021-role")
        )
        assert round(ours - role, 1) == gain

    def genome(recipe, about, metric):
        return value_of("wang2023", "table 1", "visual-genome", NINE, recipe, metric, about)

    for recipe, about, gains in (("", "PLCL", (5.1, 5.6, 5.8)), ("wang2023-splc", "SPLC", (4.1, 7.5, 4.0))):
        for metric, gain in zip(("mAP", "OF1", "CF1"), gains, strict=True):
            assert round(genome("wang2023", "ST", metric) - genome(recipe, about, metric), 1) == gain


def test_a_figure_that_two_papers_print_is_the_same():
    """Kim 2022 takes Cole's figures over, and Kim and Wang those of Huynh, rounded."""
    taken_over = 0
    for each in figures():
        of = (each.recipe, each.data, each.labels, each.metric)
        for own in figures():
            same = (own.recipe, own.data, own.labels, own.metric) == of
            own_runs = each.recipe == "cole2021-bce"  # Kim trained with all labels anew
            if same and not own_runs and own.paper != each.paper and each.recipe.startswith(own.paper):
                taken_over += 1
                assert each.value == pytest.approx(own.value, abs=0.051), (own, each)
                break
    assert taken_over == 6 * 4 + 3 * 6 + 4 * 6


def test_a_deviation_is_read():
    row = ["durand2019", "table 5", "coco2014", "keep-share=0.5", "durand2019-bce", "mAP", "77.21", "0.01", "partial"]
    figure = read_figure(row)
    assert (figure.value, figure.deviation, figure.source) == (77.21, 0.01, "Durand 2019, table 5")
    assert read_figure([*row[:7], "", "partial"]).deviation is None
