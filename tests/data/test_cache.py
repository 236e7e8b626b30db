"""Where decoded images are kept, by what fits, and how much memory is free."""

from types import SimpleNamespace

import psutil
import pytest
import torch

from trilabel.data import cache
from trilabel.data.cache import choose_cache, free_memory

CPU, GPU = torch.device("cpu"), torch.device("cuda")
NEEDED = 100 * 3 * 50 * 50


@pytest.fixture
def available(monkeypatch, tmp_path):
    """Sets what psutil says, and a container without a limit in `tmp_path`."""
    monkeypatch.setattr(cache, "_CGROUP", tmp_path)

    def say(count):
        monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=count))

    return say


def test_the_cache_is_chosen_by_what_fits(monkeypatch, available):
    available(NEEDED * 3)
    assert choose_cache("auto", 100, 50, CPU) == "memory"
    available(NEEDED * 2)
    assert choose_cache("auto", 100, 50, CPU) == "none"
    assert [choose_cache(kind, 100, 50, CPU) for kind in ("none", "memory", "device")] == ["none", "memory", "memory"]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (NEEDED * 3, NEEDED * 9))
    assert choose_cache("auto", 100, 50, GPU) == "device" and choose_cache("device", 100, 50, GPU) == "device"
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (NEEDED, NEEDED * 9))
    assert choose_cache("auto", 100, 50, GPU) == "none"


def test_free_memory_is_what_the_container_may_still_use(available, tmp_path):
    available(1000)
    assert free_memory(CPU) == 1000
    for limit, used, files, free in (("max", 500, 100, 1000), ("900", 500, 100, 500), ("400", 500, 0, 0)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text(f"{used}\n")
        (tmp_path / "memory.stat").write_text(f"anon 7\ninactive_file {files}\n")
        assert free_memory(CPU) == free


def test_free_memory_of_this_machine():
    assert 1 << 20 < free_memory(CPU) <= psutil.virtual_memory().total
