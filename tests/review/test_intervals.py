"""The exact interval, against SciPy's."""

import pytest
from scipy.stats import binomtest

from trilabel.review.intervals import exact_share


@pytest.mark.parametrize(("right", "asked"), [(0, 1), (1, 1), (0, 30), (30, 30), (7, 19), (960, 1000)])
def test_it_is_that_of_clopper_and_pearson(right: int, asked: int) -> None:
    found = exact_share(right, asked)
    expected = binomtest(right, asked).proportion_ci(0.95, "exact")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_without_questions_it_may_be_anything() -> None:
    assert exact_share(0, 0)[2:] == (0.0, 1.0)
