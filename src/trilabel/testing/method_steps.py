"""What holds for every step of a method: what it gives, what it leaves alone, and that it waits for no device."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from trilabel.labels import Labels
from trilabel.methods.base import Batch
from trilabel.testing.expecting import case, expect, reading_no_value
from trilabel.testing.method_case import MethodCase, Settings, each_choice, moments, refused, start, survey

MIXED = [[1, 0, -1, 0], [0, 1, 0, 1], [-1, 0, 1, 0]]
POSITIVES_ONLY = "positives only"
SITUATIONS = {
    POSITIVES_ONLY: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]],
    "mixed": MIXED,
    "all known": [[1, -1], [-1, 1]],
    "rows of all unknown": [[0, 0, 0, 0], *MIXED, [0, 0, 0, 0]],
    "one class": [[1], [0], [-1]],
    "one image": [[1, 0, -1, 0]],
}
_NOT_SCALARS = ("logits", "targets", "soft_targets")


@each_choice
def steps_on_any_labels(subject: MethodCase, chosen: Settings) -> None:
    """Each step gives a finite loss and finite gradients, also in half precision; with positives only it may refuse."""
    for situation, signs in SITUATIONS.items():
        labels = Labels.from_signed(np.array(signs, np.int8))
        with case(situation):
            message = refused(subject, chosen, labels)
            expect("\n" not in message, f"a message must be one line, not {message!r}")
            expect(not message or situation == POSITIVES_ONLY, f"it must learn from such labels, not say {message!r}")
            for half in () if message else (False, True):
                with case("bf16" if half else "float32"):
                    _check_steps(subject, chosen, labels, half, all_used=situation == "mixed")


def _check_steps(subject: MethodCase, chosen: Settings, labels: Labels, half: bool, all_used: bool) -> None:
    """Every kind of step: types, shapes and finite values; with `all_used` every parameter gets a gradient."""
    method, model = subject.create(chosen, labels), subject.model(labels)
    for moment in moments(method):
        start(method, moment)
        model.zero_grad()
        method.zero_grad()
        batch = subject.batch(model, labels, **moment)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            survey(method, model, batch)
            parts = method.step(model, batch)
        _check_parts(parts, labels, half)
        parts["loss"].backward()  # type: ignore[no-untyped-call]
        gradients = [parameter.grad for parameter in (*model.parameters(), *method.parameters())]
        _expect_finite(gradients)
        if all_used:
            expect(all(gradient is not None for gradient in gradients), "a parameter gets no gradient")
            expect(gradients[0] is not None and gradients[0].abs().max() > 0, "the model gets no gradient")
    kept = all(torch.isfinite(value).all() for value in method.state_dict().values() if value.is_floating_point())
    expect(kept, "what it remembers is not finite")


def _check_parts(parts: dict[str, Tensor], labels: Labels, half: bool) -> None:
    """What a step returns."""
    expect({"loss", "logits"} <= parts.keys(), f'a step must return "loss" and "logits", not {sorted(parts)}')
    loss, logits = parts["loss"], parts["logits"]
    expect(loss.shape == () and loss.dtype == torch.float32, f"the loss must be a float32 scalar, not {loss}")
    expect(torch.isfinite(loss), f"the loss is {loss}")
    for name in set(_NOT_SCALARS) & parts.keys():
        expect(parts[name].shape == labels.shape, f'"{name}" must be B×C, not {tuple(parts[name].shape)}')
        expect(not parts[name].requires_grad, f'"{name}" must be detached')
    allowed = (torch.bfloat16, torch.float32) if half else (torch.float32,)
    expect(logits.dtype in allowed, f'"logits" must be of the type that the model gives, not {logits.dtype}')
    if "targets" in parts:
        expect(parts["targets"].abs().max() <= 1, '"targets" must be from −1 to 1')
    if (soft := parts.get("soft_targets")) is not None:
        expect(((soft >= 0) & (soft <= 1)).all(), '"soft_targets" must be from 0 to 1')
    for name in parts.keys() - set(_NOT_SCALARS):
        expect(parts[name].ndim == 0, f'"{name}" must be a scalar, for the log')


@each_choice
def survives_unknown_batches(subject: MethodCase, chosen: Settings) -> None:
    """A batch in which nothing is known gives a finite loss and finite gradients."""
    labels = Labels.from_signed(np.array([*MIXED, [0] * 4, [0] * 4], np.int8))
    method, model = subject.create(chosen, labels), subject.model(labels)
    for moment in moments(method):
        loss = method.step(model, subject.batch(model, labels, rows=[4, 3], **moment))["loss"]
        expect(torch.isfinite(loss), f"the loss of a batch of unknown labels is {loss}")
        model.zero_grad()
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
        _expect_finite([parameter.grad for parameter in model.parameters()])


@each_choice
def leaves_its_input_alone(subject: MethodCase, chosen: Settings) -> None:
    """A step changes neither its batch nor the labels, and scores known labels as what they are."""
    labels = Labels.from_signed(np.array(MIXED, np.int8))
    method, model = subject.create(chosen, labels), subject.model(labels)
    for moment in moments(method):
        batch = subject.batch(model, labels, **moment)
        before = [None if part is None else part.clone() for part in batch[:4]]
        targets = method.step(model, batch).get("targets")
        pairs = zip(batch[:4], before, strict=True)
        same = all(now is None or then is None or torch.equal(now, then) for now, then in pairs)
        expect(same, "a step changed its batch")
        expect(np.array_equal(labels.to_signed(), MIXED), "a step changed the labels")
        known = batch.labels != 0
        kept = targets is None or torch.equal(targets[known], batch.labels[known])
        expect(kept, "a known label was scored as something else")
    weak = method.weak_labels()
    expect(weak is None or not weak.toarray()[np.array(MIXED) != 0].any(), "a weak label stands where one is known")


@each_choice
def waits_for_no_device(subject: MethodCase, chosen: Settings) -> None:
    """On the meta device there are no values: code that reads one, and so would wait for a real device, fails."""
    labels = Labels.from_signed(np.array(MIXED, np.int8))
    method, model = subject.create(chosen, labels), subject.model(labels)
    batches = [(moment, subject.batch(model, labels, **moment)) for moment in moments(method)]
    method.to("meta")
    model.to("meta")
    for moment, batch in batches:
        start(method, moment)
        with reading_no_value():
            parts = method.step(model, Batch(*map(_to_meta, batch)))
            parts["loss"].backward()  # type: ignore[no-untyped-call]
        expect(all(part.is_meta for part in parts.values()), "a step returns what is on another device")


def _to_meta(part: Any) -> Any:
    return part.to("meta") if isinstance(part, Tensor) else part


def _expect_finite(gradients: list[Tensor | None]) -> None:
    finite = all(torch.isfinite(gradient).all() for gradient in gradients if gradient is not None)
    expect(finite, "a gradient is not finite")
