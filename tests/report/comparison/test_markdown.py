"""Markdown tables, read back by a parser."""

import re

import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from tests.support.comparison_cells import cell, names, some_cells, some_references
from trilabel.compare.results import CellResult, ComparisonResults, Reference
from trilabel.report.comparison.markdown import as_markdown
from trilabel.report.comparison.table import comparison_table


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def shown(token: object) -> str:
    return "".join(child.content for child in token.children if child.type in {"text", "text_special"})  # type: ignore[attr-defined]


@given(some_cells, some_references, names, names)
def test_a_parser_reads_back_what_was_written(
    cells: list[CellResult], references: list[Reference], title: str, note: str
) -> None:
    text = as_markdown(ComparisonResults(cells, references), title, [note])
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    table = comparison_table(ComparisonResults(cells, references))
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
        assert after["td_open"][number::width] == [text for text, _ in one.cells]
    assert text.partition("<details>")[0].count("**") == 2 * sum(bold for one in table.columns for _, bold in one.cells)
    blocks = [token.content for token in tokens if token.type == "fence"]
    assert len(blocks) == bool(cells) and all(each.command in blocks[0] for each in cells)


def test_markdown_of_one_run_in_full() -> None:
    one = cell("LL-R", "some", 0, 0.7125, chosen={"lr": 2e-05}, recipe="kim2022")
    reference = Reference("LL-R", "some", "mAP", 85.1, "Kim 2022, table 2")
    assert (
        as_markdown(ComparisonResults([one], [reference]), "VOC", ["Search: 5 runs per cell."])
        == """# VOC

| method | some mAP | some mAP, published |
| :--- | ---: | ---: |
| LL-R | **71.2** | 85.1 [1] |

\\[1\\] Kim 2022, table 2

- Test metrics in %, of one seed.
- Bold: the best mean of a column.
- Known training labels: some: 100 (10 %).
- Search: 5 runs per cell.

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
def test_a_remark_is_not_a_list_of_its_own(note: str) -> None:
    tokens = MarkdownIt().parse(as_markdown(ComparisonResults([]), remarks=[note]))
    assert [shown(token) for token in tokens if token.type == "inline"][-1] == note
    assert sum(token.type.endswith("list_open") for token in tokens) == 1


def test_a_fence_is_longer_than_any_in_the_commands() -> None:
    one = CellResult("a", "all", 0, 1, 1.0, {}, 0.5, 1, 1, 1.0, {}, "echo '\n```\n````\n'")
    (block,) = [each for each in MarkdownIt().parse(as_markdown(ComparisonResults([one]))) if each.type == "fence"]
    assert block.content == "# a, all, seed 0\necho '\n```\n````\n'\n"
