"""Several processes played by threads: what each gives to `all_reduce` meets what the others give."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from trilabel.methods import AllReduce


def as_processes(count: int, work: Callable[[int, AllReduce], Any]) -> list[Any]:
    """work(rank, all_reduce) of all ranks at once; their answers by rank."""
    meeting, given = threading.Barrier(count, timeout=10), [torch.zeros(0)] * count

    def run(rank: int) -> Any:
        def all_reduce(tensor: torch.Tensor, how: str) -> torch.Tensor:
            given[rank] = tensor.clone()
            meeting.wait()
            together = torch.stack(given)
            meeting.wait()
            return together.sum(0) if how == "sum" else together.amax(0)

        return work(rank, all_reduce)

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))
