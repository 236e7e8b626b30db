"""LaTeX tables: balanced, escaped, with the right number of columns."""

import re

from hypothesis import given

from tests.support.comparison_cells import cell, names, some_cells, some_references
from trilabel.compare.results import CellResult, ComparisonResults, Reference
from trilabel.report.comparison.latex import as_latex
from trilabel.report.comparison.table import comparison_table

LATEX = re.compile(
    r"\\(?:textbackslash|textasciitilde|textasciicircum|textemdash|textendash|ldots)\{\}|\$[^$]*\$|\\[_%&#{}$]"
)


@given(some_cells, some_references, names, names)
def test_braces_columns_and_rules_match(
    cells: list[CellResult], references: list[Reference], title: str, note: str
) -> None:
    text = as_latex(ComparisonResults(cells, references), title, [note])
    table = comparison_table(ComparisonResults(cells, references))
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


def test_control_characters_are_left_out() -> None:
    text = as_latex(ComparisonResults([cell("a\x1b[31mb\u202ec", "all", 0, 0.5)]))
    assert "a{[}31mbc &" in text


def test_signs_are_escaped() -> None:
    cells = [cell("a_b & 50% #1 Δ−…", "--x", seed, 0.5 + seed / 100) for seed in range(2)]
    text = as_latex(ComparisonResults([*cells, cell(r"[\^", "all", 0, 0.5)]))
    assert r"a\_b \& 50\% \#1 $\Delta$$-$\ldots{} & \textbf{50.5 $\pm$ 0.7} & \textemdash{} \\" in text
    assert r"{[}\textbackslash{}\textasciicircum{} &" in text and r"\multicolumn{1}{c}{-{}-x}" in text
