"""Plots of a comparison, read back from the figure."""

import pytest
from hypothesis import given, settings

from tests.support.comparison_cells import cell, many, some_cells, some_references
from trilabel.compare.results import CellResult, ComparisonResults, Reference, seed_statistics
from trilabel.report.comparison.formatting import percent, plot_label
from trilabel.report.comparison.line_plot import needs_log_scale
from trilabel.report.comparison.plot import plot


@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:Glyph")
@given(some_cells, some_references)
def test_rows_of_any_name_are_drawn(cells: list[CellResult], references: list[Reference]) -> None:
    figure = plot(ComparisonResults(cells, references), "mAP")
    figure.draw_without_rendering()
    drawn = {text.get_text() for text in figure.findobj(lambda each: hasattr(each, "get_text"))}
    with_a_mean = {one.row for one in seed_statistics(cells, "mAP") if one.mean is not None}
    assert {plot_label(row) for row in with_a_mean} <= drawn


def test_lines_are_drawn_over_the_share_of_known_labels() -> None:
    few, some = "keep-share=0.01", "keep-share=0.1"
    percents = {few: 40, some: 60, "all": 80}
    cells = [cell("worse", labels, 0, percent / 100) for labels, percent in percents.items()]
    cells += [cell("better", "all", seed, 0.85 + seed / 100) for seed in (0, 1)]
    references = [Reference("worse", some, "mAP", 65, "K"), Reference("worse", "elsewhere", "mAP", 1, "K")]
    figure = plot(ComparisonResults(cells, references), "mAP")
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


def test_a_line_joins_only_settings_of_one_kind() -> None:
    places = {"keep-share=0.01": 40, "few": 30, "some": 50, "keep-share=0.1": 60, "all": 80}
    axes = plot(ComparisonResults([cell("one", name, 0, value / 100) for name, value in places.items()]), "mAP").axes[0]
    drawn = [container.lines[0].get_xydata().tolist() for container in axes.containers]
    assert drawn == [[[0.01, 40], [0.1, 60], [1, 80]], [[0.01, 30]], [[0.1, 50]]]


def test_dots_are_sorted_if_all_settings_know_as_many_labels() -> None:
    cells = [
        cell("worse", "x", 0, 0.5),
        cell("better", "x", 0, 0.6),
        cell("better", "x", 1, 0.7),
        cell("worse", "y", 0, 0.4),
    ]
    figure = plot(ComparisonResults(cells, [Reference("worse", "x", "mAP", 55, "K")]), "mAP")
    first, second = figure.axes
    assert [text.get_text() for text in first.get_yticklabels()] == ["worse", "better"]  # upwards
    points = [(one.get_fillstyle(), *one.get_xydata()[0]) for one in first.get_lines() if one.get_marker() == "o"]
    assert sorted(points) == [("full", 50, 0), ("full", pytest.approx(65), 1), ("none", 55, 0)]
    assert [text.get_text() for text in first.texts] == ["50.0", "65.0 ± 7.1"]
    assert first.get_title(loc="left") == "x: 50 labels known (5 %)" and len(second.texts) == 1
    assert [text.get_text() for text in figure.legends[0].texts] == ["ours", "published"]
    assert not plot(ComparisonResults(cells), "mAP").legends


def test_the_scale_is_the_one_that_sets_label_settings_wider_apart() -> None:
    assert needs_log_scale([1, 0.01, 0.1]) and not needs_log_scale([each / 10 for each in range(1, 10)])
    assert not needs_log_scale([0, 0.01, 1]) and not needs_log_scale([0.01, 1])


@pytest.mark.parametrize(
    "share, text",
    [(1, "100 %"), (0.1, "10 %"), (0.123456, "12.3 %"), (0.05234, "5.2 %"), (0.00012, "0.012 %"), (0, "0 %")],
)
def test_shares_in_few_digits(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize("settings", [1, 9])
def test_labels_of_sixteen_rows_do_not_overlap(settings: int) -> None:
    figure = plot(ComparisonResults(many(16, settings, 2)), "mAP")
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


def test_settings_that_know_almost_as_many_labels_have_one_tick() -> None:
    shares = {"x": 0.5, "y": 0.51, "z": 0.55, "all": 1.0}
    cells = [cell("_m", labels, 0, 0.5, known_share=share, known=1) for labels, share in shares.items()]
    figure = plot(ComparisonResults([*cells, cell("m", "none", 0, 0.4, known_share=0.0, known=0)]), "mAP")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0 %\n0", "50 %\n1", "100 %\n1"]
    assert [text.get_text() for text in axes.child_axes[0].get_xticklabels()] == ["none", "x / y", "z", "all"]
    assert [text.get_text() for text in figure.legends[0].texts] == [" _m", "m"]
