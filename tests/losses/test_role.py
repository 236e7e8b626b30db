"""ROLE: against the released code, and against plain loops."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import (
    assert_agrees,
    assert_same,
    batches_with_others,
    cases_of,
    reference_cases,
    reference_input,
    reference_numbers,
    value_and_gradient,
)
from trilabel import TrilabelError
from trilabel.losses import bce, role
from trilabel.losses.role import role_gradients

quick = settings(max_examples=50, deadline=None)
shares = st.floats(0, 1)


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


@quick
@given(batches_with_others(), shares)
def test_role_is_the_plain_loop(matrices, share):
    logits, labels, estimates, _ = matrices
    expected = share * logits.shape[1]

    def slow(x, z, frozen=None):
        return oracle.role(x, z, estimates.tolist(), expected, frozen)

    assert_same(lambda x, z: role(x, z, estimates, expected), slow, (logits, labels), frozen=True)

    def slow_estimate(y, z, frozen=None):
        return oracle.role(logits.tolist(), z, y, expected, frozen_estimates=frozen)

    assert_same(lambda y, z: role(logits, z, y, expected), slow_estimate, (estimates, labels), frozen=True)


def test_without_known_labels_role_still_expects_and_agrees():
    logits, estimates = torch.full((2, 4), -2.0), torch.full((2, 4), 1.0).requires_grad_()
    labels = torch.zeros(2, 4, dtype=torch.int8)
    value, gradient = value_and_gradient(lambda x, z: role(x, z, estimates, 2), logits, labels)
    assert value > 0 and (gradient < 0).all() and (estimates.grad > 0).all()


@quick
@given(batches_with_others())
def test_role_gradients_are_those_of_role_and_of_known_absent_labels(matrices):
    logits, labels, estimates, _ = matrices
    x, y = logits.clone().requires_grad_(), estimates.clone().requires_grad_()
    absent = labels.clamp(max=0)
    expected = role(x, labels, y, 1) + (bce(x, absent) + bce(y, absent)) / 2
    expected.backward()
    with torch.no_grad():
        value, by_logits, by_estimate = role_gradients(x, labels, y, 1)
    assert not (value.requires_grad or by_logits.requires_grad or by_estimate.requires_grad)
    torch.testing.assert_close((value, by_logits, by_estimate), (expected.detach(), x.grad, y.grad))


def test_unfit_settings_are_refused():
    logits, labels = torch.zeros(2, 3), torch.ones(2, 3)
    refused = [
        (r"expected_positives is -1", lambda: role(logits, labels, logits, -1)),
        (r"\(2, 1\).*\(2, 3\)", lambda: role(logits, labels, logits[:, :1], 1)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
