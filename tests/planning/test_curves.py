"""Learning curves: the fit against SciPy's, what it must never do, and intervals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from trilabel.planning.curves import expected_gains, fit_power_law, mean_interval

COUNTS = np.array([100, 200, 400, 800])


@given(st.floats(0.3, 1.0), st.floats(0.05, 0.6), st.floats(0.1, 1.5))
def test_scores_that_follow_a_law_are_continued(ceiling: float, drop: float, rate: float) -> None:
    scores = ceiling - drop * (COUNTS / 100) ** -rate
    law = fit_power_law(COUNTS, scores)
    np.testing.assert_allclose(law(COUNTS), scores, atol=2e-3)
    assert float(law(1600)) == pytest.approx(ceiling - drop * 16**-rate, abs=6e-3)


def test_the_fit_is_as_good_as_that_of_scipy() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        scores = 0.8 - 0.4 * (COUNTS / 100) ** -0.5 + draw.normal(0, 0.01, 4)
        law = fit_power_law(COUNTS, scores)
        bounds = ([-1, 0, 0.05], [1, 5, 2])
        found, _ = curve_fit(
            lambda n, a, b, c: a - b * (n / 100) ** -c, COUNTS, scores, (0.8, 0.4, 0.5), bounds=bounds, maxfev=10_000
        )
        error = ((found[0] - found[1] * (COUNTS / 100) ** -found[2] - scores) ** 2).sum()
        assert ((law(COUNTS) - scores) ** 2).sum() <= error * 1.05 + 1e-6


@given(st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_more_labels_never_harm_and_nothing_is_above_1(scores: list[float]) -> None:
    values = fit_power_law(COUNTS, scores)(np.geomspace(100, 1e6, 50))
    assert (np.diff(values) >= -1e-12).all() and values.max() <= 1 + 1e-9


def test_intervals_hold_the_value_and_grow_with_what_is_further_away() -> None:
    draw = np.random.default_rng(1)
    scores = 0.8 - 0.4 * (COUNTS / 100) ** -0.5 + draw.normal(0, 0.01, (6, 4))
    law, gains = expected_gains(COUNTS, scores, 800, [800, 1600, 8000])
    assert gains[0] == (0, 0, 0)
    assert all(gain.low <= gain.value <= gain.high for gain in gains)
    widths = [gain.high - gain.low for gain in gains]
    assert widths[0] < widths[1] < widths[2]
    assert gains[1].value == pytest.approx(float(law(1600) - law(800)))


def test_the_interval_of_equal_values_is_one_value() -> None:
    assert mean_interval(np.full(6, 0.25)) == (0.25, 0.25, 0.25)
