"""A comparison on paper: tables and pictures say what the runs measured, whatever they are called."""

import csv
import json
import re
from io import StringIO
from math import isfinite, sqrt
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from PIL import Image
from rich.console import Console

from trilabel.report import comparison, comparison_plot
from trilabel.report.comparison import Cell, Reference

SHARES = {"few": 0.01, "some": 0.1, "keep-share=0.01": 0.01, "keep-share=0.1": 0.1, "all": 1.0}


def cell(row: str, labels: str, seed: int, value: float | None, **more: object) -> Cell:
    share = SHARES.get(labels, 0.05)
    given = {"metrics": {"mAP": value}, "known": round(1000 * share), "known_share": share, "chosen": {}} | more
    command = f"trilabel train --seed {seed}"
    return Cell(
        row=row, labels=labels, seed=seed, validation=0.5, epoch=3, epochs=9, seconds=10.0 + seed, command=command,
        **given,  # type: ignore[arg-type]
    )  # fmt: skip


def column(cells: list[Cell], *references: Reference, number: int = 0) -> list[tuple[str, bool]]:
    return [tuple(entry) for entry in comparison.grid(cells, references, ("mAP",)).columns[number].entries]  # type: ignore[misc]


def slow_summary(cells: list[Cell], metric: str) -> list[tuple[str, str, int, int, float | None, float | None]]:
    """Mean and sample deviation by the book, one loop after the other."""
    answer, seen = [], []
    for first in cells:
        if (first.row, first.labels) in seen:
            continue
        seen.append((first.row, first.labels))
        values, without, total, squares = [], 0, 0.0, 0.0
        for other in cells:
            if (other.row, other.labels) == (first.row, first.labels):
                value = other.metrics.get(metric)
                if value is None or not isfinite(value):
                    without += 1
                else:
                    values.append(100 * value)
        for value in values:
            total += value
        mean = total / len(values) if values else None
        for value in values:
            squares += (value - mean) ** 2
        deviation = sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
        answer.append((first.row, first.labels, len(values), without, mean, deviation))
    return answer


names = st.text(st.sampled_from("ab ,;\"'|\\_%&#{}$~^<>[]*`-+=.)(1!\n\t±Δ−…—é文"), min_size=1, max_size=9).filter(
    str.strip
)
values = st.none() | st.floats(0, 1) | st.just(float("nan"))
some_cells = st.lists(
    st.builds(cell, names, st.sampled_from([*SHARES, "a|b"]) | names, st.integers(0, 3), values), max_size=8
)
some_references = st.lists(
    st.builds(
        Reference,
        row=names,
        labels=st.sampled_from([*SHARES, "a|b"]),
        metric=st.just("mAP"),
        value=st.floats(0, 100),
        source=names,
        note=names | st.just(""),
    ),
    max_size=4,
)


@given(st.lists(st.builds(cell, st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 9), values)))
def test_the_summary_is_mean_and_sample_deviation_of_the_runs_that_have_the_metric(cells: list[Cell]) -> None:
    for one, slow in zip(comparison.summary(cells, "mAP"), slow_summary(cells, "mAP"), strict=True):
        assert (one.row, one.labels, one.seeds, one.left_out) == slow[:4]
        assert one.mean == pytest.approx(slow[4]) and one.deviation == pytest.approx(slow[5], abs=1e-6)


def test_a_summary_of_known_numbers() -> None:
    chosen = [{"lr": 2e-05}, {"lr": 2e-05}, {"lr": 1e-4}]
    cells = [cell("m", "all", seed, 0.01 * (71 + seed), chosen=chosen[seed], known=90 + 10 * seed) for seed in range(3)]
    (one,) = comparison.summary([*cells, cell("m", "all", 3, None)], "mAP")
    assert (one.mean, one.deviation) == (pytest.approx(72), pytest.approx(1)) and (one.seeds, one.left_out) == (3, 1)
    assert one.seconds == pytest.approx(11.5) and one.known == 325 and one.chosen == (chosen[0], chosen[2])
    (one,) = comparison.summary(cells, "CF1")
    assert (one.mean, one.deviation, one.seeds, one.left_out) == (None, None, 0, 3)


