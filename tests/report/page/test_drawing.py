"""Scales, plots and elements: values stand where they should, and names are escaped."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trilabel.report.page.plot import Plot
from trilabel.report.page.render import coded
from trilabel.report.page.scales import Scale, counts, from_zero, ratios, text

AMOUNTS = st.lists(st.integers(0, 10**9).map(float), max_size=8)


@given(AMOUNTS)
def test_every_value_has_a_place_in_order(values: list[float]) -> None:
    for scale in (from_zero(max(values, default=0)), counts(max(values, default=0)), ratios(values)):
        places = [scale(value) for value in sorted(values)]
        assert all(0 <= place <= 1 for place in places) and places == sorted(places)
        ticks = scale.ticks()
        assert ticks == sorted(set(ticks)) and len(ticks) <= 12
        assert all(0 <= scale(tick) <= 1 for tick in ticks)


@given(st.floats(0, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_few_round_and_inside(low: float, size: float) -> None:
    scale = Scale(low, low + size)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 7 and all(low - 1e-6 * size <= tick <= low + size * (1 + 1e-6) for tick in ticks)
    assert all(tick == int(tick) for tick in Scale(0, size, whole=True).ticks())


def test_zero_has_a_place_of_its_own_on_a_scale_of_counts() -> None:
    scale = counts(1000)
    assert scale(0) == 0 < scale(1) < scale(10) and scale.ticks()[:2] == [0, 1]
    assert ratios([5, 50]).zero is False and ratios([0, 50]).zero is True
    assert [text(value) for value in (0, 0.05, 12, 99_999, 5e9)] == ["0", "0.05", "12", "100 k", "5 G"]


def test_marks_stand_between_the_axes() -> None:
    plot = Plot(Scale(0, 10), Scale(0, 100), "x", "<y>")
    plot.dots([(0, 0), (10, 100)], "accent", ["first", '"><script>'])
    plot.steps([0, 5, 10], [50, 100], "present")
    plot.tell([0, 5, 10], ["a", "b"])
    plot.many_dots([(5, 50)], "other")
    plot.band([(0, 0, 10), (10, 5, 20)], "other")
    plot.intervals([(5, 20, 30)], "accent")
    drawn = str(plot.svg("it's <shown>"))
    assert "<script" not in drawn and "&lt;y&gt;" in drawn and "&lt;shown&gt;" in drawn
    centers = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', drawn)
    assert [tuple(map(float, center)) for center in centers] == [(42, 216), (366, 26)]
    assert drawn.count('class="catch"') == 2 and "nan" not in drawn


@pytest.mark.parametrize("words", ["`", "a `b", "<b>`c`</b>"])
def test_backticks_become_code_only_in_pairs(words: str) -> None:
    assert "<b>" not in coded(words) and coded(words).count("<code>") == words.count("`") // 2
