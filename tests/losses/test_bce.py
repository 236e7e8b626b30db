"""BCE of the known labels: against the released code, against plain loops, and against one another."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import bce, known_mean_bce, partial_bce, per_image_bce
from trilabel.losses.bce import solve_weight

quick = settings(max_examples=50, deadline=None)
shares = st.floats(0, 1)


@pytest.mark.parametrize("case", cases_of("bce", "bce_label_smoothing", "ignore_unobserved"))
def test_bce_agrees_with_released_code(case):
    smoothing = reference_cases()[case]["params"].get("smoothing", 0)
    assert_agrees(lambda x, z: bce(x, z, smoothing=smoothing), case, 1e-4)


@pytest.mark.parametrize("case", cases_of("known_mean_bce"))
def test_known_mean_bce_agrees_with_released_code(case):
    assert_agrees(known_mean_bce, case, 1e-5)


@quick
@given(batches(), st.tuples(shares, shares))
def test_bce_is_the_plain_loop(batch, smoothing):
    assert_same(lambda x, z: bce(x, z, smoothing), lambda x, z: oracle.bce(x, z, smoothing), batch)


@quick
@given(batches())
def test_known_means_are_the_plain_loops(batch):
    assert_same(known_mean_bce, oracle.known_mean_bce, batch)
    assert_same(per_image_bce, oracle.per_image_bce, batch)


@quick
@given(batches(), st.sampled_from([(1, 0.1, 5), (-1, 0.1, 10), (0.5, 0.3, 2), (2, 0.5, 0.9), (-2, 0.2, 3)]))
def test_partial_bce_is_the_plain_loop(batch, point):
    gamma, at, value = point
    alpha, beta = solve_weight(gamma, at, value)
    assert_same(
        lambda x, z: partial_bce(x, z, gamma, at, value),
        lambda x, z: oracle.partial_bce(x, z, alpha, beta, gamma),
        batch,
    )


@quick
@given(batches())
def test_relatives_coincide(batch):
    torch.testing.assert_close(partial_bce(*batch, gamma=-1, at=0.25, value=4), per_image_bce(*batch))
    everything_known = batch[1].abs() * 2 - 1
    torch.testing.assert_close(partial_bce(batch[0], everything_known), bce(batch[0], everything_known))


def test_solve_weight_goes_through_both_points():
    alpha, beta = solve_weight(gamma=1, at=0.1, value=5)
    assert alpha == pytest.approx(-4 / 0.9) and beta == pytest.approx(1 + 4 / 0.9)
    for gamma, at, value in [(-1, 0.1, 5), (0.5, 0.3, 0.2), (2, 0.9, 7)]:
        alpha, beta = solve_weight(gamma, at, value)
        assert alpha + beta == pytest.approx(1)
        assert alpha * at**gamma + beta == pytest.approx(value)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 10), torch.ones(2, 10)
    refused = [
        (r"gamma=0 ", lambda: partial_bce(*batch, gamma=0)),
        (r"at=1:", lambda: partial_bce(*batch, at=1)),
        (r"one known label of 10 would weigh -0\.44", lambda: partial_bce(*batch, at=0.5, value=0.2)),
        (r"smoothing of positives is -0\.1", lambda: bce(*batch, smoothing=-0.1)),
        (r"smoothing of negatives is 1\.5", lambda: bce(*batch, smoothing=(0, 1.5))),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