def test_bold_is_the_best_and_what_is_not_apart_from_it() -> None:
    def runs(row: str, *percents: float) -> list[Cell]:
        return [cell(row, "all", seed, percent / 100) for seed, percent in enumerate(percents)]

    narrow, wide = runs("best", 79, 80, 81), runs("wide", 70, 75, 80)
    assert column(narrow + runs("near", 78.5, 79.5, 80.5)) == [("80.0 ± 1.0", True), ("79.5 ± 1.0", True)]
    assert column(narrow + runs("far", 78, 79, 80)) == [("80.0 ± 1.0", True), ("79.0 ± 1.0", False)]  # as far as wide
    assert column(narrow + wide) == [("80.0 ± 1.0", True), ("75.0 ± 5.0", False)]
    assert column(narrow + runs("x", 70, 75.5, 81))[1] == ("75.5 ± 5.5", True)  # its own deviation counts, too
    assert column(runs("x", 60, 80, 100) + runs("y", 65, 65, 65))[1] == ("65.0 ± 0.0", True)
    assert column(runs("a", 80) + runs("b", 79.9) + runs("c", 80)) == [("80.0", True), ("79.9", False), ("80.0", True)]
    assert column([cell("a", "all", 0, None), *runs("b", 5)]) == [("—", False), ("5.0", True)]


def test_columns_are_settings_with_each_metric_and_then_what_is_published() -> None:
    cells = [
        cell("a", "some", 0, 0.5, metrics={"mAP": 0.5, "CF1": 0.25}),
        cell("b", "all", 0, 0.75, metrics={"mAP": 0.75, "CF1": None}),
    ]
    references = [
        Reference("a", "some", "mAP", 85.1, "Kim 2022, table 2"),
        Reference("a", "some", "mAP", 84.95, "Cole 2021, table 1", "VOC 2012"),
        Reference("a", "some", "OF1", 1, "not asked for"),
        Reference("b", "all", "CF1", 70, "Kim 2022, table 2"),
        Reference("not run", "all", "CF1", 71, "Kim 2022, table 2", "VOC 2007"),
    ]
    table = comparison.grid(cells, references, ("mAP", "CF1"))
    assert table.rows == ["a", "b", "not run"]
    assert table.sources == ["Kim 2022, table 2", "Cole 2021, table 1 (VOC 2012)", "Kim 2022, table 2 (VOC 2007)"]
    shown = [(one.labels, one.heading, [text for text, _ in one.entries]) for one in table.columns]
    assert shown == [
        ("some", "mAP", ["50.0", "—", "—"]),
        ("some", "CF1", ["25.0", "—", "—"]),
        ("some", "mAP, published", ["85.1 [1], 84.95 [2]", "—", "—"]),
        ("all", "mAP", ["—", "75.0", "—"]),
        ("all", "CF1", ["—", "—", "—"]),
        ("all", "CF1, published", ["—", "70.0 [1]", "71.0 [3]"]),
    ]


def test_csv_has_every_run_and_every_mean() -> None:
    metrics = {"mAP": 0.5, "CF1": float("nan")}
    cells = [cell("a", "all", 7, 0, metrics=metrics, chosen={"lr": 2e-05, "d": "é"}), cell("a", "all", 8, 0.6)]
    header, rows = comparison.as_csv_cells(cells)
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert first["test mAP"] == "0.5" and first["test CF1"] == second["test CF1"] == ""
    assert json.loads(first["chosen"]) == {"lr": 2e-05, "d": "é"} and first["command"] == "trilabel train --seed 7"
    assert [first[name] for name in ("seed", "epoch", "epochs", "seconds", "known")] == ["7", "3", "9", "17.0", "1000"]
    references = [Reference("a", "all", "mAP", 85.1, "K"), Reference("a", "all", "mAP", 84, "C", "n")]
    references += [Reference("b", "all", "mAP", 1, "K"), Reference("b", "all", "OF1", 1, "K")]
    header, rows = comparison.as_csv(cells, references)
    first, second = (dict(zip(header, row, strict=True)) for row in rows)
    assert float(first["mean %"]) == pytest.approx(55) and float(first["deviation %"]) == pytest.approx(50**0.5)
    assert first["chosen"] == "lr=2e-05, d=é" and first["seeds"] == "2" and first["known_share"] == "1"
    assert first["published %"] == "85.1; 84" and first["sources"] == "K; C (n)"
    assert second["method"] == "b" and second["mean %"] == "" and second["published %"] == "1"


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def shown(token: object) -> str:
    return "".join(child.content for child in token.children if child.type in {"text", "text_special"})  # type: ignore[attr-defined]


