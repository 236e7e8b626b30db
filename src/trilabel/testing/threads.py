"""Threads that stand for processes, with `all_reduce` and `all_gather` between them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from trilabel.methods import AllReduce

_SECONDS_UNTIL_HUNG = 1200  # ends what would wait forever, however busy the machine is
AllGather = Callable[[torch.Tensor], torch.Tensor]


def as_processes(count: int, work: Callable[[int, AllReduce], Any]) -> list[Any]:
    """work(rank, all_reduce) of all ranks at once; their answers by rank."""

    def run(rank: int, all_gather: AllGather) -> Any:
        """One process, whose sums are made of what all gather."""

        def all_reduce(tensor: torch.Tensor, how: str) -> torch.Tensor:
            together = all_gather(tensor)
            return together.sum(0) if how == "sum" else together.amax(0)

        return work(rank, all_reduce)

    return as_gathering_processes(count, run)


def as_gathering_processes(count: int, work: Callable[[int, AllGather], Any]) -> list[Any]:
    """work(rank, all_gather) of all ranks at once; their answers by rank."""
    meeting, given = threading.Barrier(count, timeout=_SECONDS_UNTIL_HUNG), [torch.zeros(0)] * count

    def run(rank: int) -> Any:
        """One process."""

        def all_gather(tensor: torch.Tensor) -> torch.Tensor:
            """The tensors of all, stacked; all wait for each other before and after."""
            given[rank] = tensor.clone()
            meeting.wait()
            together = torch.stack(given)
            meeting.wait()
            return together

        try:
            return work(rank, all_gather)
        except BaseException:
            meeting.abort()  # the others need not wait for this one
            raise

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(run, range(count)))
