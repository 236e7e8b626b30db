"""Losses that read unknown as absent: against the released code, against plain loops, and against one another."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import assume_negative, bce, weak_assume_negative

quick = settings(max_examples=50, deadline=None)
shares = st.floats(0, 1)


@pytest.mark.parametrize("case", cases_of("assume_negative", "assume_negative_label_smoothing"))
def test_assume_negative_agrees_with_released_code(case):
    smoothing = reference_cases()[case]["params"].get("smoothing", 0)
    assert_agrees(lambda x, z: assume_negative(x, z, smoothing=smoothing), case, 1e-4)


@pytest.mark.parametrize("case", cases_of("weak_assume_negative"))
def test_weak_assume_negative_agrees_with_released_code(case):
    assert_agrees(weak_assume_negative, case, 1e-4)


@quick
@given(batches(), st.tuples(shares, shares))
def test_assume_negative_is_the_plain_loop(batch, smoothing):
    def slow(x, z):
        return oracle.assume_negative(x, z, smoothing)

    assert_same(lambda x, z: assume_negative(x, z, smoothing), slow, batch)


@quick
@given(batches(), st.one_of(st.none(), st.floats(0, 3)))
def test_weak_assume_negative_is_the_plain_loop(batch, weight):
    def slow(x, z):
        others = len(x[0]) - 1
        by_default = 1 / others if others else 1
        return oracle.assume_negative(x, z, weight=by_default if weight is None else weight)

    assert_same(lambda x, z: weak_assume_negative(x, z, weight), slow, batch)


@quick
@given(batches(), shares)
def test_relatives_coincide(batch, smoothing):
    logits, labels = batch
    plain = assume_negative(logits, labels)
    torch.testing.assert_close(weak_assume_negative(logits, labels, weight=1), plain)
    torch.testing.assert_close(assume_negative(logits, labels.clamp(min=0)), plain)
    absent_unless_present = (labels > 0).to(torch.int8) * 2 - 1
    torch.testing.assert_close(bce(logits, absent_unless_present), plain)
    one, pair = assume_negative(logits, labels, smoothing), assume_negative(logits, labels, (smoothing, smoothing))
    assert torch.equal(one, pair)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 3), torch.ones(2, 3)
    with pytest.raises(TrilabelError, match=r"weight is -1"):
        weak_assume_negative(*batch, weight=-1)
    with pytest.raises(TrilabelError, match=r"smoothing of negatives is 2"):
        assume_negative(*batch, smoothing=(0, 2))
