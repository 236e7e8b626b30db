"""One process at a time trains in a run folder; the others are told which."""

import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.runs import same, tensors_of
from tests.support.stopped import paused_script
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.training.api import train
from trilabel.training.run_lock import lock_lost, lock_run

TRAINS = """
import sys
import torch
torch.set_num_threads(1)
from trilabel.config import Config
from trilabel.data.scenes import scenes
from trilabel.training.api import train
config = Config(method="known-only", image_size=32, epochs=1, batch_size=16, lr=3e-3, workers=0)
train(scenes(train=96, val=48, test=48, size=32), config, sys.argv[1])
"""


def test_a_live_run_is_neither_started_nor_overwritten_nor_resumed_again(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, out = replace(quick, epochs=1), tmp_path / "runs" / "first"
    with paused_script(TRAINS, [out], "last.safetensors") as live:
        for how in ({}, {"overwrite": True}, {"resume": True}):
            with pytest.raises(TrilabelError) as refused:
                train(small_scenes, config, out, **how)
            words = f"{out}: another process is training here (process {live.pid} on "
            assert str(refused.value).startswith(words) and "choose another --out" in str(refused.value)
        (tmp_path / "link").symlink_to(out)
        monkeypatch.chdir(out)
        for other_name in (tmp_path / "link", Path(), out / ".." / "first"):
            with pytest.raises(TrilabelError, match="another process is training here"), lock_run(other_name):
                pass
        os.kill(live.pid, signal.SIGCONT)
        done = live.wait()
        assert done.returncode == 0, done.stderr
    whole = train(small_scenes, config, tmp_path / "whole")
    assert same(tensors_of(out), tensors_of(whole.folder)), "nobody wrote into it"
    train(small_scenes, config, out, resume=True)


def test_two_that_start_at_the_same_moment_and_one_killed_before_it_is_a_run(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    """The first stands still before its config.json is there; killed, it leaves nothing that the next must know of."""
    config, out = replace(quick, epochs=1), tmp_path / "first"
    with paused_script(TRAINS, [out], "config.json", before=True) as live:
        with pytest.raises(TrilabelError, match=rf"another process is training here \(process {live.pid} on "):
            train(small_scenes, config, out)
        assert not (out / "config.json").exists()
    assert {file.name for file in out.iterdir()} > {"versions.json", "labels.npz"}
    with pytest.raises(TrilabelError, match=r"no run to resume here .*start a new run, without resume"):
        train(small_scenes, config, out, resume=True)
    train(small_scenes, config, out)
    assert not [file.name for file in out.iterdir() if file.name.startswith(".")], "temporary files of the killed one"


@pytest.mark.slow
def test_several_processes_all_say_why(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    two = replace(quick, devices=2, device="cpu")
    with lock_run(tmp_path / "run"), pytest.raises(TrilabelError, match=r"another process is training here \(process "):
        train(small_scenes, two, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_lock_that_was_removed_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "first"
    assert not lock_lost(folder)
    with lock_run(folder):
        assert not lock_lost(folder)
        shutil.rmtree(folder.parent)
        assert lock_lost(folder)
        folder.mkdir(parents=True)
        (folder.parent / ".first.train.lock").touch()
        assert lock_lost(folder)
    assert not lock_lost(folder)


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_link_that_is_removed_or_leads_elsewhere_is_no_longer_held(tmp_path: Path, elsewhere: bool) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    link = tmp_path / "run"
    link.symlink_to(tmp_path / "one", target_is_directory=True)
    with lock_run(link):
        assert not lock_lost(link)
        link.unlink()
        if elsewhere:
            link.symlink_to(tmp_path / "two", target_is_directory=True)
        assert lock_lost(link)
    assert not lock_lost(link)
