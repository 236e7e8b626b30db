"""Shared by the tests of losses: the released code's numbers, random batches, and value with gradient."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.oracles import losses as oracle

REFERENCE = Path(__file__).parents[1] / "reference"
Loss = Callable[[Tensor, Tensor], Tensor]


@cache
def reference_cases() -> dict[str, dict[str, Any]]:
    return {case["case"]: case for case in json.loads((REFERENCE / "losses.json").read_text(encoding="utf-8"))}


@cache
def reference_numbers() -> dict[str, np.ndarray]:
    with np.load(REFERENCE / "losses.npz") as numbers:
        return dict(numbers)


def cases_of(*names: str) -> list[str]:
    """Cases of these losses in all groups of inputs; "asymmetric" also finds "asymmetric/pos1_neg4_clip0.05"."""
    return [case for case in reference_cases() if case.split("/")[1] in names]


def reference_input(case: str, name: str) -> Tensor:
    """What the released code was given beside the labels: "logits", "true", "estimate"."""
    return torch.tensor(reference_numbers()[f"{reference_cases()[case]['inputs']}|{name}"])


def assert_agrees(loss: Loss, case: str, tolerance: float) -> None:
    """Value and gradient of `loss` are those of the released code."""
    numbers, entry = reference_numbers(), reference_cases()[case]
    labels = reference_input(case, entry["labels"].split("+")[0])  # "single+true" has the truth beside the labels
    value, gradient = value_and_gradient(loss, reference_input(case, "logits"), labels)
    key = case.replace("/", "|")
    np.testing.assert_allclose(value, numbers[f"{key}|loss"], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(gradient, numbers[f"{key}|grad"], rtol=tolerance, atol=tolerance / 10)


def value_and_gradient(loss: Loss, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    leaf = logits.clone().requires_grad_()
    value = loss(leaf, labels)
    value.backward()
    assert leaf.grad is not None
    return value.detach(), leaf.grad


def assert_same(loss: Loss, slow: Callable[..., float], batch: tuple[Tensor, Tensor], frozen: bool = False) -> None:
    """Value and gradient of `loss` are those of the plain loop `slow(logits, labels)`.

    `frozen`: that loop also has an argument of this name (see `tests.oracles.losses`).
    """
    logits, labels = batch
    value, gradient = value_and_gradient(loss, logits, labels)
    rows, signs = logits.tolist(), labels.tolist()
    torch.testing.assert_close(value.item(), slow(rows, signs), rtol=1e-9, atol=1e-9)
    moving = (lambda x: slow(x, signs, frozen=rows)) if frozen else (lambda x: slow(x, signs))
    expected = torch.tensor(oracle.gradient(moving, rows), dtype=torch.float64)
    torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-7)


def assert_same_second_derivative(loss: Loss, twin: Loss, batch: tuple[Tensor, Tensor]) -> None:
    """All second derivatives of `loss` are those of its `twin`."""
    logits, labels = batch
    found, expected = (
        torch.autograd.functional.hessian(lambda x, one=one: one(x, labels.to(x.dtype)), logits) for one in (loss, twin)
    )
    torch.testing.assert_close(found, expected)


SPREAD = st.floats(-30, 30)
# Few enough that logits, and the margins between them, tie in most batches.
TIED = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])


@st.composite
def batches(draw: st.DrawFn, scores: st.SearchStrategy[float] = SPREAD) -> tuple[Tensor, Tensor]:
    """Small float64 logits and int8 labels of the same shape."""
    images, classes = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    size = images * classes
    logits = draw(st.lists(scores, min_size=size, max_size=size))
    labels = draw(st.lists(st.sampled_from([1, -1, 0]), min_size=size, max_size=size))
    return (
        torch.tensor(logits, dtype=torch.float64).view(images, classes),
        torch.tensor(labels, dtype=torch.int8).view(images, classes),
    )


@st.composite
def batches_with_others(draw: st.DrawFn) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A batch, and of the same shape other logits and other labels."""
    logits, labels = draw(batches())
    size, shape = logits.numel(), logits.shape
    other_logits = draw(st.lists(SPREAD, min_size=size, max_size=size))
    other_labels = draw(st.lists(st.sampled_from([1, -1, 0]), min_size=size, max_size=size))
    return (
        logits,
        labels,
        torch.tensor(other_logits, dtype=torch.float64).view(shape),
        torch.tensor(other_labels).view(shape),
    )
