"""The table of a comparison as Markdown, with its sources, remarks and the commands behind each number."""

import re
from collections.abc import Sequence

from trilabel.compare.results import CellResult, ComparisonResults, chosen_text
from trilabel.report.comparison.formatting import in_document
from trilabel.report.comparison.remarks import legend
from trilabel.report.comparison.table import ComparisonTable, comparison_tables

_SPECIAL = re.compile(r"([\\`*_\[\]<>|~$&#]|^[-+])")


def as_markdown(results: ComparisonResults, title: str = "", remarks: Sequence[str] = ()) -> str:
    """Title, table, sources, legend, remarks, and the commands folded away."""
    tables = comparison_tables(results)
    sources = [f"\\[{number}\\] {_escape(source)}" for number, source in enumerate(tables[0].sources, 1)]
    listed = [f"- {_escape(text)}" for text in (*legend(results), *remarks)]
    parts = [f"# {_escape(title)}" if title else "", *map(_lines, tables), "  \n".join(sources), "\n".join(listed)]
    parts += [_folded(_commands(results.cells))] if results.cells else []
    return "\n\n".join(part for part in parts if part) + "\n"


def _lines(table: ComparisonTable) -> str:
    head = ["method", *(_escape(f"{column.labels} {column.heading}") for column in table.columns)]
    body = [
        [_escape(row), *(f"**{text}**" if bold else text for text, bold in table.row_cells(number))]
        for number, row in enumerate(table.rows)
    ]
    lines = (head, [":---", *["---:"] * len(table.columns)], *body)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _escape(text: str) -> str:
    # A number with a dot or bracket at the start would become a list item.
    return re.sub(r"^(\d+)([.)])", r"\1\\\2", _SPECIAL.sub(r"\\\1", in_document(text)))


def _commands(cells: Sequence[CellResult]) -> str:
    return "\n\n".join(f"# {in_document(_title(cell))}\n{cell.command}" for cell in cells)


def _title(cell: CellResult) -> str:
    recipe = f" (recipe {cell.recipe})" if cell.recipe else ""
    chosen = f", chosen {chosen_text(cell.chosen)}" if cell.chosen else ""
    return f"{cell.row}{recipe}, {cell.labels}, seed {cell.seed}{chosen}"


def _folded(commands: str) -> str:
    # The fence has to be longer than any in the commands.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", commands)), default=0))
    return f"<details>\n<summary>Commands</summary>\n\n{fence}sh\n{commands}\n{fence}\n\n</details>"
