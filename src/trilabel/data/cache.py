"""Where decoded images are kept between epochs: nowhere, in memory or on the device, as far as they fit."""

from pathlib import Path
from typing import Literal

import psutil
import torch

Cache = Literal["auto", "none", "memory", "device"]

_SHARE_OF_MEMORY = 0.4  # of the free memory, which "auto" uses for decoded images
_CGROUP = Path("/sys/fs/cgroup")


def choose_cache(cache: Cache, count: int, size: int, device: torch.device) -> Literal["none", "memory", "device"]:
    """Where `count` images of size×size are kept: as requested, or for "auto" in the fastest place where they fit."""
    if cache != "auto":
        return "memory" if cache == "device" and device.type == "cpu" else cache
    needed = count * 3 * size * size
    if device.type == "cuda" and needed < _SHARE_OF_MEMORY * free_memory(device):
        return "device"
    return "memory" if needed < _SHARE_OF_MEMORY * free_memory(torch.device("cpu")) else "none"


def free_memory(device: torch.device) -> int:
    """Bytes that are free on the device; on the CPU no more than the container may use."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    available = psutil.virtual_memory().available
    return min(available, left) if (left := _left_to_container()) is not None else available


def _left_to_container() -> int | None:
    """Bytes up to the limit of this container (Linux, cgroup v2); None if there is no limit."""
    try:
        limit, used = ((_CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        stat = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        # Files that were read and are kept in memory count as used, but make room when it is needed.
        return max(0, int(limit) - int(used) + int(stat.get("inactive_file", 0)))
    except (OSError, ValueError):  # ValueError: the limit is "max"
        return None
