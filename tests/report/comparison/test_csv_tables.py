"""The CSV files of a comparison."""

import json

import pytest

from tests.support.comparison_cells import cell
from trilabel.compare.results import ComparisonResults, Reference
from trilabel.report.comparison.csv_tables import cells_csv, statistics_csv


def test_csv_has_every_run_and_every_mean() -> None:
    metrics = {"mAP": 0.5, "CF1": float("nan")}
    cells = [cell("a", "all", 7, 0, metrics=metrics, chosen={"lr": 2e-05, "d": "é"}), cell("a", "all", 8, 0.6)]
    header, rows = cells_csv(cells)
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert first["test mAP"] == "0.5" and first["test CF1"] == second["test CF1"] == ""
    assert json.loads(first["chosen"]) == {"lr": 2e-05, "d": "é"} and first["command"] == "trilabel train --seed 7"
    assert [first[name] for name in ("seed", "epoch", "epochs", "seconds", "known")] == ["7", "3", "9", "17.0", "1000"]
    references = [Reference("a", "all", "mAP", 85.1, "K"), Reference("a", "all", "mAP", 84, "C", "n")]
    references += [Reference("b", "all", "mAP", 1, "K"), Reference("b", "all", "OF1", 1, "K")]
    header, rows = statistics_csv(ComparisonResults(cells, references))
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert float(first["mean %"]) == pytest.approx(55) and float(first["deviation %"]) == pytest.approx(50**0.5)
    assert first["chosen"] == "lr=2e-05, d=é" and first["seeds"] == "2" and first["known_share"] == "1"
    assert first["published %"] == "85.1; 84" and first["sources"] == "K; C (n)"
    assert second["method"] == "b" and second["mean %"] == "" and second["published %"] == "1"
