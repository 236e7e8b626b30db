"""The table of a comparison: columns, bold numbers, published figures."""

from tests.support.comparison_cells import cell
from trilabel.compare.results import CellResult, ComparisonResults, Reference
from trilabel.report.comparison.latex import as_latex
from trilabel.report.comparison.markdown import as_markdown
from trilabel.report.comparison.table import comparison_table, comparison_tables


def column(cells: list[CellResult], *references: Reference, number: int = 0) -> list[tuple[str, bool]]:
    return [tuple(each) for each in comparison_table(ComparisonResults(cells, references)).columns[number].cells]  # type: ignore[misc]


def test_bold_are_the_best_and_those_within_the_spread_over_seeds() -> None:
    def runs(row: str, *percents: float) -> list[CellResult]:
        return [cell(row, "all", seed, percent / 100) for seed, percent in enumerate(percents)]

    narrow, wide = runs("best", 79, 80, 81), runs("wide", 70, 75, 80)
    assert column(narrow + runs("near", 78.5, 79.5, 80.5)) == [("80.0 ± 1.0", True), ("79.5 ± 1.0", True)]
    assert column(narrow + runs("far", 78, 79, 80)) == [("80.0 ± 1.0", True), ("79.0 ± 1.0", False)]  # as far as wide
    assert column(narrow + wide) == [("80.0 ± 1.0", True), ("75.0 ± 5.0", False)]
    assert column(narrow + runs("x", 70, 75.5, 81))[1] == ("75.5 ± 5.5", True)  # its own deviation counts, too
    assert column(runs("x", 60, 80, 100) + runs("y", 65, 65, 65))[1] == ("65.0 ± 0.0", True)
    assert column(runs("a", 80) + runs("b", 79.9) + runs("c", 80)) == [("80.0", True), ("79.9", False), ("80.0", True)]
    assert column([cell("a", "all", 0, None), *runs("b", 5)]) == [("—", False), ("5.0", True)]


def test_columns_are_metrics_and_then_published_figures_of_each_setting() -> None:
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
    table = comparison_table(ComparisonResults(cells, references, ("mAP", "CF1")))
    assert table.rows == ["a", "b", "not run"]
    assert table.sources == ["Kim 2022, table 2", "Cole 2021, table 1 (VOC 2012)", "Kim 2022, table 2 (VOC 2007)"]
    shown = [(one.labels, one.heading, [text for text, _ in one.cells]) for one in table.columns]
    assert shown == [
        ("some", "mAP", ["50.0", "—", "—"]),
        ("some", "CF1", ["25.0", "—", "—"]),
        ("some", "mAP, published", ["85.1 [1], 84.95 [2]", "—", "—"]),
        ("all", "mAP", ["—", "75.0", "—"]),
        ("all", "CF1", ["—", "—", "—"]),
        ("all", "CF1, published", ["—", "70.0 [1]", "71.0 [3]"]),
    ]


def test_groups_of_classes_are_a_table_of_their_own_with_the_same_rows_and_sources() -> None:
    cells = [cell("a", "all", 0, 0.5, metrics={"mAP": 0.5, "mAP_G1": 0.25, "mAP_G2": None})]
    references = [
        Reference("b", "all", "mAP", 85, "Kim 2022, table 3"),
        Reference("a", "all", "mAP_G2", 69, "Huynh 2020, table 1"),
    ]
    results = ComparisonResults(cells, references, ("mAP", "mAP_G1", "mAP_G2"))
    whole, groups = comparison_tables(results)
    assert [one.heading for one in whole.columns] == ["mAP", "mAP, published"]
    shown = {one.heading: [text for text, _ in one.cells] for one in groups.columns}
    assert shown == {"mAP_G1": ["25.0", "—"], "mAP_G2": ["—", "—"], "mAP_G2, published": ["69.0 [2]", "—"]}
    assert whole.rows == groups.rows == ["a", "b"] and whole.sources == groups.sources
    assert as_markdown(results).count("| method |") == 2
    assert as_latex(results).count(r"\begin{tabular}{lrr") == as_latex(results).count(r"\end{tabular}") == 2
    assert len(comparison_tables(ComparisonResults(cells))) == 1
