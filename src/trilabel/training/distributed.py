"""Several processes that train one model: what they synchronize."""

from typing import Literal

import torch
from lightning_fabric import Fabric
from torch import Tensor, nn


class Processes:
    """The processes of a run; with a single process nothing is sent."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        self.rank: int = fabric.global_rank
        self.count: int = fabric.world_size
        # Those that share this machine's memory; a strategy for one process does not count itself.
        self.on_this_machine: int = getattr(fabric.strategy, "num_processes", 1)

    @property
    def is_first(self) -> bool:
        """Whether this is the process that writes files and logs."""
        return self.rank == 0

    def any(self, here: bool) -> bool:
        """Whether this is true in any process: all must save or stop at the same step."""
        if self.count == 1:
            return here
        return bool(self.all_reduce(torch.tensor(float(here), device=self.fabric.device), "sum").item())

    def all_reduce(self, value: Tensor, how: Literal["sum", "max"]) -> Tensor:
        """The sum or maximum over all processes."""
        return self.fabric.all_reduce(value.clone(), reduce_op=how) if self.count > 1 else value

    def sync_buffers(self, model: nn.Module) -> None:
        """Gives every process the first one's batch-norm statistics, so that all score the same model."""
        if self.count > 1:
            for buffer in model.buffers():
                torch.distributed.broadcast(buffer, src=0)

    def barrier(self) -> None:
        """Waits until all processes call this."""
        self.fabric.barrier()
