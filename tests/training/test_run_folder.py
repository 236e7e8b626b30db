"""Run folders: what may be started, overwritten and resumed, and what happens when one is removed or full."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.disks import small_disk
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS
from trilabel.training import checkpoint
from trilabel.training.api import train
from trilabel.training.run_folder import RunFolder

# ---- what may be started


def test_what_is_no_run_is_never_overwritten(tmp_path: Path) -> None:
    """Many programs write a config.json, and labels.npz may be somebody's data."""
    for name, text in (("config.json", json.dumps({"architectures": ["Bert"]})), ("labels.npz", ""), ("a.txt", "")):
        folder = RunFolder(tmp_path / name.partition(".")[0])
        folder.path.mkdir()
        (folder.path / name).write_text(text)
        for overwrite in (True, False):
            with pytest.raises(TrilabelError, match="this folder exists and is not a trilabel run; choose another"):
                folder.check(resume=False, overwrite=overwrite)
    (tmp_path / "file").touch()
    with pytest.raises(TrilabelError, match="this is a file"):
        RunFolder(tmp_path / "file").check(resume=False, overwrite=True)


def test_a_run_that_exists_is_told_in_the_words_of_python(tmp_path: Path) -> None:
    (tmp_path / "versions.json").touch()
    (tmp_path / "best.safetensors").touch()
    with pytest.raises(TrilabelError, match="choose another, or pass overwrite=True, or resume=True to go on with"):
        RunFolder(tmp_path).check(resume=False, overwrite=False)


@pytest.mark.parametrize("left", [[], [".config.1.tmp.json"], ["versions.json"], ["versions.json", "labels.npz"]])
def test_what_is_left_of_a_start_is_no_run(tmp_path: Path, left: list[str]) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    for name in left:
        (folder.path / name).touch()
    folder.check(resume=False, overwrite=False)
    folder.make_empty()
    assert not list(folder.path.iterdir())


def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    mine = [".last.77.tmp.safetensors", ".config.77-0123abcd.tmp.json", ".tmpAb12Cd"]
    folder.path.mkdir()
    for name in (*mine, ".notes", "metrics.jsonl"):
        (folder.path / name).touch()
    for name in (".run.77.old", ".run.2.77.old", ".runs.77.old", "run.77.old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "last.safetensors").touch()
    folder.remove_leftovers()
    assert {file.name for file in folder.path.iterdir()} == {".notes", "metrics.jsonl"}
    assert {file.name for file in tmp_path.iterdir()} == {"run", ".run.2.77.old", ".runs.77.old", "run.77.old"}


def test_a_run_behind_a_link_is_overwritten_in_its_place(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    config = replace(quick, epochs=1)
    train(small_scenes, config, tmp_path / "disk" / "run")
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "run")
    train(small_scenes, config, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink() and (tmp_path / "disk" / "run" / "best.safetensors").is_file()


# ---- removed while it trains


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def without_description(folder: Path) -> None:
    (folder / "config.json").unlink()


def replaced_by_another_run(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "aside")
    shutil.rmtree(folder)
    (folder.parent / ".run.train.lock").unlink()
    (folder.parent / "aside").rename(folder)


@pytest.mark.parametrize("remove", [removed, without_description, replaced_by_another_run])
@pytest.mark.parametrize("save_minutes", [10.0, 0.0])
def test_a_run_whose_folder_is_removed_stops_at_its_next_save(
    small_scenes: Dataset,
    quick: Config,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    remove: Callable[[Path], None],
    save_minutes: float,
) -> None:
    folder, left = tmp_path / "run", dict[str, int]()

    def start_epoch(method: object, epoch: int) -> None:
        if epoch == 2:
            remove(folder)
            left.update({file.name: file.stat().st_mtime_ns for file in folder.glob("*")})
        assert epoch < 3

    monkeypatch.setattr(METHODS["known-only"], "start_epoch", start_epoch)
    with pytest.raises(TrilabelError, match=r"run: this folder.* was removed while the run was training, so nothing"):
        train(small_scenes, replace(quick, epochs=9, save_minutes=save_minutes, device="cpu"), folder)
    now = {file.name: file.stat().st_mtime_ns for file in folder.glob("*")}
    assert now == left and folder.exists() == (remove is not removed)


# ---- disks


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/maps is Linux's")
def test_a_loaded_checkpoint_is_not_kept_on_disk(tmp_path: Path) -> None:
    import torch

    file = tmp_path / "last.safetensors"
    checkpoint.save(file, {"a": torch.ones(100_000), "b": torch.zeros(3)}, {})
    tensors, _ = checkpoint.load(file)
    assert str(file) not in Path("/proc/self/maps").read_text()
    file.write_bytes(b"")
    assert tensors["a"].sum() == 100_000


def test_a_full_disk_is_told_and_the_run_resumes(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    import torch

    with small_disk(tmp_path / "disk", kilobytes=20_000) as disk:
        folder, config = disk.path / "run", replace(quick, epochs=2, device="cpu")
        (disk.path / "photos").write_bytes(bytes(20_000_000 - 100_000))
        words = r"run/best\.safetensors: no space left on its disk; free some, then resume the run: .* --resume .*run$"
        with pytest.raises(TrilabelError, match=words):
            train(small_scenes, config, folder)
        writer = checkpoint.Writer()  # as on a GPU
        writer.save(folder / "last.safetensors", {"a": torch.zeros(1_000_000)}, {})
        with pytest.raises(TrilabelError, match=r"last\.safetensors: no space left on its disk"):
            writer.wait()
        assert not [file.name for file in folder.iterdir() if file.name.startswith(".")]
        disk.make_read_only()
        with pytest.raises(TrilabelError, match=r"run: its disk is read-only; choose another place or make it writ"):
            train(small_scenes, config, folder, resume=True)
        with pytest.raises(TrilabelError, match="its disk is read-only"):
            train(small_scenes, config, disk.path / "new")
        disk.make_writable()
        (disk.path / "photos").unlink()
        assert len(train(small_scenes, config, folder, resume=True).history) == 2


def test_a_folder_that_may_be_written_in_one_that_may_not(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    """As with a folder mounted into a container: the lock is in it."""
    with small_disk(tmp_path / "disk", kilobytes=400) as outer:
        (outer.path / "run").mkdir()
        with small_disk(outer.path / "run", kilobytes=20_000) as inner:
            outer.make_read_only()
            train(small_scenes, replace(quick, epochs=1), inner.path)
            assert (inner.path / ".train.lock").is_file() and os.listdir(outer.path) == ["run"]  # noqa: PTH208
            with pytest.raises(TrilabelError, match=r"run: "):
                train(small_scenes, replace(quick, epochs=1), inner.path, overwrite=True)
            assert (inner.path / "best.safetensors").is_file()