@given(some_cells, some_references, names, names)
def test_markdown_is_read_back_as_what_was_said(
    cells: list[Cell], references: list[Reference], title: str, note: str
) -> None:
    text = comparison.as_markdown(cells, references, title=title, notes=[note])
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    table = comparison.grid(cells, references, ("mAP",))
    kinds = {token.type for token in tokens if not token.type.endswith("_close")}
    assert kinds <= {
        "heading_open", "inline", "paragraph_open", "bullet_list_open", "list_item_open", "html_block", "fence",
        *(f"{part}_open" for part in ("table", "thead", "tbody", "tr", "th", "td")),
    }  # fmt: skip
    after = {kind: [] for kind in ("heading_open", "th_open", "td_open", "list_item_open")}
    for place, token in enumerate(tokens):
        if token.type in after:
            inline = next(each for each in tokens[place:] if each.type == "inline")
            after[token.type].append(shown(inline))
    assert after["heading_open"] == [one_line(title)] and after["list_item_open"][-1] == one_line(note)
    assert after["th_open"] == ["method", *(one_line(f"{one.labels} {one.heading}") for one in table.columns)]
    width = 1 + len(table.columns)
    assert after["td_open"][::width] == [one_line(row) for row in table.rows]
    for number, one in enumerate(table.columns, 1):
        assert after["td_open"][number::width] == [text for text, _ in one.entries]
    assert text.partition("<details>")[0].count("**") == 2 * sum(
        bold for one in table.columns for _, bold in one.entries
    )
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert len(blocks) == bool(cells) and all(each.command in blocks[0] for each in cells)


def test_markdown_of_one_run_in_full() -> None:
    one = cell("LL-R", "some", 0, 0.7125, chosen={"lr": 2e-05}, recipe="kim2022")
    reference = Reference("LL-R", "some", "mAP", 85.1, "Kim 2022, table 2")
    assert (
        comparison.as_markdown([one], [reference], title="VOC", notes=["Search: 5 runs a cell."])
        == """# VOC

| method | some mAP | some mAP, published |
| :--- | ---: | ---: |
| LL-R | **71.2** | 85.1 [1] |

\\[1\\] Kim 2022, table 2

- Test metrics in %, of one seed.
- Bold: the best mean of a column.
- Known training labels: some: 100 (10 %).
- Search: 5 runs a cell.

<details>
<summary>Commands</summary>

```sh
# LL-R (recipe kim2022), some, seed 0, chosen lr=2e-05
trilabel train --seed 0
```

</details>
"""
    )


@pytest.mark.parametrize("note", ["1. one", "12) two", "- three", "+ four", "# five", "&amp; six", "a_b_ 2.5"])
def test_a_remark_is_no_list_of_its_own(note: str) -> None:
    tokens = MarkdownIt().parse(comparison.as_markdown([], [], notes=[note]))
    assert [shown(token) for token in tokens if token.type == "inline"][-1] == note
    assert sum(token.type.endswith("list_open") for token in tokens) == 1


def test_what_was_left_out_is_said() -> None:
    cells = [*(cell("a", "all", seed, 0.5) for seed in range(3)), cell("b", "all", 0, 0.5), cell("b", "all", 1, None)]
    remarks = comparison.legend(cells, ("mAP",))
    assert "over 1 to 3 seeds" in remarks[0] and "larger of the two deviations" in remarks[1]
    assert remarks[-1] == "Left out: 1 of 2 runs of b, all: no mAP."
    assert comparison.legend([], ("mAP",)) == ["No run has finished."]


