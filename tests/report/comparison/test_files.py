"""The files of a comparison: what they hold, and that they follow the runs."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.support.comparison_cells import cell
from trilabel.compare import Comparison, MethodRow, Spec, recipe_row
from trilabel.compare.references import references
from trilabel.compare.results import ComparisonResults
from trilabel.report.comparison import run_and_report, write_plot, write_tables
from trilabel.report.comparison.csv_tables import cells_csv, statistics_csv
from trilabel.report.comparison.latex import as_latex
from trilabel.report.comparison.markdown import as_markdown


@pytest.fixture
def base(quick):
    """One epoch of `quick`."""
    return replace(quick, epochs=1)


def test_the_files_hold_every_run_and_every_mean(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a b/c", base, grid={"lr": (1e-3, 1e-2)}),), ("keep-share=0.5",), seeds=(0, 1))
    cells = run_and_report(Comparison(small_scenes, spec, tmp_path / "out", keep=False))
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "cells.csv", "table.csv", "table.md", "table.tex", "plot.png", "data.json", "cells", "search",
    }  # fmt: skip
    assert (tmp_path / "out" / "table.md").read_text().startswith("# Methods compared on DATA\n")
    with (tmp_path / "out" / "cells.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["test mAP"]) for line in lines] == pytest.approx([cell.metrics["mAP"] for cell in cells])
    assert [json.loads(line["chosen"]) for line in lines] == [cell.chosen for cell in cells]
    with (tmp_path / "out" / "table.csv").open(newline="") as file:
        (line,) = (line for line in csv.DictReader(file) if line["metric"] == "mAP")
    mean = 100 * np.mean([cell.metrics["mAP"] for cell in cells])
    assert float(line["mean %"]) == pytest.approx(mean) and line["seeds"] == "2"
    text = (tmp_path / "out" / "table.md").read_text()
    assert f"{mean:.1f}" in text and all(cell.command in text for cell in cells)
    assert "2 runs each of lr: 0.001, 0.01" in text and "a b/c" in text
    with Image.open(tmp_path / "out" / "plot.png") as plot:
        plot.verify()
    assert not list((tmp_path / "out").rglob("*.safetensors"))


def test_tables_are_written_after_each_cell(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a", base, grid={"lr": (1e-3, 1e-2)}),), seeds=(0, 1))
    comparison, lines = Comparison(small_scenes, spec, tmp_path), []

    def on_progress():
        file = tmp_path / "cells.csv"
        lines.append(len(file.read_text().split("trilabel train")) - 1 if file.is_file() else None)

    run_and_report(comparison, on_progress)
    assert lines == [None, None, 1, 2], "two search runs, then two cells"


def test_if_every_run_fails_the_tables_say_so(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a", base),), ("single-positive",))
    assert run_and_report(Comparison(small_scenes, spec, tmp_path)) == []
    assert "a, single-positive failed: " in (tmp_path / "table.md").read_text()


def test_tables_have_published_figures(small_scenes, base, tmp_path):
    spec = Spec((recipe_row("cole2021-an", replace(base, epochs=1), "AN"),), ("single-positive",))
    run_and_report(Comparison(small_scenes, spec, tmp_path, published=["voc2012"]))
    text = (tmp_path / "table.md").read_text()
    values = [each.value for each in references(spec, ["voc2012"], ["mAP"])]
    assert values and all(f"{value:.1f} [" in text for value in values)
    assert "Cole 2021, table 1, voc2012" in text and "Kim 2022, table 2, voc2012" in text


def test_all_files_are_written_and_replaced(tmp_path: Path) -> None:
    cells = [cell('a, "b"\nc', "all", 0, 0.5), cell("d", "some", 0, None)]
    (tmp_path / "table.md").write_text("old")
    results = ComparisonResults(cells)
    write_tables(tmp_path, results, "T", ["note"])
    write_plot(tmp_path, results)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "cells.csv", "plot.png", "table.csv", "table.md", "table.tex"
    ]  # fmt: skip
    for name, (header, rows) in (("cells", cells_csv(cells)), ("table", statistics_csv(results))):
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == [header, *rows]
    for name, text in (
        ("table.md", as_markdown(results, "T", ["note"])),
        ("table.tex", as_latex(results, "T", ["note"])),
    ):
        assert (tmp_path / name).read_text(encoding="utf-8") == text and "note" in text
    with Image.open(tmp_path / "plot.png") as picture:
        assert picture.size[0] > 600
    write_tables(tmp_path / "none", ComparisonResults([]))
    write_plot(tmp_path / "none", ComparisonResults([]))
    assert len(list((tmp_path / "none").iterdir())) == 5


def test_rows_that_leave_the_tables_are_named(small_scenes, quick, tmp_path, caplog):
    config = replace(quick, epochs=1)
    both = Spec((MethodRow("a", config), MethodRow("b", replace(config, method="role"))))
    run_and_report(Comparison(small_scenes, both, tmp_path))
    run_and_report(Comparison(small_scenes, both, tmp_path))
    assert "not compared now" not in caplog.text
    run_and_report(Comparison(small_scenes, replace(both, rows=both.rows[1:]), tmp_path))
    assert "the tables showed 1 cells that are not compared now ('a, all')" in caplog.text
    assert len((tmp_path / "cells.csv").read_text().splitlines()) >= 2
    (tmp_path / "cells.csv").write_text("no,table\n1,2\n")
    caplog.clear()
    cells = run_and_report(Comparison(small_scenes, both, tmp_path))
    assert [cell.row for cell in cells] == ["a", "b"] and "not compared now" not in caplog.text
