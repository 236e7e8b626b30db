"""Several processes that train one model: what they synchronize."""

from collections.abc import Iterable
from typing import Any, Literal

import torch
import torch.distributed as dist
from lightning_fabric import Fabric
from torch import Tensor, nn


class Processes:
    """The processes of a run; with a single process nothing is sent.

    All must make the same calls in the same order. What they agree on (`any`, `union`, `all_equal`) travels between
    CPUs: it does not wait for a GPU, and a process that is lost is noticed at once.
    """

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.rank: int = fabric.global_rank
        self.count: int = fabric.world_size
        # Those that share this machine's memory; a strategy for one process does not count itself.
        self.on_this_machine: int = getattr(fabric.strategy, "num_processes", 1)
        self._between_cpus: Any = None  # None: the group that tensors travel in
        if self.count > 1 and dist.get_backend() != "gloo":
            self._between_cpus = dist.new_group(backend="gloo")

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and logs."""
        return self.rank == 0

    def any(self, here: bool) -> bool:
        """Whether this is true in any process: all must save or stop at the same step."""
        if self.count == 1:
            return here
        flag = torch.tensor(int(here))
        dist.all_reduce(flag, group=self._between_cpus)
        return bool(flag)

    def union(self, names: Iterable[str]) -> list[str]:
        """The names that any process has, in the same order in all."""
        return sorted(set().union(*self._of_all(list(names))))

    def all_equal(self, value: object) -> bool:
        """Whether all processes have the same value."""
        return all(other == value for other in self._of_all(value))

    def _of_all(self, value: Any) -> list[Any]:
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        dist.all_gather_object(values, value, group=self._between_cpus)
        return values

    def all_reduce(self, value: Tensor, how: Literal["sum", "max"]) -> Tensor:
        """The sum or maximum over all processes."""
        return self.fabric.all_reduce(value.clone(), reduce_op=how) if self.count > 1 else value

    def gather(self, value: Tensor) -> Tensor:
        """The tensors of all processes, stacked: one row for each."""
        if self.count == 1:
            return value[None]
        mine = value.to(self.fabric.device).contiguous()  # GPUs send only what they have
        rows = [torch.empty_like(mine) for _ in range(self.count)]
        dist.all_gather(rows, mine)
        return torch.stack(rows)

    def sync_buffers(self, model: nn.Module) -> None:
        """Gives every process the first one's batch-norm statistics, so that all score the same model."""
        if self.count > 1:
            for buffer in model.buffers():
                dist.broadcast(buffer, src=0)

    def barrier(self) -> None:
        """Waits until all processes call this."""
        self.fabric.barrier()
