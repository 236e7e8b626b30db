"""Resuming: what the files of a killed run say fits together, or the run says so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import create_method
from trilabel.models import create_model
from trilabel.training import checkpoint
from trilabel.training.api import train
from trilabel.training.diagnosis import Diagnosis
from trilabel.training.distributed import Processes
from trilabel.training.state import State


def a_state() -> State:
    labels = Labels.from_signed(np.array([[1, -1], [0, 1]], np.int8))
    model, method = create_model(Config(), 2, image_size=16), create_method("known-only", {}, labels)
    return State(model, method, None, Diagnosis(labels, None), torch.device("cpu"))


def plain_sgd(state: State) -> torch.optim.Optimizer:
    return torch.optim.SGD(state.model.parameters(), lr=0.1)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """What one process saves in the middle of an epoch; plain SGD remembers nothing."""
    state = a_state()
    state.attach(plain_sgd(state), None)
    for count in state.diagnosis.counts().values():
        count.fill_(3)
    file = tmp_path / "last.safetensors"
    state.save(file, Processes(Fabric(accelerator="cpu", devices=1)))
    assert not checkpoint.part("optimizer", checkpoint.load(file)[0])
    return file


@pytest.mark.parametrize(("rank", "kept"), [(0, 3), (1, 0)])
def test_counts_are_not_doubled_by_more_processes_whatever_the_optimizer(saved: Path, rank: int, kept: int) -> None:
    state = a_state()
    state.load(saved, rank, 2)
    state.attach(plain_sgd(state), None)
    assert all((count == kept).all() for count in state.diagnosis.counts().values())


@pytest.mark.parametrize("processes", [1, 2])
def test_a_checkpoint_from_before_something_was_counted_resumes(saved: Path, processes: int) -> None:
    tensors, position = checkpoint.load(saved)
    new = ("diagnosis.histograms", "diagnosis.examples.values")
    tensors = {name: value for name, value in tensors.items() if name not in new}
    tensors["diagnosis.probabilities"] = torch.ones(3, 20)  # as it was
    if processes == 2:
        each = {"diagnosis.targets": torch.full((2, 10), 7)}
        tensors |= checkpoint.prefixed("each", each)
    checkpoint.save(saved, tensors, position)
    state = a_state()
    state.load(saved, 0, processes)
    state.attach(plain_sgd(state), None)
    assert not state.diagnosis.histograms.any() and not state.diagnosis.examples.values.any()
    assert (state.diagnosis.targets == (3 if processes == 1 else 7)).all() and (state.diagnosis.kinds == 3).all()


@pytest.mark.parametrize(
    "gradients", [{"0": torch.zeros(1, 1)}, {"x": torch.zeros(1)}, {"99999": torch.zeros(1)}, {"0": torch.zeros(())}]
)
def test_gradients_of_something_else_are_refused(saved: Path, gradients: dict[str, torch.Tensor]) -> None:
    tensors, position = checkpoint.load(saved)
    checkpoint.save(saved, tensors | checkpoint.prefixed("gradients", gradients), position)
    state = a_state()
    state.load(saved)
    with pytest.raises(TrilabelError, match=r"last\.safetensors: not of this run, or of another version"):
        state.attach(plain_sgd(state), None)


def test_a_better_model_that_no_checkpoint_counts_is_replaced(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    """Killed in between, and then repeated where the epoch gets a lower score than the best before."""
    config = replace(quick, epochs=1, device="cpu")
    folder = train(small_scenes, config, tmp_path / "run").folder
    tensors, state = checkpoint.load(folder / "last.safetensors")
    state["best"]["val"]["mAP"] = 1.5
    checkpoint.save(folder / "last.safetensors", tensors, state)
    tensors, record = checkpoint.load(folder / "best.safetensors")
    checkpoint.save(folder / "best.safetensors", tensors, {**record, "epoch": 2})
    run = train(small_scenes, replace(config, epochs=2), folder, resume=True)
    assert run.best == run.history[1]
    state = checkpoint.load_state(folder / "last.safetensors")
    assert state["best"] == run.best.to_json()
