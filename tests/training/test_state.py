"""A look at how a run goes, and what is saved meanwhile."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from trilabel.config import Config
from trilabel.data.images import ImageBatch, ImageSource
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS, create_method
from trilabel.models import create_model
from trilabel.training import checkpoint
from trilabel.training.api import train
from trilabel.training.diagnosis import Diagnosis
from trilabel.training.record import EpochRecord
from trilabel.training.state import State
from trilabel.training.totals import EpochTotals

LOSSES = [0.5, 1.5, 4.0]
RECORD = EpochRecord("fine-tune", 1, 0.5)


def a_state(device="cpu"):
    labels = Labels.from_signed(np.array([[1, -1], [0, 1]], np.int8))
    model, method = create_model(Config(), 2, image_size=16), create_method("known-only", {}, labels)
    return State(model.to(device), method.to(device), None, Diagnosis(labels, None).to(device), torch.device(device))


def step(state, loss):
    totals = state.totals
    totals.add({"loss": torch.tensor(loss).to(totals.device), "logits": torch.zeros(2, 2)}, state.progress.step)
    state.progress.step += 1


@pytest.mark.parametrize("wait", [True, False])
def test_a_look_tells_the_mean_so_far_and_the_first_step_that_went_wrong(wait):
    state = a_state()
    for number, loss in enumerate(LOSSES):
        step(state, loss)
        assert state.totals.loss_so_far(wait) == (sum(LOSSES[: number + 1]) / (number + 1), -1)
    step(state, float("inf"))
    assert state.totals.loss_so_far(wait) == (float("inf"), 3)
    step(state, float("nan"))
    step(state, 1.0)
    assert state.totals.loss_so_far(wait)[1] == 3
    state.end_epoch()
    step(state, 2.0)
    assert state.totals.loss_so_far(wait) == (2.0, -1)


@pytest.mark.gpu
def test_on_a_gpu_a_look_tells_what_was_so_at_the_look_before():
    state = a_state("cuda")
    step(state, 0.5)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        assert state.totals.loss_so_far(wait=False) == (None, -1)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    step(state, float("nan"))
    assert state.totals.loss_so_far(wait=True)[1] == 1
    torch.cuda.synchronize()
    assert state.totals.loss_so_far(wait=False) == (0.5, -1)
    torch.cuda.synchronize()
    assert state.totals.loss_so_far(wait=False)[1] == 1
    state.end_epoch()
    step(state, 2.0)
    assert state.totals.loss_so_far(wait=False) == (None, -1), "and nothing of another epoch"


@pytest.mark.gpu
def test_on_a_gpu_the_device_may_be_late():
    state = a_state("cuda")
    for _ in range(3):  # memory that copies go to is had by now: to ask for more may wait
        step(state, 1.0)
        state.totals.loss_so_far(wait=False)
        torch.cuda.synchronize()
    state.end_epoch()
    step(state, 0.5)
    torch.cuda._sleep(10**9)  # cycles: about half a second
    assert state.totals.loss_so_far(wait=False) == (None, -1)
    assert state.totals.loss_so_far(wait=False) == (None, -1)
    assert state.totals.loss_so_far(wait=True) == (0.5, -1)


def test_files_are_there_once_they_were_waited_for(tmp_path):
    state = a_state()
    state._writer = checkpoint.Writer()  # as on a GPU
    before = {name: value.clone() for name, value in state.model.state_dict().items()}
    state.save_weights(tmp_path / "best.safetensors", RECORD)
    with torch.no_grad():
        for parameter in state.model.parameters():
            parameter.zero_()
    state.wait_for_files()
    tensors, record = checkpoint.load(tmp_path / "best.safetensors", "model.")
    assert record == RECORD.to_json() and all(torch.equal(tensors[f"model.{name}"], before[name]) for name in before)


def test_no_checkpoint_is_of_after_a_loss_that_was_not_finite(small_scenes, quick, tmp_path, monkeypatch):
    """A look that does not wait may be late with the news; what is saved must not be."""
    look, learn, steps = EpochTotals.loss_so_far, METHODS["known-only"].step, []
    monkeypatch.setattr(EpochTotals, "loss_so_far", lambda totals, wait: look(totals, True) if wait else (None, -1))

    def learn_until(method, model, batch):
        steps.append(0)
        parts = learn(method, model, batch)
        return parts | {"loss": parts["loss"] * (torch.nan if len(steps) == 3 else 1)}

    monkeypatch.setattr(METHODS["known-only"], "step", learn_until)
    with pytest.raises(TrilabelError, match=r"not finite in epoch 1, step 3 of 6 .*last\.safetensors is from before"):
        train(small_scenes, replace(quick, save_minutes=0.0, device="cpu"), tmp_path / "run")
    tensors, progress = checkpoint.load(tmp_path / "run" / "last.safetensors")
    assert progress["step"] == 2 and len(steps) == 3
    assert all(torch.isfinite(value).all() for value in tensors.values())


@pytest.mark.parametrize("unreadable", [1, 6])
def test_a_first_batch_without_an_image_is_not_the_end(small_scenes, quick, tmp_path, monkeypatch, unreadable):
    batches = ImageSource.batches

    def some_broken(source, positions, skip_broken=False):
        for number, drawn in enumerate(batches(source, positions, skip_broken)):
            broken = len(source) == 96 and number < unreadable
            failed = [(int(position), "broken") for position in drawn.positions]
            yield ImageBatch(drawn.images[:0], drawn.positions[:0], failed) if broken else drawn

    monkeypatch.setattr(ImageSource, "batches", some_broken)
    config = replace(quick, broken="skip", epochs=1, device="cpu")
    if unreadable == 6:
        with pytest.raises(TrilabelError, match="none of the training images could be read"):
            train(small_scenes, config, tmp_path / "run")
    else:
        assert train(small_scenes, config, tmp_path / "run").history[0].images_left_out == 16
