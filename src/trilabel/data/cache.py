"""Where decoded images are kept between epochs: nowhere, in memory or on the device, as far as they fit."""

from typing import Literal

import torch

from trilabel.data.memory import free_memory

Cache = Literal["auto", "none", "memory", "device"]

_SHARE_OF_MEMORY = 0.4  # of the free memory, which "auto" uses for decoded images


def choose_cache(
    cache: Cache, count: int, size: int, device: torch.device, processes: int = 1
) -> Literal["none", "memory", "device"]:
    """Where `count` images of size×size are kept: as requested, or for "auto" in the fastest place where they fit.

    processes: how many on this machine keep a copy each.
    """
    if cache != "auto":
        return "memory" if cache == "device" and device.type == "cpu" else cache
    needed = count * 3 * size * size
    if device.type == "cuda" and needed < _SHARE_OF_MEMORY * free_memory(device, processes):
        return "device"
    return "memory" if needed < _SHARE_OF_MEMORY * free_memory(torch.device("cpu"), processes) else "none"
