"""What tables say of their numbers."""

from dataclasses import replace

from tests.support.comparison_cells import cell
from trilabel.compare import Comparison, MethodRow, Spec, Trial
from trilabel.compare.results import ComparisonResults, Reference
from trilabel.labels import simulate
from trilabel.metrics import GROUP_METRICS
from trilabel.report.comparison.remarks import legend, protocol
from trilabel.report.comparison.table import comparison_tables


def test_the_legend_names_seeds_and_runs_that_are_left_out() -> None:
    cells = [*(cell("a", "all", seed, 0.5) for seed in range(3)), cell("b", "all", 0, 0.5), cell("b", "all", 1, None)]
    remarks = legend(ComparisonResults(cells))
    assert "over 1 to 3 seeds" in remarks[0] and "larger of the two deviations" in remarks[1]
    assert remarks[-1] == "Left out: 1 of 2 runs of b, all: no mAP."
    assert legend(ComparisonResults([])) == ["No run has finished."]


def test_groups_that_runs_of_before_do_not_have_are_told_of_in_one_sentence() -> None:
    metrics = ("mAP", *GROUP_METRICS)
    old = [cell(row, labels, seed, 0.5) for row in "ab" for labels in ("all", "few") for seed in range(3)]
    new = [cell("c", "all", seed, 0.5, metrics=dict.fromkeys(metrics, 0.5)) for seed in range(3)]
    missing = (
        "mAP by groups of classes (G1 to G5) is missing in {} runs: they finished before it was recorded, or no class "
        "of a group has a known positive."
    )
    of_before = ComparisonResults(old, (), metrics)
    assert "over 3 seeds" in legend(of_before)[0] and len(comparison_tables(of_before)) == 1
    assert legend(of_before)[3:] == [missing.format("12 of 12")]
    both = legend(ComparisonResults([*old, *new], (), metrics))
    assert "over 3 seeds" in both[0] and both[3].startswith("G1 to G5: ") and both[4:] == [missing.format("12 of 15")]
    assert len(legend(ComparisonResults(new, (), metrics))) == 4
    figure = Reference("a", "all", "mAP_G1", 70, "Huynh 2020, table 1")
    assert len(comparison_tables(ComparisonResults(old, [figure], metrics))) == 2
    undefined = [cell("a", "all", 0, None)]
    assert legend(ComparisonResults(undefined))[-1] == "Left out: 1 of 1 runs of a, all: no mAP."


def test_the_protocol_names_split_epoch_search_and_failures(small_scenes, quick, tmp_path):
    a, b = MethodRow("a", quick, grid={"lr": (1e-3, 1e-2)}), MethodRow("b", replace(quick, val="none"))
    comparison = Comparison(small_scenes, Spec((a, b), search={"epochs": 1}), tmp_path)
    scored, chosen = "Scored on split test.", "The epoch is chosen on validation images, of which no label was hidden."
    last = "The last epoch is used, without validation images: b."
    assert protocol(comparison) == [scored, chosen, last]
    comparison.search.trials = [Trial("a", "all", {"lr": lr}, 0.5, 100.0) for lr in (1e-3, 1e-2)]
    comparison.failed = {key: "too hard" for key in comparison.spec.cell_keys() if key.row == "b"}
    assert protocol(comparison)[3:] == [
        "Searched on validation images only, with seed 0: 2 runs, 200 s, at most 12 per method and label setting; "
        "search runs have epochs 1.",
        "Searched in 2 runs each of lr: 0.001, 0.01, for: a.",
        "b, all failed: too hard",
    ]
    only = Comparison(small_scenes, Spec((b,)), tmp_path, test="val")
    assert protocol(only) == ["Scored on split val.", last]


def test_the_protocol_says_how_many_labels_of_the_scored_split_are_known(small_scenes, quick, tmp_path):
    hidden = simulate.apply_to_rows(small_scenes.labels, small_scenes.rows_of("test"), "single-positive")
    comparison = Comparison(small_scenes.with_labels(hidden), Spec((MethodRow("a", quick),)), tmp_path)
    assert protocol(comparison)[0] == "Scored on split test, 7.1% of whose labels are known."