def test_a_fence_is_longer_than_any_in_the_commands() -> None:
    one = Cell("a", "all", 0, 1, 1.0, {}, 0.5, 1, 1, 1.0, {}, "echo '\n```\n````\n'")
    (block,) = [each for each in MarkdownIt().parse(comparison.as_markdown([one], [])) if each.type == "fence"]
    assert block.content == "# a, all, seed 0\necho '\n```\n````\n'\n"


LATEX = re.compile(
    r"\\(?:textbackslash|textasciitilde|textasciicircum|textemdash|textendash|ldots)\{\}|\$[^$]*\$|\\[_%&#{}$]"
)


@given(some_cells, some_references, names, names)
def test_latex_is_sound(cells: list[Cell], references: list[Reference], title: str, note: str) -> None:
    text = comparison.as_latex(cells, references, title=title, notes=[note])
    table = comparison.grid(cells, references, ("mAP",))
    assert not set(text) & set("±Δ−…—^~")
    depth = 0
    for sign in LATEX.sub("", text):
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0 and sign not in "$_#<>|"
    assert depth == 0 and "%" not in LATEX.sub("", text).removeprefix("%")
    lines = [line for line in LATEX.sub("", text).splitlines() if line.endswith(r" \\")]
    groups = len({one.labels for one in table.columns})
    assert [line.count("&") for line in lines] == [groups] * bool(groups) + [len(table.columns)] * (1 + len(table.rows))
    assert not any(line.lstrip().startswith(("[", "*")) for line in lines)
    spec = re.search(r"\\begin\{tabular\}\{(l r*)\}".replace(" ", ""), text)
    assert spec and len(spec[1]) == 1 + len(table.columns)
    widths = [int(width) for width in re.findall(r"\\multicolumn\{(\d+)\}", text)]
    spans = [(int(a), int(b)) for a, b in re.findall(r"\\cmidrule\(lr\)\{(\d+)-(\d+)\}", text)]
    assert sum(widths) == len(table.columns) and [b - a + 1 for a, b in spans] == widths
    assert [number for a, b in spans for number in range(a, b + 1)] == list(range(2, 2 + len(table.columns)))


def test_latex_says_signs_in_its_own_words() -> None:
    cells = [cell("a_b & 50% #1 Δ−…", "--x", seed, 0.5 + seed / 100) for seed in range(2)]
    text = comparison.as_latex([*cells, cell(r"[\^", "all", 0, 0.5)], [])
    assert r"a\_b \& 50\% \#1 $\Delta$$-$\ldots{} & \textbf{50.5 $\pm$ 0.7} & \textemdash{} \\" in text
    assert r"{[}\textbackslash{}\textasciicircum{} &" in text and r"\multicolumn{1}{c}{-{}-x}" in text


@settings(max_examples=40)
@pytest.mark.filterwarnings("ignore:Glyph")
@given(some_cells, some_references)
def test_nothing_is_too_odd_to_be_drawn(cells: list[Cell], references: list[Reference]) -> None:
    figure = comparison.plot(cells, references, "mAP")
    figure.draw_without_rendering()
    drawn = {text.get_text() for text in figure.findobj(lambda each: hasattr(each, "get_text"))}
    with_a_mean = {one.row for one in comparison.summary(cells, "mAP") if one.mean is not None}
    assert {comparison_plot.label(row) for row in with_a_mean} <= drawn


