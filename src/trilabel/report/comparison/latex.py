"""The table of a comparison as LaTeX, with its sources and remarks."""

import re
from collections.abc import Sequence

from trilabel.compare.results import ComparisonResults
from trilabel.report.comparison.formatting import in_document
from trilabel.report.comparison.remarks import legend
from trilabel.report.comparison.table import ComparisonTable, TableCell, comparison_tables

_SYMBOLS = {"±": r"$\pm$", "—": r"\textemdash{}", "–": r"\textendash{}", "−": "$-$", "…": r"\ldots{}"}
_SYMBOLS |= {"×": r"$\times$", "·": r"$\cdot$", "≤": r"$\le$", "≥": r"$\ge$", "≈": r"$\approx$", "→": r"$\to$"}
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi"
_GREEK += " omega Gamma Delta Theta Lambda Sigma Phi Omega"
_SYMBOLS |= {sign: rf"$\{name}$" for sign, name in zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΣΦΩ", _GREEK.split(), strict=True)}
_SPECIAL = {sign: f"\\{sign}" for sign in "_%&#{}$"} | {sign: f"${sign}$" for sign in "<>|"}
_SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {sign: f"{{{sign}}}" for sign in "[]*"}  # at the start of a row they would be an argument of \\ before it
_IN_CELLS, _IN_TEXT = str.maketrans({**_SYMBOLS}), str.maketrans({**_SYMBOLS, **_SPECIAL})


def as_latex(results: ComparisonResults, title: str = "", remarks: Sequence[str] = ()) -> str:
    """The table, its sources, legend and remarks, for a document that uses booktabs."""
    tables = comparison_tables(results)
    sources = [f"[{number}] {_escape(source)}" for number, source in enumerate(tables[0].sources, 1)]
    lines = [r"% \usepackage{booktabs}", r"\begin{table}", r"\centering"]
    lines += [rf"\caption{{{_escape(title)}}}"] if title else []
    for table in tables:
        lines += [*_tabular(table), "", r"\smallskip"]
    lines += [r"{\raggedright\footnotesize"]
    lines += [rf"{text}\par" for text in (*sources, *map(_escape, (*legend(results), *remarks)))]
    return "\n".join([*lines, "}", r"\end{table}"]) + "\n"


def _tabular(table: ComparisonTable) -> list[str]:
    lines = [rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}", r"\toprule", *_group_lines(table)]
    lines += [_line(["method", *(_escape(column.heading) for column in table.columns)]), r"\midrule"]
    for number, row in enumerate(table.rows):
        lines.append(_line([_escape(row), *map(_cell, table.row_cells(number))]))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _group_lines(table: ComparisonTable) -> list[str]:
    """The line above the headings that names the label setting of each group of columns, and a rule below it."""
    groups, rules, start = [""], list[str](), 2
    for labels in dict.fromkeys(column.labels for column in table.columns):
        width = sum(column.labels == labels for column in table.columns)
        groups.append(rf"\multicolumn{{{width}}}{{c}}{{{_escape(labels)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [_line(groups), " ".join(rules)] if rules else []


def _escape(text: str) -> str:
    # Two hyphens, as at the start of options, would become a dash.
    return re.sub("-(?=-)", "-{}", in_document(text).translate(_IN_TEXT))


def _cell(cell: TableCell) -> str:
    text = cell.text.translate(_IN_CELLS)
    return rf"\textbf{{{text}}}" if cell.bold else text


def _line(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
