"""SPLC: against the released code, and against plain loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import SPREAD, TIED, assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import splc
from trilabel.losses.splc import splc_corrected

quick = settings(max_examples=60, deadline=None)
gammas = st.sampled_from([0, 0.5, 1, 2, 2.5, 4])


@pytest.mark.parametrize("case", cases_of("splc"))
def test_splc_agrees_with_released_code(case):
    chosen = reference_cases()[case]["params"]
    epoch = int(case.split("epoch_index")[1]) + 1  # it counts epochs from 0
    change_epoch = chosen["change_epoch"] + 1

    def loss(x, z):
        return splc(x, z, epoch, chosen["tau"], "sum", change_epoch, chosen["margin"], chosen["gamma"])

    assert_agrees(loss, case, 1e-5)


@quick
@given(batches(TIED | SPREAD), st.integers(1, 3), st.sampled_from([0, 0.5, 0.6, 1]), st.sampled_from([0, 1.0]), gammas)
def test_splc_is_the_plain_loop(batch, epoch, tau, margin, gamma):
    def slow(x, z, frozen=None):
        return oracle.splc(x, z, epoch >= 2, tau, margin, gamma, frozen)

    assert_same(lambda x, z: splc(x, z, epoch, tau, "sum", 2, margin, gamma), slow, batch, frozen=True)


@quick
@given(batches())
def test_unknown_is_absent_in_the_first_epoch(batch):
    logits, labels = batch
    torch.testing.assert_close(splc(logits, labels.clamp(min=0) * 2 - 1, epoch=9), splc(logits, labels, epoch=1))


def test_splc_corrects_confident_unknown_labels_only():
    logits = torch.tensor([[5.0, 5.0, 5.0, 0.0, -5.0]])
    labels = torch.tensor([[1, -1, 0, 0, 0]])
    assert splc_corrected(logits, labels, 2, 0.6, 2).tolist() == [[False, False, True, False, False]]
    assert splc_corrected(logits, labels, 2, 0.5, 2).tolist() == [[False, False, True, False, False]]
    assert splc_corrected(logits, labels, 2, 0.4, 2).tolist() == [[False, False, True, True, False]]
    assert not splc_corrected(logits, labels, 1, 0.4, 2).any()


def test_reductions_reduce_the_same_parts():
    generator = torch.Generator().manual_seed(4)
    logits, labels = torch.randn(5, 7, generator=generator), torch.randint(-1, 2, (5, 7), generator=generator)
    parts = splc(logits, labels, 2, reduction="none")
    assert parts.shape == (5, 7) and (parts[labels > 0] > 0).all()
    torch.testing.assert_close(splc(logits, labels, 2, reduction="sum"), parts.sum())
    torch.testing.assert_close(splc(logits, labels, 2), parts.sum() / 35)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 3), torch.zeros(2, 3)
    refused = [
        (r"epoch is 0", lambda: splc(*batch, epoch=0)),
        (r"tau is 60", lambda: splc(*batch, epoch=1, tau=60)),
        (r"gamma is -2", lambda: splc(*batch, epoch=1, gamma=-2)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
