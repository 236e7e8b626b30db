"""The papers' figures: typed a second time, in agreement with each other, and found by what they are of."""

import csv
import re
from collections import Counter
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from trilabel import metrics
from trilabel.compare import MethodRow, Spec, published
from trilabel.compare.changes import with_changes
from trilabel.compare.checks import check_spec
from trilabel.compare.published import PublishedFigure, figures, read_figure
from trilabel.compare.references import settings_in_full
from trilabel.labels import Labels, simulate
from trilabel.recipes import RECIPES, resolve
from trilabel.recipes.own import RECIPES as OWN
from trilabel.training.record import EpochRecord
from trilabel.training.relabelling import Relabelling

FULL = Labels.from_signed(np.where(np.random.default_rng(0).random((10, 6)) < 0.5, 1, -1))
NINE = " ".join(f"keep-share=0.{tenth}" for tenth in range(1, 10))
GROUPS = [f"mAP_G{group}" for group in range(1, 6)]
UNSURE = "durand2019 relabel_settings.threshold=0.5"
NO_RECIPE = "; no recipe: "
# What the figures draw, as far as the papers' text says; a figure prints no numbers.
FIGURES = {
    ("huynh2020", "figure 3"): {
        f"huynh2020-cub-{method}"
        for method in ("logistic", "cnn-rnn", "lsep", "fast0tag", "curriculum", "imcl", "imcl-side")
    },
    ("huynh2020", "figure 4"): {
        f"huynh2020-coco-{method}"
        for method in (
            "logistic", "latent-noise-visual", "latent-noise-relevance", "cnn-rnn", "lsep", "fast0tag", "wsabie",
            "curriculum", "imcl",
        )
    },
    ("wang2023", "figure 5"): {"wang2023-focal"},  # and two rows of table 2
}  # fmt: skip


def value_of(paper, table, data, labels, recipe, metric, about=""):
    """The one figure that is all this; `recipe` may name settings after it, `about` need only start so."""
    same = (paper, table, data, labels, metric)
    found = [
        each.value
        for each in figures()
        if (each.paper, each.table, each.data, each.labels, each.metric) == same
        and f"{each.recipe} {each.settings}".strip() == recipe
        and each.about.startswith(about)
    ]
    assert len(found) == 1, (same, recipe, about, found)
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
        ("durand2019", "table 5"): 8 * 10,
        ("durand2019", "table 6"): 4 * (10 + 10 + 6),
        ("durand2019", "table 7"): 3 * 3 * 8,
        ("durand2019", "table 8"): 28 * 7 - 3,  # [c]
        ("huynh2020", "table 1"): (9 + 8) * 6,  # fixed features: all but logistic
        ("huynh2020", "table 2"): 4 + 4 + 3,
        ("huynh2020", "table 3"): 3 * 6,
        ("huynh2020", "table 4"): 5,
        ("cole2021", "table 1"): 11 * 8 - 2 * 4,  # LinearInit is not linear
        ("cole2021", "table 2"): 3 * 4,
        ("cole2021", "table A1"): 4 * 4,
        ("kim2022", "table 1"): 2 * 3,
        ("kim2022", "table 2"): 9 * 8,
        ("kim2022", "table 3"): 9 * 6,
        ("kim2022", "table 4"): 8 * 2,
        ("kim2022", "appendix table 1"): 5 * 4,
        ("kim2022", "appendix table 2"): 5 * 6,
        ("wang2023", "table 1"): 10 * 9,
        ("wang2023", "table 2"): 5 * 7 * 3,
        ("wang2023", "table 3"): 2 * 5,
        ("wang2023", "table 4"): 6 * 6,
    }


def test_every_row_has_a_recipe_or_says_why_not():
    assert {each.recipe for each in figures()} - {""} <= set(RECIPES)
    reasons = Counter()
    for each in figures():
        what, _, reason = each.about.partition(NO_RECIPE)
        assert what and bool(reason) != bool(each.recipe), each
        reasons[each.paper, each.table, reason] += bool(reason)
    wikipedia = "the label graph made from Wikipedia was not released (one of your own: --set graph=FILE)"
    assert +reasons == {
        ("durand2019", "table 6", "which ResNeXt-101 it is is not said"): 10 + 10 + 6,
        ("huynh2020", "table 3", wikipedia): 2 * 6,
        ("huynh2020", "table 4", wikipedia): 1,
        ("kim2022", "appendix table 1", "the highest of LL-R, LL-Ct and LL-Cp"): 4,
        ("kim2022", "appendix table 2", "the highest of LL-R, LL-Ct and LL-Cp"): 6,
    }


