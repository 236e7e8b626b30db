"""A table with a row for each image, trained by Adam at the cost of the rows in the batch."""

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from trilabel.methods.base import AllReduce

_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8
_DECAYS = (_BETA1 / math.sqrt(_BETA2), _BETA1 / _BETA2)
_SMALLEST = 1e-12  # avoids 0 ÷ 0 where no step is to be made; other values never get so small
_CORRECTED = 30_000  # steps after which Adam's bias corrections are lost in rounding
_VALUES_AT_ONCE = 2**22  # how many values a pass over the whole table processes at a time


class RowState(NamedTuple):
    """Rows of a table at the current step."""

    rows: Tensor  # B
    values: Tensor  # B×D
    mean: Tensor  # B×D, Adam's average of the gradient
    square: Tensor  # B×D, Adam's average of its square


class LazyAdamTable(nn.Module):
    """N×D values, of which a step reads and writes the rows of its batch only.

    Adam over the whole table keeps moving a row by its momentum for dozens of steps after an update, in total nine
    times as far as the update itself: a table without this would learn an order of magnitude more slowly. The sum of
    these steps without gradient is known in advance, so a row makes them all at once when it is next read. The result
    is that of Adam over the whole table, exactly so for a constant learning rate: between two updates of a row, the
    learning rate of the first is used.
    """

    memory: Tensor  # N×3×D: values, mean and square (see RowState), each row as of step `last`
    last: Tensor  # N, the step of the last update
    rate: Tensor  # N, its learning rate
    updated: Tensor  # N, whether this process updated the row since the last `sync`
    drift: Tensor  # 2 × steps, see `_drift`
    decays: Tensor  # 4 × 1: by what a step without gradient multiplies both rows of `drift`, mean and square

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        memory = values.new_zeros(len(values), 3, values.shape[1])
        memory[:, 0] = values
        self.step = 0
        self.register_buffer("memory", memory)
        self.register_buffer("last", torch.zeros(len(values), dtype=torch.int64))
        self.register_buffer("rate", torch.zeros(len(values)))
        # Not saved: `sync` comes first, and leaves no row to be sent.
        self.register_buffer("updated", torch.zeros(len(values), dtype=torch.uint8), persistent=False)
        self.register_buffer("drift", _drift(), persistent=False)
        self.register_buffer("decays", torch.tensor((*_DECAYS, _BETA1, _BETA2))[:, None], persistent=False)

    @staticmethod
    def memory_needed(rows: int, columns: int) -> int:
        """Bytes of a table of this size."""
        return rows * (3 * 4 * columns + 8 + 4 + 1) if columns else 0

    def get_extra_state(self) -> Tensor:
        """The step, saved with the buffers; it is counted in Python, where it costs the device nothing."""
        return torch.tensor(self.step)

    def set_extra_state(self, state: Tensor) -> None:
        """Restores what `get_extra_state` gave."""
        self.step = int(state)

    @property
    def values(self) -> Tensor:
        """N×D: each row as its last update left it; see `current`."""
        return self.memory[:, 0]

    @torch.no_grad()
    def read(self, rows: Tensor) -> RowState:
        """These rows (B, without duplicates) at the current step."""
        return self._caught_up(rows, self.step - self.last[rows])

    @torch.no_grad()
    def update(self, state: RowState, gradient: Tensor, lr: float) -> None:
        """Adam's next step, with this gradient (B×D) for the rows that were read and none for the others."""
        rows, values, mean, square = state
        self.step += 1
        mean = mean.lerp(gradient, 1 - _BETA1)
        square = (square * _BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
        correction = math.sqrt(1 - _BETA2**self.step)
        step_size = lr * correction / (1 - _BETA1**self.step)
        values = values.addcdiv(mean, square.sqrt().add_(_EPS * correction), value=-step_size)
        self.memory[rows] = torch.stack((values, mean, square), 1)
        self.last.index_fill_(0, rows, self.step)  # unlike an assignment, this does not wait for the device
        self.rate.index_fill_(0, rows, lr)
        self.updated.index_fill_(0, rows, 1)

    def current(self) -> Tensor:
        """N×D: the values of all rows at the current step."""
        return torch.cat([self.read(rows).values for rows in self._parts()])

    @torch.no_grad()
    def reset_optimizer(self) -> None:
        """Keeps the current values and resets Adam."""
        for rows in self._parts():
            self.memory[rows, 0] = self.read(rows).values
        self.memory[:, 1:].zero_()
        self.last.zero_()
        self.rate.zero_()
        self.step = 0

    @torch.no_grad()
    def sync(self, all_reduce: AllReduce) -> None:
        """Gives every process the rows that any has updated; rows that several updated become their mean."""
        # A process whose images were all broken made no step.
        self.step = int(all_reduce(torch.tensor(self.step, device=self.last.device), "max"))
        for rows in self._parts():
            mine = self.updated[rows].float()
            processes = all_reduce(mine, "sum")
            # Several processes left such a row at different steps. Other rows stay as they are, bit for bit.
            behind = torch.where(processes > 1, self.step - self.last[rows], 0)
            parts = torch.stack(self._caught_up(rows, behind)[1:], 1)
            self.memory[rows] = _mean_over_processes(parts, mine, processes, all_reduce)
            self.rate[rows] = _mean_over_processes(self.rate[rows], mine, processes, all_reduce)
            self.last[rows] = all_reduce(self.last[rows] + behind, "max")
        self.updated.zero_()

    def _caught_up(self, rows: Tensor, steps: Tensor) -> RowState:
        """These rows after this many further steps without gradient (B)."""
        values, mean, square = self.memory[rows].unbind(1)
        last = self.last[rows]
        then = (last + steps).clamp_(max=_CORRECTED - 1)
        # All that momentum would ever do, less what it would do after these steps.
        left = self.decays**steps
        drift = self.drift[:, last.clamp_(max=_CORRECTED - 1)].addcmul_(self.drift[:, then], left[:2], value=-1)
        factor, with_eps = drift.clamp_(min=_SMALLEST)[:, :, None]
        step = mean * (self.rate[rows, None] * factor)
        values = values.addcdiv(step, square.sqrt().addcdiv_(with_eps, factor, value=_EPS), value=-1)
        return RowState(rows, values, mean * left[2, :, None], square * left[3, :, None])

    def _parts(self) -> tuple[Tensor, ...]:
        """All rows, in parts that fit into memory."""
        count, _, size = self.memory.shape
        return torch.split(torch.arange(count, device=self.memory.device), max(1, _VALUES_AT_ONCE // size))


@cache
def _drift() -> Tensor:
    """2 × steps: how far momentum will move a row that was last updated at step t, and the same with eps.

    Step k without gradient moves a value by −rate · beta1^k·mean ÷ (1 − beta1^(t+k)) ÷ (√(beta2^k·square ÷ (1 −
    beta2^(t+k))) + Adam's eps). With w = √((1 − beta2^(t+k)) ÷ beta2^k) and a = beta1^k·w ÷ (1 − beta1^(t+k)) that is
    −rate · a·mean ÷ (√square + eps·w). The first row is the sum of a over all k, the second that of a·w: their ratio is
    the mean w, and as it hardly differs between the few dozen steps that count, it does for all of them.
    """
    t = torch.arange(1, _CORRECTED + 1, dtype=torch.float64)
    grown = 1 - _BETA2**t
    sums = []
    for decay, corrected in zip(_DECAYS, (grown.sqrt() / (1 - _BETA1**t), grown / (1 - _BETA1**t)), strict=True):
        ahead, rest = [], decay / (1 - decay)  # the limit after very many steps
        for step in reversed(corrected.tolist()):
            rest = decay * (step + rest)
            ahead.append(rest)
        sums.append(ahead[::-1])
    return torch.tensor(sums)


def _mean_over_processes(part: Tensor, mine: Tensor, processes: Tensor, all_reduce: AllReduce) -> Tensor:
    """`part` (B×…) averaged over the processes that updated each row; unchanged where none did.

    mine: B, 1 where this process updated the row. processes: B, how many did.
    """
    shape = (-1,) + (1,) * (part.ndim - 1)
    mine, processes = mine.view(shape), processes.view(shape)
    return torch.where(processes > 0, all_reduce(part * mine, "sum") / processes.clamp(min=1), part)
