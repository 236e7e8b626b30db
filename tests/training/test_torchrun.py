"""torchrun on two machines, both of which are this one: `--nnodes 2` over loopback, gloo.

A torchrun, and the process that it starts, each take many seconds to import torch: where it is not needed, forks that
are given what it sets stand for both.
"""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import SECONDS_UNTIL_HUNG, two_processes
from tests.support.runs import same, tensors_of, without_times
from tests.support.stopped import COMMAND_LINE, Forked
from trilabel.cli.data_options import read_training_data
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.training.launch import Place, check_all_see, is_first_process, with_devices
from trilabel.training.run_folder import RunFolder

OPTIONS = "--image-size 32 --epochs 2 --workers 0 --batch-size 4 --device cpu --method known-only --val 0.2"
RUN = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def table(small_scenes: Dataset, tmp_path: Path) -> Path:
    assert small_scenes.images is not None
    lines = [",".join(("image", *small_scenes.classes))]
    for number, values in enumerate(small_scenes.labels[np.arange(24)].to_signed()):
        Image.fromarray(small_scenes.images[number].permute(1, 2, 0).numpy()).save(tmp_path / f"{number}.png")
        lines.append(",".join((f"{number}.png", *map(str, values))))
    (tmp_path / "labels.csv").write_text("\n".join(lines))
    return tmp_path / "labels.csv"


def on_two_machines(command: str, *folders: Path) -> list[tuple[int, str, list[str]]]:
    """Of each machine the exit code, what it prints, and the lines in which trilabel complains."""
    meeting = ["--master-addr", "127.0.0.1", "--master-port", free_port()]
    started = [
        subprocess.Popen(
            [*RUN, *meeting, "--node-rank", str(number), "-m", *command.split()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment(),
        )
        for number, folder in enumerate(folders)
    ]
    try:
        said = [process.communicate(timeout=SECONDS_UNTIL_HUNG) for process in started]
    finally:
        for process in started:
            process.kill()
    return [
        (process.returncode, out, [line for line in err.splitlines() if line.startswith("trilabel: ")])
        for process, (out, err) in zip(started, said, strict=True)
    ]


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def environment() -> dict[str, str]:
    paths = (str(REPOSITORY), str(REPOSITORY / "src"), os.environ.get("PYTHONPATH", ""))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def by_the_pool(run: Path, in_two: two_processes.Run, folder: Path, resume: bool) -> None:
    about = RunFolder(run).read()
    split = read_training_data(about.source, about.config)
    two_processes.trained(in_two, split, replace(about.config, devices=2), folder, resume)


def check_same(one: Path, two: Path) -> None:
    for name in ("last", "best"):
        assert same(tensors_of(one, name), tensors_of(two, name))
    assert without_times(RunFolder(one).read_history()) == without_times(RunFolder(two).read_history())


def test_two_machines_train_as_two_processes_of_one(table: Path, in_two: two_processes.Run, tmp_path: Path) -> None:
    line, started = ["train", table, "--out", tmp_path / "run", *OPTIONS.split()], []
    place = {"WORLD_SIZE": "2", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "none"}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    for number in ("0", "1"):
        (tmp_path / number).mkdir()
        of_this = {"RANK": number, "GROUP_RANK": number}
        started.append(Forked(COMMAND_LINE, line, tmp_path / number, environment=place | meeting | of_this))
    first, second = (process.wait() for process in started)
    assert first.returncode == second.returncode == 0, (first, second)
    assert "best epoch" in first.stdout and second.stdout == "", "one reports"
    by_the_pool(tmp_path / "run", in_two, tmp_path / "pool", resume=False)
    check_same(tmp_path / "run", tmp_path / "pool")


@pytest.mark.slow
def test_torchrun_itself_trains_as_two_processes_of_one(table: Path, in_two: two_processes.Run, tmp_path: Path) -> None:
    first, second = on_two_machines(f"trilabel train {table} --out {tmp_path}/run {OPTIONS}", tmp_path, tmp_path)
    assert first[0] == second[0] == 0, (first, second)
    assert "best epoch" in first[1] and second[1] == "", "one reports"
    by_the_pool(tmp_path / "run", in_two, tmp_path / "pool", resume=False)
    check_same(tmp_path / "run", tmp_path / "pool")


@pytest.mark.slow
def test_a_killed_process_ends_those_of_the_other_machine(
    table: Path, in_two: two_processes.Run, tmp_path: Path
) -> None:
    command = f"tests.support.dying 1,5,killed train {table} --out {tmp_path}/run {OPTIONS} --save-minutes 0"
    first, second = on_two_machines(command, tmp_path, tmp_path)
    assert first[0] == second[0] == 1 and not second[2]
    assert first[2] == [
        "trilabel: process 2 of 2 (rank 1) was lost, perhaps for lack of memory (then lower --batch-size or "
        f"--workers); resume with: trilabel train --resume {tmp_path}/run"
    ]
    by_the_pool(tmp_path / "run", in_two, tmp_path / "whole", resume=False)
    by_the_pool(tmp_path / "run", in_two, tmp_path / "run", resume=True)
    check_same(tmp_path / "run", tmp_path / "whole")


@pytest.mark.slow
def test_a_machine_that_does_not_see_the_run_folder_says_so(table: Path, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    first, second = on_two_machines(f"trilabel train {table} --out runs/x {OPTIONS}", *folders)
    assert first[0] == second[0] == 1
    assert [line.split(": ", 2)[1] for line in second[2]] == [f"{folders[1]}/runs"]
    assert "does not see this folder" in second[2][0]
    assert first[2] == ["trilabel: rank 1 of 2 processes failed, see there; start it again"]


def test_torchrun_says_how_many_processes_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"TORCHELASTIC_RUN_ID": "x", "LOCAL_RANK": "1", "RANK": "5", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
    assert with_devices(Config(devices=3, device="cpu"), resume=False).devices == 3 and is_first_process()
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert not is_first_process()
    assert with_devices(Config(device="cpu"), resume=False).devices == 4
    assert with_devices(Config(devices=2, device="cpu"), resume=True).devices == 4
    with pytest.raises(TrilabelError, match="leave --devices out, or pass --devices 4"):
        with_devices(Config(devices=2, device="cpu"), resume=False)
    monkeypatch.setenv("WORLD_SIZE", "6")
    with pytest.raises(TrilabelError, match="not equally many"):
        with_devices(Config(device="cpu"), resume=False)


def test_a_part_of_what_torchrun_sets_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    assert Place.from_environment() == Place()


def test_the_sign_of_the_first_machine_is_removed_though_another_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)

    def barrier() -> None:
        assert len(list(tmp_path.iterdir())) == 1
        raise RuntimeError("Connection closed by peer")

    fabric: Any = SimpleNamespace(is_global_zero=True, broadcast=lambda name: name, barrier=barrier)
    with pytest.raises(RuntimeError, match="closed"):
        check_all_see(tmp_path, fabric)
    assert not list(tmp_path.iterdir())
