"""Where decoded images are kept, by what fits."""

from types import SimpleNamespace

import psutil
import pytest
import torch

from trilabel.data import memory
from trilabel.data.cache import choose_cache

CPU, GPU = torch.device("cpu"), torch.device("cuda")
NEEDED = 100 * 3 * 50 * 50


@pytest.fixture
def available(monkeypatch, tmp_path):
    """Sets what psutil says, outside any container."""
    monkeypatch.setattr(memory, "_OWN_CGROUPS", tmp_path / "missing")

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


def test_each_of_several_processes_keeps_a_copy(monkeypatch, available):
    available(NEEDED * 6)
    assert [choose_cache("auto", 100, 50, CPU, count) for count in (1, 2, 3)] == ["memory", "memory", "none"]
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (NEEDED * 3, NEEDED * 9))
    assert choose_cache("auto", 100, 50, GPU, 3) == "device"
