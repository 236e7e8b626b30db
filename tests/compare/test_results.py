"""Statistics over seeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.seed_statistics import seed_statistics_by_loops
from tests.support.comparison_cells import cell, values
from trilabel.compare.results import CellResult, seed_statistics


@given(st.lists(st.builds(cell, st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 9), values)))
def test_mean_and_sample_deviation_of_the_runs_that_have_the_metric(cells: list[CellResult]) -> None:
    for one, slow in zip(seed_statistics(cells, "mAP"), seed_statistics_by_loops(cells, "mAP"), strict=True):
        assert (one.row, one.labels, one.seeds, one.left_out) == slow[:4]
        assert one.mean == pytest.approx(slow[4]) and one.deviation == pytest.approx(slow[5], abs=1e-6)


def test_statistics_of_known_numbers() -> None:
    chosen = [{"lr": 2e-05}, {"lr": 2e-05}, {"lr": 1e-4}]
    cells = [cell("m", "all", seed, 0.01 * (71 + seed), chosen=chosen[seed], known=90 + 10 * seed) for seed in range(3)]
    (one,) = seed_statistics([*cells, cell("m", "all", 3, None)], "mAP")
    assert (one.mean, one.deviation) == (pytest.approx(72), pytest.approx(1)) and (one.seeds, one.left_out) == (3, 1)
    assert one.seconds == pytest.approx(11.5) and one.known == 325 and one.chosen == (chosen[0], chosen[2])
    (one,) = seed_statistics(cells, "CF1")
    assert (one.mean, one.deviation, one.seeds, one.left_out) == (None, None, 0, 3)
