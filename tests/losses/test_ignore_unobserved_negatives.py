"""The oracle that knows all absent labels: against the released code, and against plain loops."""

import pytest
import torch
from hypothesis import given, settings

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_agrees, assert_same, batches, batches_with_others, cases_of, reference_input
from trilabel import TrilabelError
from trilabel.losses import bce, ignore_unobserved_negatives

quick = settings(max_examples=50, deadline=None)


@pytest.mark.parametrize("case", cases_of("ignore_unobserved_negatives"))
def test_ignore_unobserved_negatives_agrees_with_released_code(case):
    truth = reference_input(case, "true")
    assert_agrees(lambda x, z: ignore_unobserved_negatives(x, z, truth), case, 1e-4)


@quick
@given(batches_with_others())
def test_ignore_unobserved_negatives_is_the_plain_loop(matrices):
    logits, labels, _, truth = matrices

    def slow(x, z):
        return oracle.ignore_unobserved_negatives(x, z, truth.tolist())

    assert_same(lambda x, z: ignore_unobserved_negatives(x, z, truth), slow, (logits, labels))


@quick
@given(batches())
def test_labels_for_truth_make_it_bce(batch):
    logits, labels = batch
    torch.testing.assert_close(ignore_unobserved_negatives(logits, labels, labels), bce(logits, labels))


@pytest.mark.parametrize("hidden", [-1, 0])
def test_a_present_label_is_believed_over_the_truth(hidden):
    logits, labels = torch.tensor([[2.0, -1.0]]), torch.tensor([[1, 0]])
    with_truth = ignore_unobserved_negatives(logits, labels, torch.tensor([[hidden, hidden]]))
    torch.testing.assert_close(with_truth, bce(logits, torch.tensor([[1, hidden]])))


def test_a_truth_of_another_shape_is_refused():
    logits, labels = torch.zeros(2, 3), torch.ones(2, 3)
    with pytest.raises(TrilabelError, match=r"\(2, 3\).*\(2, 1\)"):
        ignore_unobserved_negatives(logits, labels, labels[:, :1])
