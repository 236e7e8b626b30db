"""Focal loss: against plain loops, and against BCE."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import frozen_weights
from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_same, assert_same_second_derivative, batches
from trilabel import TrilabelError
from trilabel.losses import bce, focal

quick = settings(max_examples=50, deadline=None)
gammas = st.sampled_from([0, 0.5, 1, 2, 2.5, 3, 4, 6])


@quick
@given(batches(), gammas)
def test_focal_is_the_plain_loop(batch, gamma):
    def slow(x, z, frozen=None):
        return oracle.asymmetric(x, z, gamma, gamma, 0, frozen)

    assert_same(lambda x, z: focal(x, z, gamma, "sum"), slow, batch, frozen=True)


@quick
@given(batches(), gammas)
def test_second_derivative_is_that_of_autograd(batch, gamma):
    assert_same_second_derivative(
        lambda x, z: focal(x, z, gamma, "sum"), lambda x, z: frozen_weights.focal(x, z, gamma), batch
    )


@quick
@given(batches())
def test_without_focus_it_is_bce(batch):
    torch.testing.assert_close(focal(*batch, gamma=0), bce(*batch))


def test_reductions_reduce_the_same_parts():
    logits, labels = torch.randn(5, 7), torch.randint(-1, 2, (5, 7))
    parts = focal(logits, labels, reduction="none")
    assert parts.shape == (5, 7)
    assert (parts[labels == 0] == 0).all() and (parts[labels > 0] > 0).all()
    torch.testing.assert_close(focal(logits, labels, reduction="sum"), parts.sum())
    torch.testing.assert_close(focal(logits, labels, reduction="mean"), parts.sum() / 35)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 10), torch.ones(2, 10)
    refused = [
        (r"focal gamma is -1", lambda: focal(*batch, gamma=-1)),
        (r"reduction is 'total'", lambda: focal(*batch, reduction="total")),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
