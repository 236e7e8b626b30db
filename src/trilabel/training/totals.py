"""Sums of the values that the steps of an epoch return. They are on the device; nothing waits unless requested."""

from collections.abc import Mapping

import torch
from torch import Tensor

from trilabel.methods import AllReduce


class EpochTotals:
    """Sums of every scalar that steps return, how many steps were counted, and the first whose loss was not finite."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.start_epoch()

    def start_epoch(self) -> None:
        """Resets all sums."""
        self.sums: dict[str, Tensor] = {}
        self.counted = 0  # steps that learned from something
        self._first_bad = torch.full((), -1, device=self.device)
        self._copied: tuple[Tensor, torch.cuda.Event] | None = None  # on its way from the device

    def add(self, parts: Mapping[str, Tensor], step: int) -> None:
        """Adds what a step (from 0) returned; tensors that are not scalars are ignored."""
        for name, part in parts.items():
            if part.ndim == 0:
                value = part.detach().double()
                self.sums[name] = self.sums[name] + value if name in self.sums else value
        self.counted += 1
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
        now = torch.stack((self.sums["loss"] / max(1, self.counted), self._first_bad.double()))
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

    def all_reduced(self, all_reduce: AllReduce) -> dict[str, Tensor]:
        """The sums over all processes, and "counted", the number of steps."""
        mine = {**self.sums, "counted": torch.tensor(self.counted, device=self.device)}
        return {name: all_reduce(value, "sum") for name, value in mine.items()}

    def means(self, all_reduce: AllReduce) -> dict[str, float]:
        """The mean of each scalar over the steps of all processes."""
        totals = self.all_reduced(all_reduce)
        counted = totals.pop("counted")
        return {name: float(value / counted) for name, value in totals.items()}

    def load(self, totals: Mapping[str, Tensor], first: bool) -> None:
        """Loads the result of `all_reduced`; since it is of all processes together, only the `first` one does."""
        self.start_epoch()
        self.counted = int(totals["counted"]) if first else 0
        for name, value in totals.items():
            if name != "counted":
                self.sums[name] = value.to(self.device) if first else torch.zeros_like(value, device=self.device)
