"""A table with groups of columns, its sources and remarks, as Markdown and as LaTeX."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_IN_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&#]|^[-+])")
_SYMBOLS = {"±": r"$\pm$", "—": r"\textemdash{}", "–": r"\textendash{}", "−": "$-$", "…": r"\ldots{}"}
_SYMBOLS |= {"×": r"$\times$", "·": r"$\cdot$", "≤": r"$\le$", "≥": r"$\ge$", "≈": r"$\approx$", "→": r"$\to$"}
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi"
_GREEK += " omega Gamma Delta Theta Lambda Sigma Phi Omega"
_SYMBOLS |= {sign: rf"$\{name}$" for sign, name in zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΣΦΩ", _GREEK.split(), strict=True)}
_SPECIAL = {sign: f"\\{sign}" for sign in "_%&#{}$"} | {sign: f"${sign}$" for sign in "<>|"}
_SPECIAL |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_SPECIAL |= {sign: f"{{{sign}}}" for sign in "[]*"}  # a row that starts with one would be an argument of \\ before it
_IN_ENTRIES, _IN_LATEX = str.maketrans({**_SYMBOLS}), str.maketrans({**_SYMBOLS, **_SPECIAL})


class Entry(NamedTuple):
    """What stands in one place of the table: numbers and signs, no names."""

    text: str
    bold: bool = False


class Column(NamedTuple):
    """One column of the table, with an entry a row."""

    labels: str  # columns side by side that have the same stand in one group
    heading: str
    entries: list[Entry]


class Grid(NamedTuple):
    """The table, before it is written in a language."""

    rows: list[str]
    columns: list[Column]
    sources: list[str]  # number [n] is the n-th, from 1


def markdown(table: Grid, title: str, remarks: Sequence[str], commands: str) -> str:
    """Title, table, sources, remarks, and the commands folded away."""
    heads = ["method", *(_markdown(f"{column.labels} {column.heading}") for column in table.columns)]
    bodies = [
        [_markdown(row), *(f"**{text}**" if bold else text for text, bold in _across(table, place))]
        for place, row in enumerate(table.rows)
    ]
    lines = ["| " + " | ".join(line) + " |" for line in (heads, [":---", *["---:"] * len(table.columns)], *bodies)]
    sources = [f"\\[{number}\\] {_markdown(source)}" for number, source in enumerate(table.sources, 1)]
    parts = [f"# {_markdown(title)}" if title else "", "\n".join(lines), "  \n".join(sources)]
    parts += ["\n".join(f"- {_markdown(text)}" for text in remarks), _folded(commands) if commands else ""]
    return "\n\n".join(part for part in parts if part) + "\n"


def latex(table: Grid, title: str, remarks: Sequence[str]) -> str:
    """The table, its sources and remarks, for a document that uses booktabs."""
    groups, rules, start = [""], list[str](), 2
    for labels in dict.fromkeys(column.labels for column in table.columns):
        width = sum(column.labels == labels for column in table.columns)
        groups.append(rf"\multicolumn{{{width}}}{{c}}{{{_latex(labels)}}}")
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    heads = ["method", *(_latex(column.heading) for column in table.columns)]
    bodies = [[_latex(row), *map(_latex_entry, _across(table, place))] for place, row in enumerate(table.rows)]
    sources = [f"[{number}] {_latex(source)}" for number, source in enumerate(table.sources, 1)]
    lines = [r"% \usepackage{booktabs}", r"\begin{table}", r"\centering"]
    lines += [rf"\caption{{{_latex(title)}}}"] if title else []
    lines += [rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}", r"\toprule"]
    lines += [_line(groups), " ".join(rules)] if rules else []
    lines += [_line(heads), r"\midrule", *map(_line, bodies), r"\bottomrule", r"\end{tabular}"]
    lines += ["", r"\smallskip", r"{\raggedright\footnotesize"]
    lines += [rf"{text}\par" for text in (*sources, *map(_latex, remarks))]
    return "\n".join([*lines, "}", r"\end{table}"]) + "\n"


def one_line(text: str) -> str:
    """Without line breaks and more than one space in a row."""
    return " ".join(text.split())


def _folded(commands: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", commands)), default=0))
    return f"<details>\n<summary>Commands</summary>\n\n{fence}sh\n{commands}\n{fence}\n\n</details>"


def _across(table: Grid, place: int) -> list[Entry]:
    return [column.entries[place] for column in table.columns]


def _markdown(text: str) -> str:
    # What starts like an item of a list is none.
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", _IN_MARKDOWN.sub(r"\\\1", one_line(text)))


def _latex(text: str) -> str:
    # Two hyphens, as options start with, would become a dash.
    return re.sub("-(?=-)", "-{}", one_line(text).translate(_IN_LATEX))


def _latex_entry(entry: Entry) -> str:
    text = entry.text.translate(_IN_ENTRIES)
    return rf"\textbf{{{text}}}" if entry.bold else text


def _line(entries: Sequence[str]) -> str:
    return " & ".join(entries) + r" \\"
