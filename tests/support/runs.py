"""Run folders compared with each other, and runs that are killed at an exact batch."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from trilabel.data.images import ImageBatch, ImageSource
from trilabel.training import checkpoint
from trilabel.training.record import EpochRecord


def tensors_of(folder: Path, name: str = "last") -> dict[str, Tensor]:
    """The tensors of a checkpoint of a run."""
    return checkpoint.load(folder / f"{name}.safetensors")[0]


def same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    """Whether two checkpoints are equal to the bit."""
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def without_times(history: list[EpochRecord]) -> list[EpochRecord]:
    """Records without what differs from run to run."""
    return [replace(record, seconds=0.0, val_seconds=0.0) for record in history]


@contextmanager
def copied_at_batches(run: Path, copies: dict[int, Path]) -> Iterator[None]:
    """Training inside goes on; before the batches of these numbers (from 1) its folder is copied.

    Each copy is what a process leaves that is killed there, for the price of one run.
    """
    original, count = ImageSource.batches, 0

    def batches(self: ImageSource, positions: Any, skip_broken: bool = False) -> Iterator[ImageBatch]:
        nonlocal count
        for batch in original(self, positions, skip_broken):
            count += 1
            if count in copies:
                shutil.copytree(run, copies[count])
            yield batch

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ImageSource, "batches", batches)
        yield
    assert count >= max(copies), "there is no such batch"


def files_in(folder: Path) -> dict[str, bytes]:
    """The files of a run by name."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@contextmanager
def killed_at_batch(number: int) -> Iterator[None]:
    """Training inside is stopped by an exception before the batch of this number (from 1), of whatever pass."""
    original, count = ImageSource.batches, 0

    def batches(self: ImageSource, positions: Any, skip_broken: bool = False) -> Iterator[ImageBatch]:
        nonlocal count
        for batch in original(self, positions, skip_broken):
            count += 1
            if count == number:
                raise RuntimeError("pulled the plug")
            yield batch

    with pytest.MonkeyPatch.context() as patched, pytest.raises(RuntimeError, match="pulled"):
        patched.setattr(ImageSource, "batches", batches)
        yield