def test_every_recipe_is_a_row_of_the_table_or_a_line_of_the_figure_that_it_names():
    """What a paper has in neither is listed here."""
    trained = ("latent-noise-visual", "latent-noise-relevance", "wsabie")  # Huynh 2020, section 4.6: not drawn
    neither = {*OWN, "wang2023-asl", *(f"huynh2020-cub-{method}" for method in trained)}
    named = {}
    for name, recipe in RECIPES.items():
        place = re.search(r"\d{4}, ((?:appendix )?table \w+|figure \d)", recipe.__doc__ or "")
        assert bool(place) != (name in neither), name
        if place:
            named.setdefault((name.partition("-")[0], place[1]), set()).add(name)
    assert {place: names for place, names in named.items() if "figure" in place[1]} == FIGURES
    rows = {(each.recipe, each.table) for each in figures()}
    assert not set().union(*FIGURES.values()) & {recipe for recipe, _ in rows}
    tables = {(name, table) for (_, table), names in named.items() for name in names if "table" in table}
    assert tables <= rows
    for method in trained:
        assert "section 4.6, not drawn in figure 3" in (RECIPES[f"huynh2020-cub-{method}"].__doc__ or "")


def test_the_settings_of_rows_are_accepted_by_their_parts():
    stated = {(each.recipe, each.settings): each.config for each in figures() if each.settings}
    assert len(stated) == (1 + 1) + (3 + 8 + 3 + 3 + 2 * 5) + (4 + 4 + 3) + 3 + 5  # Durand 6, 8; Huynh 2, 4; Wang 3
    runs = {"relabel_settings.runs": ["a", "b"]}  # an ensemble cannot be without
    rows = []
    for (recipe, settings), config in stated.items():
        config = with_changes(config, runs if config.relabel == "ensemble" else {}, recipe)
        rows.append(MethodRow(f"{recipe} {settings}", config))
    check_spec(Spec(tuple(rows)))


def test_a_table_that_varies_a_setting_states_it_in_every_row_also_where_it_is_the_recipes_own():
    tables = {}
    for each in figures():
        if "backbone=" not in each.settings:
            tables.setdefault((each.paper, each.table, each.recipe), set()).add(each.settings)
    varied = {table: settings for table, settings in tables.items() if any(settings)}
    assert len(varied) == 2 * 6 + 1 + 1 + 1 and all(map(all, varied.values())), (
        varied
    )  # Durand 2, 8; Huynh 2, 4; Wang 3
    stated = [each for each in figures() if "backbone=" not in each.settings and each.settings]
    own = [each.settings for each in stated if settings_in_full(each.config) == settings_in_full(resolve(each.recipe))]
    assert {settings.partition(".")[2] for settings in own} == {
        *(f"threshold={value}" for value in ("2", "0.8", "5", "0.3")),
        *("label_weight=1", "feature_weight=0.5", "neighbors=5", "learn_graph=true", "k=5"),
    }


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
    scored = metrics.evaluate(np.random.default_rng(0).random(FULL.shape), FULL)
    relabelling = Relabelling("score", {}, Labels.from_signed(np.zeros((10, 6), np.int8)))
    relabelled = relabelling.summary(FULL)
    kinds = ("known_positives", "true_negatives", "hidden_positives")
    recorded = {f"highest_loss_in_first_epoch.{kind}" for kind in kinds}
    ours = {*scored, "pointing_game_by_class", *GROUPS, *vars(relabelled), *recorded}
    found = {re.sub("^(train|val)_|_gain$", "", each.metric) for each in figures()}
    assert found <= ours
    assert recorded <= found and "highest_loss_in_first_epoch" in {field.name for field in fields(EpochRecord)}


def test_values_are_percentages():
    for each in figures():
        lowest = -100 if each.metric.endswith("_gain") else 0
        assert lowest <= each.value <= 100, each
        assert each.deviation is None or 0 < each.deviation < 100, each
    assert any(each.value < 0 for each in figures())


