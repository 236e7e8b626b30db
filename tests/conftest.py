"""Shared by all tests: no hurry, few threads (two workers share two cores), and a small data set made once."""

import logging
import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import HealthCheck, settings

from tests.support import two_processes
from trilabel.config import Config
from trilabel.data.dataset import Dataset

# No test may depend on how fast or busy the machine is: no deadlines, and slow drawing is no failure. "steady" draws
# the same examples at each run, so that a change is judged by what it changes; HYPOTHESIS_PROFILE=fresh draws new ones.
_unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _unhurried, derandomize=True)
settings.register_profile("fresh", _unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """`caplog` sees everything that the library logs."""
    caplog.set_level(logging.INFO, "trilabel")


@pytest.fixture(scope="session", autouse=True)
def few_threads() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def small_scenes() -> Dataset:
    from trilabel.data.scenes import scenes

    return scenes(train=96, val=48, test=48, size=32)


@pytest.fixture(scope="session")
def in_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[two_processes.Run]:
    """Runs work in two processes that are started once for all tests (see `two_processes`)."""
    with two_processes.start(tmp_path_factory.mktemp("gloo")) as run:
        yield run


@pytest.fixture
def quick() -> Config:
    """Seconds of training on `small_scenes`."""
    return Config(method="known-only", image_size=32, epochs=2, batch_size=16, lr=3e-3, workers=0)
