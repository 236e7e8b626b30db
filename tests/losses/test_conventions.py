"""Labels in another convention than +1, −1, 0 are noticed."""

import warnings

import numpy as np
import pytest
import torch

from trilabel import TrilabelError, losses, metrics

LOGITS = torch.tensor([[2.0, -1.0], [0.5, 1.0]])
BINARY = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
KNOWN_ONLY = [losses.bce, losses.known_mean_bce, losses.per_image_bce, losses.partial_bce]


@pytest.mark.parametrize("loss", KNOWN_ONLY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_ones_and_zeros_are_warned_of_where_only_the_ones_would_be_learned(loss, dtype):
    with pytest.warns(UserWarning, match="2 \\* labels - 1") as seen:
        loss(LOGITS, BINARY.to(dtype))
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(LOGITS, (2 * BINARY - 1).to(dtype))
        loss(LOGITS, BINARY.to(torch.int8))  # as batches have them: positives alone may be all that is known


def test_losses_to_which_unknown_is_absent_take_ones_and_zeros():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert losses.assume_negative(LOGITS, BINARY) == losses.assume_negative(LOGITS, 2 * BINARY - 1)


@pytest.mark.parametrize("value", [0.5, 2.0, -3.0, float("nan")])
@pytest.mark.parametrize("loss", [*KNOWN_ONLY, losses.assume_negative, losses.hill])
def test_other_values_are_refused(loss, value):
    labels = BINARY.clone()
    labels[1, 0] = value
    with pytest.raises(TrilabelError, match=f"a label is {value:g}: give \\+1 present, −1 absent, 0 unknown"):
        loss(LOGITS, labels)


def test_metrics_warn_of_ones_and_zeros_and_refuse_probabilities():
    scores, binary = np.array([[0.9, 0.2], [0.4, 0.8]]), BINARY.numpy()
    with pytest.warns(UserWarning, match="2 \\* y - 1"):
        found = metrics.evaluate(scores, binary)
    assert found["mAP"] is None and found["OP"] is None and found["precision_at_1"] is None and found["OR"] == 1
    with pytest.raises(TrilabelError, match=r"label value 0.9 at .0, 0.: .*give scores first, then labels"):
        metrics.evaluate(scores, scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.evaluate(scores, 2 * binary - 1)["mAP"] == 1


@pytest.mark.parametrize("loss", [losses.bce, losses.asymmetric, losses.target_bce])
def test_arrays_are_refused(loss):
    with pytest.raises(TrilabelError, match=r"a loss takes tensors, not ndarray: torch\.from_numpy"):
        loss(np.zeros((2, 3)), np.ones((2, 3)))
