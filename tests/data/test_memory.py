"""Free memory: of the machine, of the containers around this process, and of one of several processes."""

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from trilabel.data import memory
from trilabel.data.memory import free_memory, left_in_cgroups

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def v2(folder: Path, limit: object, used: int, inactive: int = 0, active: int = 0) -> None:
    """A cgroup of version 2."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 7\ninactive_file {inactive}\nactive_file {active}\n")


def v1(folder: Path, limit: int, used: int, inactive: int = 0, active: int = 0) -> None:
    """A cgroup of version 1."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{used}\n")
    lines = {"cache": 3, "inactive_file": 1, "total_inactive_file": inactive, "total_active_file": active}
    (folder / "memory.stat").write_text("".join(f"{name} {value}\n" for name, value in lines.items()))


def left(tmp_path: Path, own: str) -> list[int]:
    (tmp_path / "own").write_text(own)
    return left_in_cgroups(tmp_path / "cgroup", tmp_path / "own")


def test_a_limit_may_be_that_of_any_cgroup_around(tmp_path):
    root = tmp_path / "cgroup"
    v2(root / "user.slice/job/step", "max", 10)
    v2(root / "user.slice/job", 1000, 400, inactive=100)
    v2(root / "user.slice", 5000, 4800)
    v2(root / "other.slice", 1, 1)
    assert left(tmp_path, "0::/user.slice/job/step\n") == [700, 200]  # the root of a machine has no limit
    v2(root / "user.slice/job/step", 300, 10)
    assert left(tmp_path, "0::/user.slice/job/step\n") == [290, 700, 200]
    v2(root / "user.slice/job/step", 300, 400)
    assert min(left(tmp_path, "0::/user.slice/job/step\n")) == 0


def test_in_a_container_only_its_root_is_seen(tmp_path):
    v2(tmp_path / "cgroup", 900, 500)
    for own in ("0::/\n", "0::/docker/abc\n", "0::/../../elsewhere\n"):
        assert left(tmp_path, own) == [400]


def test_version_1_and_both_at_once(tmp_path):
    root = tmp_path / "cgroup"
    v1(root / "memory/job/abc", 2000, 1500, inactive=300, active=100)
    v1(root / "memory", 2**63 - 4096, 9000)
    own = "5:devices:/\n4:memory:/job/abc\n2:cpu,cpuacct:/\n0::/\n"
    assert min(left(tmp_path, own)) == 900
    assert left(tmp_path, own) == [900, 2**63 - 4096 - 9000]


@pytest.mark.parametrize("inactive", [0, 300, 600])
def test_files_in_memory_are_no_obstacle_however_often_they_were_read(tmp_path, inactive):
    v2(tmp_path / "cgroup", 1000, 800, inactive=inactive, active=600 - inactive)
    assert left(tmp_path, "0::/\n") == [800]


def test_where_there_are_no_cgroups(tmp_path):
    assert left_in_cgroups(tmp_path, tmp_path / "missing") == []
    assert left(tmp_path, "0::/a\n") == []


def test_several_processes_share_the_host_and_not_the_gpus(tmp_path, monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (600, 900))
    monkeypatch.setattr(memory, "_OWN_CGROUPS", tmp_path / "own")
    assert [free_memory(CPU, count) for count in (1, 2, 3)] == [1000, 500, 333]
    assert [free_memory(GPU, count) for count in (1, 2)] == [600, 600]
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    v2(tmp_path / "cgroup", 900, 500)
    (tmp_path / "own").write_text("0::/\n")
    assert free_memory(CPU, 2) == 200


def test_free_memory_of_this_machine():
    assert 1 << 20 < free_memory(CPU) <= psutil.virtual_memory().total
