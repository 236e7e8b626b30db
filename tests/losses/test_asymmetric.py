"""Asymmetric loss: against the released code, against plain loops, and against BCE."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import frozen_weights
from tests.oracles import losses as oracle
from tests.support.loss_cases import (
    assert_agrees,
    assert_same,
    assert_same_second_derivative,
    batches,
    cases_of,
    reference_cases,
)
from trilabel import TrilabelError
from trilabel.losses import asymmetric, bce

quick = settings(max_examples=50, deadline=None)
gammas = st.sampled_from([0, 0.5, 1, 2, 2.5, 3, 4, 6])


@pytest.mark.parametrize("case", cases_of("asymmetric"))
def test_asymmetric_agrees_with_released_code(case):
    chosen = {key: value for key, value in reference_cases()[case]["params"].items() if key != "note"}
    assert_agrees(lambda x, z: asymmetric(x, z, **chosen), case, 1e-5)


@quick
@given(batches(), gammas, gammas, st.sampled_from([0, 0.05, 0.3, 1]))
def test_asymmetric_is_the_plain_loop(batch, gamma_pos, gamma_neg, clip):
    def slow(x, z, frozen=None):
        return oracle.asymmetric(x, z, gamma_pos, gamma_neg, clip, frozen)

    assert_same(lambda x, z: asymmetric(x, z, gamma_pos, gamma_neg, clip, "sum"), slow, batch, frozen=True)


@quick
@given(batches(), gammas, gammas, st.sampled_from([0, 0.05, 0.3]))
def test_second_derivative_is_that_of_autograd(batch, gamma_pos, gamma_neg, clip):
    assert_same_second_derivative(
        lambda x, z: asymmetric(x, z, gamma_pos, gamma_neg, clip, "sum"),
        lambda x, z: frozen_weights.asymmetric(x, z, gamma_pos, gamma_neg, clip),
        batch,
    )


@quick
@given(batches())
def test_without_focus_and_clip_it_is_bce(batch):
    torch.testing.assert_close(asymmetric(*batch, gamma_pos=0, gamma_neg=0, clip=0), bce(*batch))


@pytest.mark.parametrize("loss", [asymmetric, lambda x, z, **chosen: asymmetric(x, z, clip=0, **chosen)])
def test_reductions_reduce_the_same_parts(loss):
    logits, labels = torch.randn(5, 7), torch.randint(-1, 2, (5, 7))
    parts = loss(logits, labels, reduction="none")
    assert parts.shape == (5, 7)
    assert (parts[labels == 0] == 0).all() and (parts[labels > 0] > 0).all()
    torch.testing.assert_close(loss(logits, labels, reduction="sum"), parts.sum())
    torch.testing.assert_close(loss(logits, labels, reduction="mean"), parts.sum() / 35)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 10), torch.ones(2, 10)
    refused = [
        (r"gamma_pos is -2", lambda: asymmetric(*batch, gamma_pos=-2)),
        (r"gamma_neg is nan", lambda: asymmetric(*batch, gamma_neg=float("nan"))),
        (r"clip is 2", lambda: asymmetric(*batch, clip=2)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
