"""Sums of the values that the steps of an epoch return. They are on the device; nothing waits unless requested."""

from collections.abc import Mapping

import torch
from torch import Tensor

from trilabel.training.distributed import Processes

_COUNTS = ("counted", "left_out")  # stand beside the sums in a checkpoint


class EpochTotals:
    """Sums of every scalar that steps return, how many steps were counted, and the first whose loss was not finite."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.start_epoch()

    def start_epoch(self) -> None:
        """Resets all sums."""
        self.sums: dict[str, Tensor] = {}
        self.counted = 0.0  # weights of the steps that learned from something
        self.left_out = 0.0  # images that could not be read
        self._first_bad = torch.full((), -1, device=self.device)
        self._copied: tuple[Tensor, torch.cuda.Event] | None = None  # on its way from the device

    def add(self, parts: Mapping[str, Tensor], step: int, weight: float = 1.0) -> None:
        """Adds what a step (from 0) returned; tensors that are not scalars are ignored.

        weight: how much the batch counts beside those of the other processes (see `EpochOrder`).
        """
        for name, part in parts.items():
            if part.ndim == 0:
                value = weight * part.detach().double()
                self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.counted += weight
        bad = ~torch.isfinite(parts["loss"].detach()) & (self._first_bad < 0)
        self._first_bad = torch.where(bad, step, self._first_bad)

    @property
    def is_empty(self) -> bool:
        """Whether no step of this epoch was counted, in this process or, before it was resumed, in any."""
        return not self.sums

    def loss_so_far(self, wait: bool) -> tuple[float | None, int]:
        """(mean loss of this epoch so far, its first step whose loss was not finite or −1).

        Without `wait`, it does not wait for the device and returns the values of the call before, if they have arrived;
        otherwise None and −1.
        """
        now = torch.stack((self.sums["loss"] / (self.counted or 1), self._first_bad.double()))
        before = self._copied
        if wait or now.device.type == "cpu":
            loss, bad = now.tolist()
            return loss, int(bad)
        copy = torch.empty(2, dtype=now.dtype, pin_memory=True).copy_(now, non_blocking=True)
        self._copied = copy, torch.cuda.Event()  # type: ignore[no-untyped-call]
        self._copied[1].record()
        if before is None or not before[1].query():  # type: ignore[no-untyped-call]
            return None, -1
        loss, bad = before[0].tolist()
        return loss, int(bad)

    def of_each(self, processes: Processes) -> dict[str, Tensor]:
        """The sums of every process, "counted" and "left_out": by name a number for each process.

        A process that could read none of its images has no sums; it counts as 0.
        """
        zero = torch.zeros((), dtype=torch.float64, device=self.device)
        mine = {name: self.sums.get(name, zero) for name in processes.union(self.sums)}
        mine |= {name: torch.full_like(zero, getattr(self, name)) for name in _COUNTS}
        return {name: processes.gather(value) for name, value in mine.items()}

    def means(self, processes: Processes) -> tuple[dict[str, float], int]:
        """(the mean of each scalar over the steps of all processes, the images that none could read)."""
        totals = {name: value.sum() for name, value in self.of_each(processes).items()}
        counted, left_out = (totals.pop(name) for name in _COUNTS)
        return {name: float(value / counted) for name, value in totals.items()}, int(left_out)

    def load(self, totals: Mapping[str, Tensor], rank: int, count: int) -> None:
        """Loads what `of_each` gave: each process its own or, if there are more or fewer now, the first one all."""
        self.start_epoch()
        for name, saved in totals.items():
            each = saved.view(-1).to(self.device)
            mine = each[rank] if len(each) == count else each.sum() * (rank == 0)
            if name in _COUNTS:
                setattr(self, name, float(mine))
            else:
                self.sums[name] = mine
