"""What tables say of their numbers."""

from dataclasses import replace

from tests.support.comparison_cells import cell
from trilabel.compare import Comparison, MethodRow, Spec, Trial
from trilabel.compare.results import ComparisonResults
from trilabel.labels import simulate
from trilabel.report.comparison.remarks import legend, protocol


def test_the_legend_names_seeds_and_runs_that_are_left_out() -> None:
    cells = [*(cell("a", "all", seed, 0.5) for seed in range(3)), cell("b", "all", 0, 0.5), cell("b", "all", 1, None)]
    remarks = legend(ComparisonResults(cells))
    assert "over 1 to 3 seeds" in remarks[0] and "larger of the two deviations" in remarks[1]
    assert remarks[-1] == "Left out: 1 of 2 runs of b, all: no mAP."
    assert legend(ComparisonResults([])) == ["No run has finished."]


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
