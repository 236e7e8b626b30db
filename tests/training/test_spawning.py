"""A process that is lost or fails ends the run with one line, leaves no other process, and the run resumes."""

import multiprocessing
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch
from PIL import Image
from reliability.processes import fork_context

from tests.support import SECONDS_UNTIL_HUNG, two_processes
from tests.support.dying import Dying
from tests.support.runs import same, tensors_of, without_times
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.training import losing, spawning
from trilabel.training.api import ProcessWork
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import split_for_training


@pytest.fixture
def config(quick: Config) -> Config:
    return replace(quick, devices=2, batch_size=8, device="cpu", save_minutes=0.0)


def fail(how: str, dataset: Dataset, config: Config, folder: Path) -> BaseException:
    """What a run raises in which the second process ends in the third step.

    Its processes are forks instead of new ones, which take many seconds to import torch (`test_loop.py` starts those).
    """
    work = ProcessWork(split_for_training(dataset, config), config, RunFolder(folder), False, False, {})
    with pytest.MonkeyPatch.context() as patched, pytest.raises(BaseException) as caught:
        patched.setattr(torch.multiprocessing, "get_context", lambda method: fork_context())
        spawning.spawn(Dying(1, 3, how), work, config, folder)
    assert not [child for child in multiprocessing.active_children() if not child.daemon]  # the pool is of daemons
    return caught.value


def test_a_killed_process_ends_the_run_and_it_resumes_to_the_bit(
    small_scenes: Dataset, config: Config, in_two: two_processes.Run, tmp_path: Path
) -> None:
    error = fail("killed", small_scenes, config, tmp_path / "run")
    assert isinstance(error, TrilabelError)
    assert re.fullmatch(
        r"process 2 of 2 \(rank 1\) was killed, perhaps for lack of memory \(then lower --batch-size or --workers\); "
        rf"resume with: trilabel train --resume {tmp_path}/run",
        str(error),
    )
    resumed = two_processes.trained(in_two, small_scenes, config, tmp_path / "run", resume=True)
    whole = two_processes.trained(in_two, small_scenes, config, tmp_path / "whole")
    for name in ("last", "best"):
        assert same(tensors_of(resumed.folder, name), tensors_of(whole.folder, name))
    assert without_times(resumed.history) == without_times(whole.history)


def test_the_error_of_one_process_is_that_of_the_run(small_scenes: Dataset, config: Config, tmp_path: Path) -> None:
    """And not that of the other, which only notices that nobody answers."""
    error = fail("no space", small_scenes, config, tmp_path / "run")
    assert isinstance(error, OSError) and error.filename == "/somewhere"
    assert "dying.py" in error.__notes__[0], "--debug shows where"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "kind", "line"),
    [
        ("refused", TrilabelError, "this image is refused"),
        ("crashed", TrilabelError, r"process 2 of 2 \(rank 1\) crashed \(SIGSEGV\); resume with"),
        ("stopped", (SystemExit, KeyboardInterrupt), ""),
        ("worker killed", TrilabelError, "a process that decodes images was killed, perhaps for lack of memory"),
    ],
)
def test_each_way_to_end_has_its_line(
    how: str, kind: type, line: str, small_scenes: Dataset, config: Config, tmp_path: Path
) -> None:
    assert small_scenes.images is not None
    paths = [str(tmp_path / f"{number}.png") for number in range(len(small_scenes.ids))]
    for path, image in zip(paths, small_scenes.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
    files = Dataset(small_scenes.ids, paths, small_scenes.labels, small_scenes.splits)
    error = fail(how, files, replace(config, cache="none", workers=1), tmp_path / "run")
    assert isinstance(error, kind) and re.search(line, str(error))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_is_left_when_the_command_is_ended(number: signal.Signals, tmp_path: Path) -> None:
    options = "--devices 2 --device cpu --image-size 32 --epochs 1000 --batch-size 16 --workers 0 --save-minutes 0"
    command = [sys.executable, "-m", "trilabel", "train", "scenes", "--out", str(tmp_path / "run"), *options.split()]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as started:
        while not (tmp_path / "run" / "last.safetensors").exists():
            assert started.poll() is None
            time.sleep(0.1)
        family = psutil.Process(started.pid).children(recursive=True)
        started.send_signal(number)
        _, left = psutil.wait_procs(family, timeout=SECONDS_UNTIL_HUNG)
        assert not left
        assert "Traceback" not in started.communicate()[1]
    assert started.returncode == (-number if number == signal.SIGKILL else 128 + number)


def test_a_run_that_never_began_is_started_again(tmp_path: Path) -> None:
    assert str(losing.lost_error({0: 3, 2: -9}, 3, losing.how_to_resume(tmp_path))) == (
        "process 1 of 3 (rank 0) and process 3 of 3 (rank 2) crashed (exit code 3); start it again"
    )


def test_a_process_that_is_lost_before_anybody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other waits for it in vain, so that no event would wake the one that watches."""
    monkeypatch.setattr(spawning, "_SECONDS_TO_END", 0.01)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    lost, waiting = SimpleNamespace(exitcode=-9, sentinel=None), SimpleNamespace(exitcode=None, sentinel=receiver)
    assert spawning._wait_for([waiting, lost]) == [None, -9]
    sender.close()