def test_nothing_is_there_twice():
    keys = Counter(
        (each.paper, each.table, each.data, each.labels, each.recipe, each.settings, each.metric, each.about)
        for each in figures()
    )
    assert max(keys.values()) == 1


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (79.22, ("durand2019", "table 1", "coco2014", "all", "durand2019-bce", "mAP")),
        (71.60, ("durand2019", "table 1", "coco2014", "noisy-plus", "durand2019-bce", "mAP")),
        (-1.49, ("durand2019", "table 2", "voc2007", "keep-share=0.1", "durand2019-two-steps", "mAP_gain")),
        (79.07, ("durand2019", "table 2", "voc2007", "keep-share=0.1",
                 "durand2019-positive relabel_settings.threshold=5", "positives_right")),
        (61.15, ("durand2019", "table 2", "voc2007", "keep-share=0.1",
                 "durand2019-relabel relabel_settings.threshold=0.3", "true_positive_rate")),
        (12.07, ("durand2019", "table 2", "voc2007", "keep-share=0.1",
                 "durand2019 relabel_settings.threshold=0.3", "exact_match_gain")),
        (94.79, ("durand2019", "table 2", "voc2007", "keep-share=0.1", UNSURE, "used_share")),
        (83.05, ("durand2019", "table 3", "openimages-600", "all", "durand2019-openimages-partial-bce", "mAP")),
        (83.36, ("durand2019", "table 3", "openimages-600", "all", "durand2019-openimages", "mAP")),
        (66.21, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019-bce-linear", "mAP")),
        (25.14, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019-gnn", "exact_match")),
        (70.13, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019-relabel", "macro_F1")),
        (74.37, ("durand2019", "table 4", "coco2014", "keep-share=0.1", "durand2019", "micro_F1")),
        (77.21, ("durand2019", "table 5", "coco2014", "keep-share=0.5", "durand2019-bce", "mAP")),
        (83.44, ("durand2019", "table 5", "coco2014", "keep-share=0.8", "durand2019-bce", "OP")),
        (74.69, ("durand2019", "table 6", "coco2014", "noisy=0.1", "durand2019-bce backbone=resnet50", "mAP")),
        (64.28, ("durand2019", "table 6", "coco2014", "dense-share=0.4", "durand2019-bce backbone=resnet50 head=gap",
                 "mAP")),
        (66.00, ("durand2019", "table 7", "voc2007", "noisy-plus", "durand2019-bce", "OR")),
        (41.80, ("durand2019", "table 7", "nuswide", "keep-share=0.1", "durand2019-bce", "CP")),
        (85.37, ("durand2019", "table 8", "voc2007", "keep-share=0.1",
                 "durand2019-proportion relabel_settings.threshold=0.6", "used_share")),
        (-21.31, ("durand2019", "table 8", "voc2007", "keep-share=0.1",
                  "durand2019-positive relabel_settings.threshold=2", "exact_match_gain")),
        (68.56, ("durand2019", "table 8", "voc2007", "keep-share=0.1",
                 "durand2019-relabel relabel_settings.threshold=0.4", "true_positive_rate")),
        (78.17, ("huynh2020", "table 2", "openimages-v3", "all",
                 "huynh2020-openimages-imcl-linear settings.feature_weight=2", "val_mAP")),
        (86.23, ("huynh2020", "table 3", "openimages-v3", "all", "huynh2020-openimages-imcl-linear", "mAP_G5")),
        (85.99, ("huynh2020", "table 4", "openimages-v3", "all",
                 "huynh2020-openimages-imcl-linear settings.learn_graph=false", "mAP_G5")),
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
        (56.0, ("cole2021", "table 2", "nuswide", "single-positive", "cole2021-role-linear", "train_mAP")),
        (56.9, ("cole2021", "table A1", "coco2014", "single-positive", "cole2021-pr-linear", "mAP")),
        (87.7, ("cole2021", "table A1", "voc2012", "single-positive", "cole2021-an-ls-asymmetric", "mAP")),
        (78.0, ("kim2022", "table 2", "coco2014", "all", "kim2022-an", "mAP", "Full label")),
        (34.0, ("kim2022", "table 2", "cub", "all", "kim2022-an-linear-init", "mAP", "Full label")),
        (89.2, ("kim2022", "table 2", "voc2012", "single-positive", "kim2022-ll-r", "mAP")),
        (70.7, ("kim2022", "table 2", "coco2014", "single-positive", "kim2022-ll-cp", "mAP")),
        (49.6, ("kim2022", "table 2", "nuswide", "single-positive", "kim2022-ll-ct-linear-init", "mAP")),
        (21.2, ("kim2022", "table 2", "cub", "single-positive", "kim2022-epr-linear-init", "mAP")),
        (84.7, ("kim2022", "table 3", "openimages-v3", "all", "kim2022-openimages-wan", "mAP_G5")),
        (82.6, ("kim2022", "table 3", "openimages-v3", "all", "kim2022-openimages-ll-ct", "mAP")),
        (51.5, ("kim2022", "table 4", "coco2014", "single-positive", "cole2021-role", "pointing_game_by_class")),
        (83.5, ("kim2022", "table 4", "voc2012", "single-positive", "kim2022-ll-cp", "pointing_game_by_class")),
        (17.3, ("kim2022", "table 1", "coco2014", "single-positive", "kim2022-an",
                "highest_loss_in_first_epoch.hidden_positives")),
        (48.6, ("kim2022", "appendix table 1", "nuswide", "single-positive", "kim2022-ll-ct-absolute", "mAP")),
        (77.9, ("kim2022", "appendix table 2", "openimages-v3", "all", "kim2022-openimages-ll-r-absolute", "mAP_G1")),
        (81.0, ("wang2023", "table 1", "coco2014", NINE, "wang2023", "mAP")),
        (54.0, ("wang2023", "table 1", "visual-genome", NINE, "wang2023-csl", "OF1")),
        (86.1, ("wang2023", "table 1", "voc2007", NINE, "wang2023-hst", "CF1", "HST")),
        (53.5, ("wang2023", "table 2", "coco2014", "keep-share=0.1", "wang2023-s-bce", "CF1")),
        (79.3, ("wang2023", "table 2", "coco2014", "keep-share=0.3", "wang2023-sr-cr-plain", "mAP")),
        (80.0, ("wang2023", "table 2", "coco2014", "keep-share=0.9", "wang2023", "OF1")),
        (78.59, ("wang2023", "table 3", "coco2014", "keep-share=0.2", "wang2023-sr head_settings.k=3", "mAP")),
        (90.1, ("wang2023", "table 4", "openimages-v3", "all", "wang2023-openimages-csl", "mAP_G5")),
        (81.5, ("wang2023", "table 4", "openimages-v3", "all", "wang2023-openimages", "mAP")),
    ],
)  # fmt: skip
def test_figures_as_printed(value, where):
    assert value_of(*where) == value


def test_groups_average_to_the_whole():
    """Groups are of one size, so that a number in a wrong column or row shows."""
    tables = {}
    for each in figures():
        if each.metric in (*GROUPS, "mAP") and each.data == "openimages-v3" and each.source != "Huynh 2020, table 4":
            tables.setdefault((each.paper, each.table, each.about), {})[each.metric] = each.value
    assert len(tables) == (17 + 3) + (9 + 5) + 6
    for row in tables.values():
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

    def genome(recipe, metric):
        return value_of("wang2023", "table 1", "visual-genome", NINE, recipe, metric)

    for recipe, gains in (("wang2023-plcl", (5.1, 5.6, 5.8)), ("wang2023-splc", (4.1, 7.5, 4.0))):
        for metric, gain in zip(("mAP", "OF1", "CF1"), gains, strict=True):
            assert round(genome("wang2023", metric) - genome(recipe, metric), 1) == gain


def test_a_figure_that_two_papers_print_is_the_same():
    """Kim 2022 takes Cole's figures over, and Kim and Wang those of Huynh, rounded."""
    taken_over = 0
    for each in figures():
        of = (each.recipe, each.settings, each.data, each.labels, each.metric)
        for own in figures():
            same = (own.recipe, own.settings, own.data, own.labels, own.metric) == of
            if same and own.paper != each.paper and each.recipe.startswith(own.paper):
                taken_over += 1
                assert each.value == pytest.approx(own.value, abs=0.051), (own, each)
                break
    assert taken_over == 6 * 4 + 3 * 6 + 4 * 6


def test_a_deviation_is_read():
    (found,) = (
        each
        for each in figures()
        if each.table == "table 5" and (each.labels, each.metric) == ("keep-share=0.5", "mAP")
    )
    assert (found.value, found.deviation, found.source) == (77.21, 0.01, "Durand 2019, table 5")
    row = ["durand2019", "table 5", "coco2014", "keep-share=0.5", "durand2019-bce", "", "mAP", "77.21", "", "partial"]
    assert read_figure(row).deviation is None


def test_figures_that_a_paper_prints_twice_are_the_same():
    """Durand's table 2 is a part of 8, and its tables 1, 4, 6 and 7 have runs in common."""
    printed = {}
    for each in figures():
        if each.paper == "durand2019" and each.table != "table 5" and not each.about.endswith("100 %"):
            of = (each.recipe, each.settings, each.data, each.labels, each.metric)
            printed.setdefault(of if each.recipe else each.about, []).append(each.value)
    assert all(len(set(values)) == 1 for values in printed.values())
    coco = 1 + 1 + 4  # clean, noisy+, 10 % by four metrics
    assert sum(len(values) > 1 for values in printed.values()) == 76 + coco
