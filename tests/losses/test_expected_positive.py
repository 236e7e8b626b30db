"""Expected positives: against the released code, and against plain loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import bce, expected_positive

quick = settings(max_examples=50, deadline=None)
shares = st.floats(0, 1)


@pytest.mark.parametrize("case", cases_of("expected_positive"))
def test_expected_positive_agrees_with_released_code(case):
    chosen = reference_cases()[case]["params"]
    assert_agrees(lambda x, z: expected_positive(x, z, chosen["expected_positives"], chosen["lambda"]), case, 1e-4)


@quick
@given(batches(), shares, st.sampled_from([0, 0.5, 1, 4]))
def test_expected_positive_is_the_plain_loop(batch, share, strength):
    expected = share * batch[0].shape[1]

    def slow(x, z):
        return oracle.expected_positive(x, z, expected, strength)

    assert_same(lambda x, z: expected_positive(x, z, expected, strength), slow, batch)


@quick
@given(batches())
def test_without_strength_it_is_bce_of_present_labels(batch):
    logits, labels = batch
    torch.testing.assert_close(expected_positive(logits, labels, 0, strength=0), bce(logits, labels.clamp(min=0)))


def test_unfit_settings_are_refused():
    logits, labels = torch.zeros(2, 3), torch.ones(2, 3)
    refused = [
        (r"expected_positives is 3\.5.*from 0 to 3", lambda: expected_positive(logits, labels, 3.5)),
        (r"strength is -2", lambda: expected_positive(logits, labels, 1, strength=-2)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
