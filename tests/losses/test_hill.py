"""Hill loss: against the released code, and against plain loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import hill

quick = settings(max_examples=60, deadline=None)
gammas = st.sampled_from([0, 0.5, 1, 2, 2.5, 4])


@pytest.mark.parametrize("case", cases_of("hill"))
def test_hill_agrees_with_released_code(case):
    chosen = reference_cases()[case]["params"]
    weight, margin, gamma = chosen["lambda"], chosen["margin"], chosen["gamma"]
    assert_agrees(lambda x, z: hill(x, z, "sum", weight, margin, gamma), case, 1e-5)


@quick
@given(batches(), st.sampled_from([1, 1.5, 3]), st.sampled_from([0, 1.0, -0.5]), gammas)
def test_hill_is_the_plain_loop(batch, weight, margin, gamma):
    def slow(x, z):
        return oracle.hill(x, z, weight, margin, gamma)

    assert_same(lambda x, z: hill(x, z, "sum", weight, margin, gamma), slow, batch)


@quick
@given(batches())
def test_unknown_is_absent(batch):
    logits, labels = batch
    torch.testing.assert_close(hill(logits, labels.clamp(min=0) * 2 - 1), hill(logits, labels))


def test_reductions_reduce_the_same_parts():
    generator = torch.Generator().manual_seed(4)
    logits, labels = torch.randn(5, 7, generator=generator), torch.randint(-1, 2, (5, 7), generator=generator)
    parts = hill(logits, labels, reduction="none")
    assert parts.shape == (5, 7) and (parts[labels > 0] > 0).all()
    torch.testing.assert_close(hill(logits, labels, reduction="sum"), parts.sum())
    torch.testing.assert_close(hill(logits, labels), parts.sum() / 35)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 3), torch.zeros(2, 3)
    refused = [
        (r"weight is 0\.5", lambda: hill(*batch, weight=0.5)),
        (r"gamma is -1", lambda: hill(*batch, gamma=-1)),
        (r"reduction is 'total'", lambda: hill(*batch, reduction="total")),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
