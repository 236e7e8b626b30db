"""Shared by all tests: few threads (two workers share two cores) and a small data set drawn once."""

import logging
import os

import pytest
import torch
from hypothesis import settings

from trilabel.config import Config
from trilabel.data.dataset import Dataset

# The same examples at each run, so that a change is judged by what it changes; HYPOTHESIS_PROFILE=default draws new.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """`caplog` sees what the library tells, warnings and the rest."""
    caplog.set_level(logging.INFO, "trilabel")


@pytest.fixture(scope="session", autouse=True)
def few_threads() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def small_scenes() -> Dataset:
    from trilabel.data.scenes import scenes

    return scenes(train=96, val=48, test=48, size=32)


@pytest.fixture
def quick() -> Config:
    """Seconds of training on `small_scenes`."""
    return Config(method="known-only", image_size=32, epochs=2, batch_size=16, lr=3e-3, workers=0)
