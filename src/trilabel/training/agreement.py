"""What several processes must agree on at every step: whether to save or to stop now."""

from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor

from trilabel.training.distributed import Processes


class Agreement:
    """Whether any process wants something, as an answer that all get at the same step, and that costs no step a wait.

    Every step starts an exchange over a group of its own, in the host's memory, and reads the answer of the step
    before, which has arrived by then. So all act one step after the first of them asked, and no device is involved.
    """

    def __init__(self, processes: Processes) -> None:
        self._group: dist.ProcessGroup | None = None
        if processes.count > 1:
            self._group = cast(dist.ProcessGroup, dist.new_group(backend="gloo"))
        self._under_way: tuple[Tensor, dist.Work] | None = None

    def any(self, here: bool, wait: bool = False) -> bool:
        """Whether any process asked by the step before; with `wait` by this one. All must call it at the same steps."""
        if self._group is None:
            return here
        flag = torch.tensor(int(here))
        work = dist.all_reduce(flag, dist.ReduceOp.MAX, self._group, async_op=True)
        asked = self.finish()
        self._under_way = flag, work
        return (self.finish() or asked) if wait else asked

    def finish(self) -> bool:
        """The answer of the exchange that is under way; after this there is none."""
        if self._under_way is None:
            return False
        flag, work = self._under_way
        self._under_way = None
        work.wait()
        return bool(flag)
