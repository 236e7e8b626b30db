"""Shared by all tests: no hurry, few threads (two workers share two cores), no GPU, and a small data set made once."""

import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from reliability.processes import fork_context

from tests.support import two_processes
from tests.support.browser import browser
from trilabel.config import Config
from trilabel.data.dataset import Dataset

# No test may depend on how fast or busy the machine is: no deadlines, and slow drawing is no failure. "steady" draws
# the same examples at each run, so that a change is judged by what it changes; HYPOTHESIS_PROFILE=fresh draws new ones.
_unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _unhurried, derandomize=True)
settings.register_profile("fresh", _unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


# Asked before GPUs are hidden, and before test modules are imported: torch looks for them once.
GPU = torch.cuda.is_available()


# Under nohup, or in the background of a script, these are ignored, and the processes of tests inherit that.
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A running Chromium for all tests of pages, which are skipped where there is none."""
    with browser() as running:
        yield running


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu: needs a GPU, and is the only kind of test that sees one")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu") and not GPU:
        pytest.skip("needs a GPU")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Most tests compare bits, which are the same from run to run on a CPU only: `device="auto"` must not be a GPU.

    A hook and not a fixture: what tests share is made before the fixtures of the first of them.
    """
    with pytest.MonkeyPatch.context() as patched:
        if not item.get_closest_marker("gpu"):
            patched.setenv("CUDA_VISIBLE_DEVICES", "")  # of the processes that tests start
            patched.setattr(torch.cuda, "is_available", lambda: False)
            patched.setattr(torch.cuda.memory, "is_initialized", lambda: False)  # though another test may have done it
        return (yield)


@pytest.fixture(autouse=True)
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """`caplog` sees everything that the library logs."""
    caplog.set_level(logging.INFO, "trilabel")


@pytest.fixture(scope="session", autouse=True)
def few_threads() -> None:
    torch.set_num_threads(1)  # bits depend on it too


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """No test pulls the plug of the machine; that files are synced is tested where `os.fsync` is replaced."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nobody's own default weights, nor those that a test remembers, change what others train."""
    os.environ["TRILABEL_HOME"] = str(tmp_path_factory.mktemp("home"))  # of the processes that tests start, too


@pytest.fixture(scope="session")
def small_scenes() -> Dataset:
    from trilabel.data.scenes import scenes

    return scenes(train=96, val=48, test=48, size=32)


@pytest.fixture(scope="session")
def in_two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[two_processes.Run]:
    """Runs work in two processes that are started once for all tests (see `two_processes`)."""
    with two_processes.start(tmp_path_factory.mktemp("gloo"), fork_context()) as run:
        yield run


@pytest.fixture
def quick() -> Config:
    """Seconds of training on `small_scenes`."""
    return Config(method="known-only", image_size=32, epochs=2, batch_size=16, lr=3e-3, workers=0)
