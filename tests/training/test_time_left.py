"""What a run says of the time that it still takes."""

from types import SimpleNamespace
from typing import Any

import pytest

from trilabel.training.stages import Stage
from trilabel.training.time_left import time_left


def job(seconds: float, step: int, epoch: int = 1, val_seconds: float | None = None, stages: int = 1) -> Any:
    best = None if val_seconds is None else SimpleNamespace(val_seconds=val_seconds)
    progress = SimpleNamespace(seconds=seconds, step=step, epoch=epoch, stage=0, best=best)
    return SimpleNamespace(state=SimpleNamespace(progress=progress), stages=[None] * stages, told_long=False)


def run(epochs: int, linear: bool = False) -> Any:
    return SimpleNamespace(stage=Stage("s", epochs, 1.0, linear))


def test_it_counts_the_steps_of_all_epochs_and_validation() -> None:
    assert time_left(job(10, 10), run(4), 100) == "6 minutes left"  # 390 steps of a second
    assert time_left(job(10, 10, epoch=4), run(4), 100) == "2 minutes left"
    assert time_left(job(10, 10, epoch=4, val_seconds=300), run(4), 100) == "6 minutes left"
    assert time_left(job(10, 10, stages=2), run(4), 100) == "6 minutes and further stages left"


def test_it_is_silent_at_first_and_near_the_end() -> None:
    assert time_left(job(1, 1), run(4), 100) == ""
    assert time_left(job(90, 90, epoch=4), run(4), 100) == ""


def test_hours_are_told_once_with_a_faster_way(caplog: pytest.LogCaptureFixture) -> None:
    slow = job(100, 10)
    assert time_left(slow, run(10), 1000) == "27.8 hours left"
    assert time_left(slow, run(10), 1000) == "27.8 hours left"
    assert caplog.text.count("about 27.8 hours left; faster: a head on features computed once (--stages linear)") == 1
