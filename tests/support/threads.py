"""Several processes simulated by threads, with an `all_reduce` between them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from trilabel.methods import AllReduce


def as_processes(count: int, work: Callable[[int, AllReduce], Any]) -> list[Any]:
    """work(rank, all_reduce) of all ranks at once; their results by rank."""
    # The limit is never reached unless ranks call all_reduce a different number of times, which would wait forever.
    barrier, given = threading.Barrier(count, timeout=600), [torch.zeros(0)] * count

    def run(rank: int) -> Any:
        def all_reduce(tensor: torch.Tensor, how: str) -> torch.Tensor:
            given[rank] = tensor.clone()
            barrier.wait()
            together = torch.stack(given)
            barrier.wait()
            return together.sum(0) if how == "sum" else together.amax(0)

        try:
            return work(rank, all_reduce)
        except BaseException:
            barrier.abort()  # or the others would wait for it
            raise

    with ThreadPoolExecutor(count) as threads:
        futures = [threads.submit(run, rank) for rank in range(count)]
        errors = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return [future.result() for future in futures]
