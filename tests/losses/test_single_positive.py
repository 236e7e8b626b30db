"""Losses that need more than the labels: against the released code, and against plain loops."""

import doctest

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import (
    assert_agrees,
    assert_same,
    batches,
    cases_of,
    reference_cases,
    reference_input,
    reference_numbers,
    value_and_gradient,
)
from trilabel import TrilabelError
from trilabel.losses import bce, expected_positive, ignore_unobserved_negatives, role, single_positive

quick = settings(max_examples=50, deadline=None)
shares = st.floats(0, 1)


@pytest.mark.parametrize("case", cases_of("ignore_unobserved_negatives"))
def test_ignore_unobserved_negatives_agrees_with_released_code(case):
    truth = reference_input(case, "true")
    assert_agrees(lambda x, z: ignore_unobserved_negatives(x, z, truth), case, 1e-4)


@pytest.mark.parametrize("case", cases_of("expected_positive"))
def test_expected_positive_agrees_with_released_code(case):
    chosen = reference_cases()[case]["params"]
    assert_agrees(lambda x, z: expected_positive(x, z, chosen["expected_positives"], chosen["lambda"]), case, 1e-4)


@pytest.mark.parametrize("case", cases_of("role"))
def test_role_agrees_with_released_code(case):
    expected = reference_cases()[case]["params"]["expected_positives"]
    estimates = reference_input(case, "estimate").logit().requires_grad_()
    assert_agrees(lambda x, z: role(x, z, estimates, expected), case, 1e-4)
    # The released code has the gradient by the estimated probability g; by its logit it is g(1−g) times that.
    by_probability = torch.tensor(reference_numbers()[f"{case.replace('/', '|')}|grad_estimate"])
    probability = reference_input(case, "estimate")
    by_logit = by_probability * probability * (1 - probability)
    np.testing.assert_allclose(estimates.grad, by_logit, rtol=1e-4, atol=1e-5)


@st.composite
def pairs_of_batches(draw):
    """A batch, and a second matrix of logits, of labels."""
    logits, labels = draw(batches())
    size = logits.numel()
    others = draw(st.lists(st.floats(-30, 30), min_size=size, max_size=size))
    truth = draw(st.lists(st.sampled_from([1, -1, 0]), min_size=size, max_size=size))
    shape = logits.shape
    return logits, labels, torch.tensor(others, dtype=torch.float64).view(shape), torch.tensor(truth).view(shape)


@quick
@given(pairs_of_batches())
def test_ignore_unobserved_negatives_is_the_plain_loop(drawn):
    logits, labels, _, truth = drawn

    def slow(x, z):
        return oracle.ignore_unobserved_negatives(x, z, truth.tolist())

    assert_same(lambda x, z: ignore_unobserved_negatives(x, z, truth), slow, (logits, labels))


@quick
@given(batches(), shares, st.sampled_from([0, 0.5, 1, 4]))
def test_expected_positive_is_the_plain_loop(batch, share, strength):
    expected = share * batch[0].shape[1]

    def slow(x, z):
        return oracle.expected_positive(x, z, expected, strength)

    assert_same(lambda x, z: expected_positive(x, z, expected, strength), slow, batch)


@quick
@given(pairs_of_batches(), shares)
def test_role_is_the_plain_loop(drawn, share):
    logits, labels, estimates, _ = drawn
    expected = share * logits.shape[1]

    def slow(x, z, frozen=None):
        return oracle.role(x, z, estimates.tolist(), expected, frozen)

    assert_same(lambda x, z: role(x, z, estimates, expected), slow, (logits, labels), frozen=True)

    def slow_estimate(y, z, frozen=None):
        return oracle.role(logits.tolist(), z, y, expected, frozen_estimates=frozen)

    assert_same(lambda y, z: role(logits, z, y, expected), slow_estimate, (estimates, labels), frozen=True)


@quick
@given(batches())
def test_relatives_coincide(batch):
    logits, labels = batch
    torch.testing.assert_close(ignore_unobserved_negatives(logits, labels, labels), bce(logits, labels))
    torch.testing.assert_close(expected_positive(logits, labels, 0, strength=0), bce(logits, labels.clamp(min=0)))


@pytest.mark.parametrize("hidden", [-1, 0])
def test_a_present_label_is_believed_over_the_truth(hidden):
    logits, labels = torch.tensor([[2.0, -1.0]]), torch.tensor([[1, 0]])
    with_truth = ignore_unobserved_negatives(logits, labels, torch.tensor([[hidden, hidden]]))
    torch.testing.assert_close(with_truth, bce(logits, torch.tensor([[1, hidden]])))


def test_without_known_labels_role_still_expects_and_agrees():
    logits, estimates = torch.full((2, 4), -2.0), torch.full((2, 4), 1.0).requires_grad_()
    labels = torch.zeros(2, 4, dtype=torch.int8)
    value, slope = value_and_gradient(lambda x, z: role(x, z, estimates, 2), logits, labels)
    assert value > 0 and (slope < 0).all() and (estimates.grad > 0).all()


def test_unfit_settings_are_refused():
    logits, labels = torch.zeros(2, 3), torch.ones(2, 3)
    refused = [
        (r"expected_positives is 3\.5.*from 0 to 3", lambda: expected_positive(logits, labels, 3.5)),
        (r"expected_positives is -1", lambda: role(logits, labels, logits, -1)),
        (r"strength is -2", lambda: expected_positive(logits, labels, 1, strength=-2)),
        (r"\(2, 3\).*\(2, 1\)", lambda: ignore_unobserved_negatives(logits, labels, labels[:, :1])),
        (r"\(2, 1\).*\(2, 3\)", lambda: role(logits, labels, logits[:, :1], 1)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()


def test_examples_in_docstrings():
    result = doctest.testmod(single_positive)
    assert result.attempted > 0 and result.failed == 0
