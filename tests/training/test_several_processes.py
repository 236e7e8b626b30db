"""Runs in two processes: stopped and resumed they are the same, and each image is used once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import two_processes
from tests.support.runs import same, tensors_of, without_times
from tests.support.two_processes import Run, Training
from trilabel import train
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.labels import Labels
from trilabel.methods import METHODS
from trilabel.training.run_folder import RunFolder
from trilabel.training.strategies import STRATEGIES

IMAGES = 21  # with 2 × 4 in a step: 3 steps, and in the last one 3 images and 2


@pytest.fixture(scope="module")
def in_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with two_processes.start(tmp_path_factory.mktemp("gloo")) as run:
        yield run


@pytest.fixture(scope="module")
def holes(small_scenes: Dataset) -> Dataset:
    """Few images, half of their labels hidden; the truth is known."""
    assert small_scenes.images is not None
    rows = np.concatenate((small_scenes.rows_of("train")[:IMAGES], small_scenes.rows_of("val")[:5]))
    truth = small_scenes.labels[rows]
    hidden = np.random.default_rng(0).random(truth.shape) < 0.5
    hidden[IMAGES:] = False
    labels = Labels.from_signed(np.where(hidden, 0, truth.to_signed()), classes=truth.classes, ids=truth.ids)
    splits = {"train": np.arange(IMAGES), "val": np.arange(IMAGES, len(rows))}
    return Dataset(truth.ids, None, labels, splits, images=small_scenes.images[rows], truth=truth)


@pytest.fixture
def config() -> Config:
    return Config("known-only", image_size=32, epochs=2, batch_size=4, lr=3e-3, workers=0, device="cpu", devices=2)


def method(name: str, head: str = "gap", **settings: Any) -> dict[str, Any]:
    return {"method": name, "head": head, "settings": settings}


def relabel(strategy: str, **settings: Any) -> dict[str, Any]:
    return {"relabel": strategy, "relabel_settings": {"epochs": "1,2", **settings}}


# What is changed in the configuration, and in which step it is stopped (three make an epoch).
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "known-only": (method("known-only"), 2),
    "assume-negative": (method("assume-negative"), 4),
    "expected-positive": (method("expected-positive"), 5),
    "role": (method("role"), 5),
    "role factorized": (method("role", estimator="factorized", rank=3) | {"stages": "linear-then-fine-tune", "linear_epochs": 1}, 5),
    "role network": (method("role", estimator="network", hidden=4), 4),
    "large-loss": (method("large-loss", delta=5), 5),
    "large-loss for good": (method("large-loss", mode="correct-for-good", delta=5), 5),
    "focal": (method("focal"), 1),
    "asymmetric": (method("asymmetric"), 2),
    "hill": (method("hill"), 3),
    "splc": (method("splc"), 5),
    "selective": (method("selective", prior_epochs=2) | {"epochs": 1}, 5),  # in the warm-up's last epoch
    "selective, after its warm-up": (method("selective", prior_epochs=1) | {"epochs": 1}, 3),
    "self-training": (method("self-training", "saliency"), 4),
    "ranking": (method("ranking"), 4),
    "imcl": (method("imcl", memory=6), 2),  # before its ratios and images are combined
    "imcl without memory": (method("imcl") | {"ema": 0.9}, 5),
    "latent-noise": (method("latent-noise", "latent-noise"), 4),
    "label-rnn": (method("label-rnn", "label-rnn"), 4),
    **{f"relabel {name}": (relabel(name), 5) for name in STRATEGIES if name != "ensemble"},
    "relabel proportion, linear": (relabel("proportion") | {"stages": "linear"}, 4),
    "accumulated": ({"accumulate": 2}, 2),
}


def test_every_method_and_strategy_is_among_the_cases() -> None:
    assert {changes["method"] for changes, _ in CASES.values() if "method" in changes} == METHODS.keys()
    strategies = {changes["relabel"] for changes, _ in CASES.values() if "relabel" in changes}
    assert strategies == STRATEGIES.keys() - {"ensemble"}  # which needs other runs, see below


@pytest.mark.parametrize("name", CASES)
def test_stopped_and_resumed_it_is_the_run_that_was_not_stopped(
    name: str, in_two: Run, holes: Dataset, config: Config, tmp_path: Path
) -> None:
    changes, stop_at = CASES[name]
    check_resumed(in_two, holes, replace(config, **changes), tmp_path, stop_at)


def test_an_ensemble_resumes_too(in_two: Run, holes: Dataset, config: Config, tmp_path: Path) -> None:
    member = train(holes, replace(config, devices=1, epochs=1), tmp_path / "member")
    check_resumed(in_two, holes, replace(config, **relabel("ensemble", runs=str(member.folder))), tmp_path, 5)


def check_resumed(in_two: Run, dataset: Dataset, config: Config, folder: Path, stop_at: int) -> None:
    whole, parts = folder / "whole", folder / "parts"
    assert in_two(two_processes.train, Training(dataset, config, whole)) == ["done", "done"]
    assert in_two(two_processes.train, Training(dataset, config, parts, stop_at=stop_at)) == ["stopped", "stopped"]
    # Every step saves: being saved must not change a run either.
    saving = replace(config, save_minutes=0.0)
    assert in_two(two_processes.train, Training(dataset, saving, parts, resume=True)) == ["done", "done"]
    for name in ("last", "best"):
        assert same(tensors_of(parts, name), tensors_of(whole, name)), name
    assert without_times(RunFolder(parts).read_history()) == without_times(RunFolder(whole).read_history())
