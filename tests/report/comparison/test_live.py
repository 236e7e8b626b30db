"""The table of a running comparison."""

from io import StringIO

import pytest
from rich.console import Console

from tests.support.comparison_cells import cell, many
from trilabel.compare.results import CellKey, seed_statistics
from trilabel.report.comparison import live_table


def printed(table: object, width: int = 100) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_finished_running_and_waiting_cells() -> None:
    planned = [CellKey(row, labels, seed) for row in ("a", "[b]") for labels in ("some", "all") for seed in (0, 1)]
    cells = [cell("a", "some", 0, 0.5), cell("a", "some", 1, 0.52), cell("a", "all", 0, 0.6)]
    lines = [line.split() for line in printed(live_table(cells, planned, CellKey("a", "all", 1), "mAP"))]
    assert lines == [["mAP", "%", "some", "all"], ["a", "51.0±1.4", "▸", "60.0", "1/2"], ["[b]", "…", "…"]]
    lines = [line.split() for line in printed(live_table(cells, planned[:1], None, "mAP"))]
    assert lines[1] == ["a", "51.0±1.4", "60.0"]
    styles = live_table([*cells, cell("[b]", "all", 0, None)], planned, None, "mAP").columns[2].cells
    assert [(text.plain, str(text.style)) for text in styles] == [("60.0 1/2", "bold"), ("— 1/2", "")]  # type: ignore[union-attr]
    assert len(printed(live_table([], [], None, "mAP"))) == 1


@pytest.mark.parametrize("settings", [3, 9])
def test_it_fits_a_hundred_columns(settings: int) -> None:
    cells = many(16, settings, 3)
    planned = [each.key for each in cells]
    lines = printed(live_table(cells[:70], planned, planned[70], "mAP"))
    text = "\n".join(lines)
    done = sum(1 for one in seed_statistics(cells[:70], "mAP") if one.seeds > 1)
    assert text.count("50.0±0.0") == done and "▸" in text and text.count("…") == 16 * settings - done - 1
    first_words = "".join(line.split()[0] for line in lines)  # a long name continues on the next line
    assert all(each.row in first_words for each in cells)
    assert max(map(len, lines)) <= 100 and len(lines) <= (17 if settings == 3 else 36)
