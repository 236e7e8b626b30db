"""Signals and the clock are looked at after every step, in the middle of an accumulation too; nothing is lost."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.pictures import write_few
from tests.support.runs import killed_at_batch, same, tensors_of, without_times
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.testing.threads import as_gathering_processes
from trilabel.training import checkpoint
from trilabel.training.api import train
from trilabel.training.batches import epoch_order
from trilabel.training.gradients import accumulated_gradients, restore_gradients
from trilabel.training.run_folder import RunFolder
from trilabel.training.saving import stop_if_asked
from trilabel.training.state import State


@contextmanager
def in_step(number: int, act: Callable[[], object]) -> Iterator[None]:
    """`act` is called in the middle of the step of this number (from 1)."""
    step, done = METHODS["known-only"].step, 0

    def acting(self: Any, model: nn.Module, batch: Any) -> Any:
        nonlocal done
        done += 1
        if done == number:
            act()
        return step(self, model, batch)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(METHODS["known-only"], "step", acting)
        yield


def send(number: signal.Signals) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def step_saved(folder: Path) -> tuple[int, int]:
    """(epoch, finished steps of it) in the last checkpoint."""
    state = checkpoint.load_state(folder / "last.safetensors")
    return state["epoch"], state["step"]


@pytest.fixture
def accumulating(quick: Config) -> Config:
    """96 steps an epoch, and two updates."""
    return replace(quick, batch_size=1, accumulate=64, ema=0.9, clip_gradient=1.0, device="cpu")


def test_a_run_stopped_in_the_middle_of_an_accumulation_ends_the_same(
    small_scenes: Dataset, accumulating: Config, tmp_path: Path
) -> None:
    whole = train(small_scenes, accumulating, tmp_path / "whole")
    folder = tmp_path / "stopped"
    # In the first accumulation, in the second, which is shorter, just before an update, and in the next epoch.
    for number, before, at in ((30, 0, (1, 30)), (70, 30, (1, 70)), (96, 70, (1, 96)), (98, 96, (2, 2))):
        with in_step(number - before, send(signal.SIGINT)), pytest.raises(KeyboardInterrupt):
            train(small_scenes, accumulating, folder, resume=bool(before))
        assert step_saved(folder) == at
        gradients = checkpoint.part("gradients", tensors_of(folder))
        assert bool(gradients) == (at != (1, 96)) and all(value.any() for value in gradients.values())
    resumed = train(small_scenes, accumulating, folder, resume=True)
    for name in ("last", "best"):
        assert same(tensors_of(folder, name), tensors_of(whole.folder, name))
    assert without_times(resumed.history) == without_times(whole.history)
    assert not checkpoint.part("gradients", tensors_of(folder))


def test_the_clock_is_looked_at_in_the_middle_of_an_accumulation(
    small_scenes: Dataset, accumulating: Config, tmp_path: Path
) -> None:
    config = replace(accumulating, epochs=1, stages="linear", optimizer="sgd", save_minutes=0.0, ema=0.0, val="none")
    config = replace(config, linear_lr=config.lr)
    whole = train(small_scenes, config, tmp_path / "whole")
    with killed_at_batch(48 + 50):  # after 48 batches of features
        train(small_scenes, config, tmp_path / "killed")
    assert step_saved(tmp_path / "killed") == (1, 49)
    train(small_scenes, config, tmp_path / "killed", resume=True)
    assert same(tensors_of(tmp_path / "killed"), tensors_of(whole.folder))


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows")
def test_a_lost_terminal_saves_and_stops_unless_it_does_not_matter(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    with in_step(3, send(signal.SIGHUP)), pytest.raises(SystemExit) as stopped:
        train(small_scenes, quick, tmp_path / "stopped")
    assert stopped.value.code == 128 + signal.SIGHUP and step_saved(tmp_path / "stopped") == (1, 3)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        with in_step(3, send(signal.SIGHUP)):
            assert len(train(small_scenes, quick, tmp_path / "nohup").history) == 2
    finally:
        signal.signal(signal.SIGHUP, before)


def test_each_process_gets_its_own_gradients_back_and_another_number_their_mean() -> None:
    def optimizer_of(gradients: list[torch.Tensor | None]) -> torch.optim.Optimizer:
        parameters = [nn.Parameter(torch.zeros(2, 3)), nn.Parameter(torch.zeros(4))]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        return torch.optim.SGD([{"params": [each]} for each in parameters], lr=0.1)

    def process(rank: int, count: int, all_gather: Any = None) -> Any:
        return SimpleNamespace(
            rank=rank, count=count, is_first=rank == 0, fabric=SimpleNamespace(all_gather=all_gather)
        )

    own = [[torch.randn(2, 3), torch.randn(4)] for _ in range(3)]
    saved, *rest = as_gathering_processes(
        3, lambda rank, all_gather: accumulated_gradients(optimizer_of(list(own[rank])), process(rank, 3, all_gather))
    )
    assert rest == [{}, {}]
    for rank in range(3):
        optimizer = optimizer_of([None, None])
        restore_gradients(optimizer, saved, rank, 3)
        found = [group["params"][0].grad for group in optimizer.param_groups]
        assert all(torch.equal(one, two) for one, two in zip(found, own[rank], strict=True))
    restore_gradients(optimizer, saved)
    torch.testing.assert_close(
        optimizer.param_groups[0]["params"][0].grad, torch.stack([each[0] for each in own]).mean(0)
    )
    assert accumulated_gradients(optimizer_of([None, None]), process(0, 1)) == {}
    alone = accumulated_gradients(optimizer_of([own[0][0], None]), process(0, 1))
    assert alone.keys() == {"0"} and torch.equal(alone["0"][0], own[0][0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_all_end_by_the_same_signal_and_after_the_checkpoint_is_written(number: int) -> None:
    """In a process that received none."""
    done: list[str] = []
    processes = SimpleNamespace(largest=lambda here: max(here, number), barrier=lambda: done.append("met"))
    state = SimpleNamespace(wait_for_files=lambda: done.append("written"))
    folder = RunFolder(Path("run"))
    job: Any = SimpleNamespace(processes=processes, state=state, signals=[], folder=folder, config=Config())
    with pytest.raises((KeyboardInterrupt, SystemExit)) as stopped:
        stop_if_asked(job)
    assert done == ["written", "met"]
    assert getattr(stopped.value, "code", 130) == 128 + number


@pytest.mark.slow
def test_two_processes_stopped_in_the_middle_of_an_accumulation_end_the_same(quick: Config, tmp_path: Path) -> None:
    """An image that cannot be decoded ends the run in the fourth of four steps, of which each is saved."""
    dataset = write_few(str(tmp_path))
    config = replace(quick, devices=2, batch_size=2, device="cpu", cache="none", save_minutes=0.0, image_size=16)
    config = replace(config, accumulate=64, clip_gradient=1.0, ema=0.9)
    whole = train(dataset, config, tmp_path / "whole")
    last = epoch_order(16, 2, (config.seed, 0, 1), rank=1, world=2).batches[3][0]
    file = Path(dataset.ids[last])
    content = file.read_bytes()
    file.write_bytes(content[:60] + bytes(len(content) - 120) + content[-60:])  # seems whole until it is decoded
    with pytest.raises(TrilabelError, match="broken image"):
        train(dataset, config, tmp_path / "run")
    epoch, step = step_saved(tmp_path / "run")
    assert epoch == 1 and 0 < step < 4
    gradients = checkpoint.part("gradients", tensors_of(tmp_path / "run"))
    assert gradients and all(len(value) == 2 and not torch.equal(*value) for value in gradients.values())
    file.write_bytes(content)
    resumed = train(dataset, config, tmp_path / "run", resume=True)
    assert same(tensors_of(resumed.folder), tensors_of(whole.folder))
    assert without_times(resumed.history) == without_times(whole.history)


# ---- on a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("accumulate", [1, 64])
def test_on_a_gpu_a_signal_stops_after_the_step(
    small_scenes: Dataset, accumulating: Config, tmp_path: Path, accumulate: int
) -> None:
    config = replace(accumulating, device="cuda", accumulate=accumulate)
    with in_step(30, send(signal.SIGTERM)), pytest.raises(SystemExit):
        train(small_scenes, config, tmp_path / "run")
    assert step_saved(tmp_path / "run") == (1, 30)
    assert bool(checkpoint.part("gradients", tensors_of(tmp_path / "run"))) == (accumulate == 64)
    assert len(train(small_scenes, config, tmp_path / "run", resume=True).history) == 2


@pytest.mark.gpu
def test_on_a_gpu_the_clock_is_looked_at_after_every_step(
    small_scenes: Dataset, accumulating: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save, steps = State.save, []

    def watched(self: State, *arguments: Any) -> None:
        steps.append(self.progress.step)
        save(self, *arguments)

    monkeypatch.setattr(State, "save", watched)
    train(small_scenes, replace(accumulating, device="cuda", save_minutes=0.0, epochs=1), tmp_path / "run")
    assert steps == [*range(1, 97), 0]
