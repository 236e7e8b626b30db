"""A run stops at numbers that are not finite; such a model is never kept, whatever becomes of broken images."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.support.runs import tensors_of
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.models import Classifier
from trilabel.training import loop
from trilabel.training.api import train
from trilabel.training.optim import ModelEma


def test_weights_that_are_not_finite_are_never_saved(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    """One batch an epoch: its loss is finite, the weights after it are not."""
    wild = replace(quick, optimizer="sgd", lr=1e38, batch_size=96, val="none", epochs=1)
    with pytest.raises(TrilabelError, match=r"the weights .* not finite after step 1 of epoch 1"):
        train(small_scenes, wild, tmp_path / "run")
    with pytest.raises(TrilabelError, match=r"the weights .* not finite after step 1 of epoch 1"):
        train(small_scenes, replace(wild, save_minutes=0.0), tmp_path / "saved at once")
    assert not list(tmp_path.rglob("*.safetensors"))


@pytest.fixture
def spoiled_after(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls a function with the job after the last step of an epoch."""
    train_epoch = loop.train_epoch

    def spoil(epoch: int, how: Any) -> None:
        def trained(job: Any, run: Any) -> None:
            train_epoch(job, run)
            if job.state.progress.epoch == epoch:
                with torch.no_grad():
                    how(job)

        monkeypatch.setattr(loop, "train_epoch", trained)

    return spoil


def statistics_of(job: Any) -> nn.BatchNorm2d:
    found: nn.BatchNorm2d = next(each for each in job.model.modules() if isinstance(each, nn.BatchNorm2d))
    return found


def overflow(job: Any) -> None:
    """The scores stay finite: everything is divided by infinity."""
    assert statistics_of(job).running_var is not None
    statistics_of(job).running_var.fill_(torch.inf)  # type: ignore[union-attr]


def lose_average(job: Any) -> None:
    ema: ModelEma = job.state.ema
    next(iter(ema.state.values())).fill_(torch.nan)


@pytest.mark.parametrize("broken", ["stop", "skip"])
@pytest.mark.parametrize(("how", "ema"), [(overflow, 0.0), (lose_average, 0.9)])
def test_statistics_and_averages_are_checked_with_the_weights(
    small_scenes: Dataset, quick: Config, tmp_path: Path, spoiled_after: Any, how: Any, ema: float, broken: Any
) -> None:
    spoiled_after(2, how)
    with pytest.raises(TrilabelError, match=r"not finite after step 6 of epoch 2: lower --lr .*last.safetensors is"):
        train(small_scenes, replace(quick, epochs=3, ema=ema, broken=broken), tmp_path / "run")
    for name in ("last", "best"):
        assert all(value.isfinite().all() for value in tensors_of(tmp_path / "run", name).values())


def give_in_validation(monkeypatch: pytest.MonkeyPatch, value: float) -> None:
    """From the second epoch on, the first image of each of the two batches of validation gets this logit."""
    forward, scored = Classifier.forward, 0

    def changed(self: Classifier, images: torch.Tensor, maps: bool = False) -> Any:
        nonlocal scored
        output = forward(self, images, maps)
        scored += not self.training
        if scored > 2:
            output.logits[0, 1] = value
        return output

    monkeypatch.setattr(Classifier, "forward", changed)


@pytest.mark.parametrize("broken", ["stop", "skip"])
def test_nan_for_an_image_that_was_read_stops_the_run(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Any
) -> None:
    give_in_validation(monkeypatch, torch.nan)
    says = "NaN for 2 of 48 validation images after step 6 of epoch 2: lower --lr or set --clip-gradient; .*last"
    with pytest.raises(TrilabelError, match=says):
        train(small_scenes, replace(quick, broken=broken), tmp_path / "run")


def test_infinite_scores_are_scores(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_in_validation(monkeypatch, torch.inf)
    run = train(small_scenes, quick, tmp_path / "run")
    assert [record.val["images"] for record in run.history] == [48, 48]