def test_lines_stand_at_the_share_of_known_labels() -> None:
    few, some = "keep-share=0.01", "keep-share=0.1"
    percents = {few: 40, some: 60, "all": 80}
    cells = [cell("worse", labels, 0, percent / 100) for labels, percent in percents.items()]
    cells += [cell("better", "all", seed, 0.85 + seed / 100) for seed in (0, 1)]
    references = [Reference("worse", some, "mAP", 65, "K"), Reference("worse", "elsewhere", "mAP", 1, "K")]
    figure = comparison.plot(cells, references, "mAP")
    axes = figure.axes[0]
    assert axes.get_xscale() == "log" and axes.get_ylabel() == "mAP %"
    drawn = {one.get_label(): one for one in axes.containers}
    assert drawn["worse"].lines[0].get_xydata().tolist() == [[0.01, 40], [0.1, 60], [1, 80]]
    (whole,) = drawn["better"].lines[2][0].get_segments()
    assert whole[:, 1].tolist() == pytest.approx([85.5 - 0.5**0.5, 85.5 + 0.5**0.5])
    hollow = [one for one in axes.get_lines() if one.get_fillstyle() == "none"]
    assert [one.get_xydata().tolist() for one in hollow] == [[[0.1, 65]]]
    assert [text.get_text() for text in figure.legends[0].texts] == ["better", "worse", "ours", "published"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1 %\n10", "10 %\n100", "100 %\n1,000"]
    assert [text.get_text() for text in axes.child_axes[0].get_xticklabels()] == [few, some, "all"]


def test_a_line_joins_settings_of_one_kind_alone() -> None:
    places = {"keep-share=0.01": 40, "few": 30, "some": 50, "keep-share=0.1": 60, "all": 80}
    axes = comparison.plot([cell("one", name, 0, value / 100) for name, value in places.items()], [], "mAP").axes[0]
    drawn = [container.lines[0].get_xydata().tolist() for container in axes.containers]
    assert drawn == [[[0.01, 40], [0.1, 60], [1, 80]], [[0.01, 30]], [[0.1, 50]]]


def test_dots_are_sorted_where_all_settings_know_as_much() -> None:
    cells = [
        cell("worse", "x", 0, 0.5),
        cell("better", "x", 0, 0.6),
        cell("better", "x", 1, 0.7),
        cell("worse", "y", 0, 0.4),
    ]
    figure = comparison.plot(cells, [Reference("worse", "x", "mAP", 55, "K")], "mAP")
    first, second = figure.axes
    assert [text.get_text() for text in first.get_yticklabels()] == ["worse", "better"]  # upwards
    points = [(one.get_fillstyle(), *one.get_xydata()[0]) for one in first.get_lines() if one.get_marker() == "o"]
    assert sorted(points) == [("full", 50, 0), ("full", pytest.approx(65), 1), ("none", 55, 0)]
    assert [text.get_text() for text in first.texts] == ["50.0", "65.0 ± 7.1"]
    assert first.get_title(loc="left") == "x: 50 labels known (5 %)" and len(second.texts) == 1
    assert [text.get_text() for text in figure.legends[0].texts] == ["ours", "published"]
    assert not comparison.plot(cells, [], "mAP").legends


def test_the_scale_is_the_one_on_which_settings_stand_wider_apart() -> None:
    assert comparison_plot.is_log([1, 0.01, 0.1]) and not comparison_plot.is_log([each / 10 for each in range(1, 10)])
    assert not comparison_plot.is_log([0, 0.01, 1]) and not comparison_plot.is_log([0.01, 1])


@pytest.mark.parametrize(
    "share, text",
    [(1, "100 %"), (0.1, "10 %"), (0.123456, "12.3 %"), (0.05234, "5.2 %"), (0.00012, "0.012 %"), (0, "0 %")],
)
def test_shares_in_few_digits(share: float, text: str) -> None:
    assert comparison_plot.percent(share) == text


def many(rows: int, settings: int, seeds: int) -> list[Cell]:
    return [
        cell(f"a-method-with-a-long-name-{row}", f"keep-share=0.{number}", seed, 0.5, known_share=number / 10)
        for row in range(rows)
        for number in range(1, settings + 1)
        for seed in range(seeds)
    ]


@pytest.mark.parametrize("settings", [1, 9])
def test_labels_of_sixteen_rows_do_not_overlap(settings: int) -> None:
    figure = comparison.plot(many(16, settings, 2), [], "mAP")
    figure.draw_without_rendering()
    axes = figure.axes[0]
    if settings > 1:
        assert [text.get_text().split("\n")[0] for text in axes.get_xticklabels()] == [f"{n}0 %" for n in range(1, 10)]
    groups = [axes.get_xticklabels(), axes.get_yticklabels()] + [each.texts for each in figure.legends]
    for texts in groups:
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        assert not any(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[:place])
    if figure.legends:
        assert not figure.legends[0].get_window_extent().overlaps(axes.get_window_extent())


def test_settings_that_know_almost_as_much_share_a_label() -> None:
    shares = {"x": 0.5, "y": 0.51, "z": 0.55, "all": 1.0}
    cells = [cell("_m", labels, 0, 0.5, known_share=share, known=1) for labels, share in shares.items()]
    figure = comparison.plot([*cells, cell("m", "none", 0, 0.4, known_share=0.0, known=0)], [], "mAP")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0 %\n0", "50 %\n1", "100 %\n1"]
    assert [text.get_text() for text in axes.child_axes[0].get_xticklabels()] == ["none", "x / y", "z", "all"]
    assert [text.get_text() for text in figure.legends[0].texts] == [" _m", "m"]


def printed(table: object, width: int = 100) -> list[str]:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_the_live_table_shows_what_is_done_what_runs_and_what_is_to_come() -> None:
    planned = [(row, labels, seed) for row in ("a", "[b]") for labels in ("some", "all") for seed in (0, 1)]
    cells = [cell("a", "some", 0, 0.5), cell("a", "some", 1, 0.52), cell("a", "all", 0, 0.6)]
    lines = [line.split() for line in printed(comparison.live(cells, planned, ("a", "all", 1), "mAP"))]
    assert lines == [["mAP", "%", "some", "all"], ["a", "51.0±1.4", "▸", "60.0", "1/2"], ["[b]", "…", "…"]]
    lines = [line.split() for line in printed(comparison.live(cells, planned[:1], None, "mAP"))]
    assert lines[1] == ["a", "51.0±1.4", "60.0"]
    styles = comparison.live([*cells, cell("[b]", "all", 0, None)], planned, None, "mAP").columns[2]._cells
    assert [(text.plain, str(text.style)) for text in styles] == [("60.0 1/2", "bold"), ("— 1/2", "")]  # type: ignore[union-attr]
    assert len(printed(comparison.live([], [], None, "mAP"))) == 1


@pytest.mark.parametrize("settings", [3, 9])
def test_the_live_table_fits_a_hundred_columns(settings: int) -> None:
    cells = many(16, settings, 3)
    planned = [(each.row, each.labels, each.seed) for each in cells]
    lines = printed(comparison.live(cells[:70], planned, planned[70], "mAP"))
    text = "\n".join(lines)
    done = sum(1 for one in comparison.summary(cells[:70], "mAP") if one.seeds > 1)
    assert text.count("50.0±0.0") == done and "▸" in text and text.count("…") == 16 * settings - done - 1
    first_words = "".join(line.split()[0] for line in lines)  # a long name goes on in the next line
    assert all(each.row in first_words for each in cells)
    assert max(map(len, lines)) <= 100 and len(lines) <= (17 if settings == 3 else 36)


def test_all_files_are_written_and_replaced(tmp_path: Path) -> None:
    cells = [cell('a, "b"\nc', "all", 0, 0.5), cell("d", "some", 0, None)]
    (tmp_path / "table.md").write_text("old")
    comparison.write(tmp_path, cells, [], ("mAP",), "T", ["note"])
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "cells.csv", "plot.png", "table.csv", "table.md", "table.tex"
    ]  # fmt: skip
    for name, expected in (("cells", comparison.as_csv_cells(cells)), ("table", comparison.as_csv(cells, []))):
        with (tmp_path / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert list(csv.reader(file)) == [expected[0], *expected[1]]
    for name, text in (
        ("table.md", comparison.as_markdown(cells, [], title="T", notes=["note"])),
        ("table.tex", comparison.as_latex(cells, [], title="T", notes=["note"])),
    ):
        assert (tmp_path / name).read_text(encoding="utf-8") == text and "note" in text
    with Image.open(tmp_path / "plot.png") as picture:
        assert picture.size[0] > 600
    comparison.write(tmp_path / "none", [], [])
    assert len(list((tmp_path / "none").iterdir())) == 5
