"""A table with a row for each image, trained by Adam at the cost of the rows in the batch."""

import math
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from trilabel.methods.base import AllReduce

_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8
_DECAYS = (_BETA1 / math.sqrt(_BETA2), _BETA1 / _BETA2)
_LEAST = 1e-12  # keeps 0 ÷ 0 away where no step is to be made, and is never reached otherwise
_CORRECTED = 30_000  # steps after which Adam's corrections for its start are lost in rounding
_AT_ONCE = 2**22  # values that a pass over the whole table takes at a time


class RowState(NamedTuple):
    """Some rows of a table, as they are now."""

    rows: Tensor  # B
    values: Tensor  # B×D
    mean: Tensor  # B×D, Adam's running mean of the gradient
    square: Tensor  # B×D, that of its square


class LazyAdamTable(nn.Module):
    """N×D values, of which a step reads and writes the rows of its batch only.

    Adam over the whole table goes on moving a row by its momentum for dozens of steps after its visit, together nine
    times as far as the visit itself did: a table without this would learn an order of magnitude slower. What those
    steps without gradient add up to is known in advance, so a row makes them all at once when it is next visited. The
    result is that of Adam over the whole table, exact for a constant learning rate: between two visits of a row it is
    taken as that of the first.
    """

    memory: Tensor  # N×3×D: values, mean and square (see RowState), each row as of step `last`
    last: Tensor  # N, the step of the last visit
    rate: Tensor  # N, its learning rate
    touched: Tensor  # N, whether this process visited the row since it was last shared
    drift: Tensor  # 2 × steps, see `_drift`
    decays: Tensor  # 4 × 1: what a step without gradient leaves of both rows of `drift`, of mean and of square

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        memory = values.new_zeros(len(values), 3, values.shape[1])
        memory[:, 0] = values
        self.now = 0  # steps so far
        self.register_buffer("memory", memory)
        self.register_buffer("last", torch.zeros(len(values), dtype=torch.int64))
        self.register_buffer("rate", torch.zeros(len(values)))
        # What is saved was shared before.
        self.register_buffer("touched", torch.zeros(len(values), dtype=torch.uint8), persistent=False)
        self.register_buffer("drift", _drift(), persistent=False)
        self.register_buffer("decays", torch.tensor((*_DECAYS, _BETA1, _BETA2))[:, None], persistent=False)

    def get_extra_state(self) -> Tensor:
        """The step, to be saved with the buffers; counted in Python, where it costs the device nothing."""
        return torch.tensor(self.now)

    def set_extra_state(self, state: Tensor) -> None:
        """Takes up where `get_extra_state` was called."""
        self.now = int(state)

    @property
    def values(self) -> Tensor:
        """N×D: each row as its last visit left it; see `settled`."""
        return self.memory[:, 0]

    @torch.no_grad()
    def visit(self, rows: Tensor) -> RowState:
        """These rows now, none of them twice."""
        return self._caught_up(rows, self.now - self.last[rows])

    @torch.no_grad()
    def update(self, visit: RowState, gradient: Tensor, lr: float) -> None:
        """Adam's next step, with this gradient (B×D) for the visited rows and none for the others."""
        rows, values, mean, square = visit
        self.now += 1
        mean = mean.lerp(gradient, 1 - _BETA1)
        square = (square * _BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
        grown = math.sqrt(1 - _BETA2**self.now)
        values = values.addcdiv(mean, square.sqrt().add_(_EPS * grown), value=-lr * grown / (1 - _BETA1**self.now))
        self.memory[rows] = torch.stack((values, mean, square), 1)
        self.last.index_fill_(0, rows, self.now)  # unlike an assignment, this does not wait for the device
        self.rate.index_fill_(0, rows, lr)
        self.touched.index_fill_(0, rows, 1)

    def settled(self) -> Tensor:
        """N×D: the values of all rows now."""
        return torch.cat([self.visit(rows).values for rows in self._parts()])

    @torch.no_grad()
    def forget(self) -> None:
        """Leaves the values as they are now, and starts Adam anew."""
        for rows in self._parts():
            self.memory[rows, 0] = self.visit(rows).values
        self.memory[:, 1:].zero_()
        self.last.zero_()
        self.rate.zero_()
        self.now = 0

    @torch.no_grad()
    def sync(self, all_reduce: AllReduce) -> None:
        """Gives every process the rows that any has visited; rows that several visited become their mean."""
        # A process that had nothing to learn from made no step.
        self.now = int(all_reduce(torch.tensor(self.now, device=self.last.device), "max"))
        for rows in self._parts():
            mine = self.touched[rows].float()
            visits = all_reduce(mine, "sum")
            # Several processes left such a row at different steps. The others stay as they are, bit for bit.
            behind = torch.where(visits > 1, self.now - self.last[rows], 0)
            parts = torch.stack(self._caught_up(rows, behind)[1:], 1)
            self.memory[rows] = _mean_of_visitors(parts, mine, visits, all_reduce)
            self.rate[rows] = _mean_of_visitors(self.rate[rows], mine, visits, all_reduce)
            self.last[rows] = all_reduce(self.last[rows] + behind, "max")
        self.touched.zero_()

    def _caught_up(self, rows: Tensor, steps: Tensor) -> RowState:
        """These rows after so many further steps without gradient (B)."""
        values, mean, square = self.memory[rows].unbind(1)
        last = self.last[rows]
        then = (last + steps).clamp_(max=_CORRECTED - 1)
        # All that momentum would ever do, less what it would do later than now.
        left = self.decays**steps
        drift = self.drift[:, last.clamp_(max=_CORRECTED - 1)].addcmul_(self.drift[:, then], left[:2], value=-1)
        factor, with_eps = drift.clamp_(min=_LEAST)[:, :, None]
        step = mean * (self.rate[rows, None] * factor)
        values = values.addcdiv(step, square.sqrt().addcdiv_(with_eps, factor, value=_EPS), value=-1)
        return RowState(rows, values, mean * left[2, :, None], square * left[3, :, None])

    def _parts(self) -> tuple[Tensor, ...]:
        """All rows, some at a time."""
        count, _, size = self.memory.shape
        return torch.split(torch.arange(count, device=self.memory.device), max(1, _AT_ONCE // size))


@cache
def _drift() -> Tensor:
    """2 × steps: how far momentum will move a row that was last visited at step t, and the same with eps.

    Step k without gradient moves a value by −rate · beta1^k·mean ÷ (1 − beta1^(t+k)) ÷ (√(beta2^k·square ÷ (1 −
    beta2^(t+k))) + Adam's eps). With w = √((1 − beta2^(t+k)) ÷ beta2^k) and a = beta1^k·w ÷ (1 − beta1^(t+k)) that is
    −rate · a·mean ÷ (√square + eps·w). The first row is the sum of a over all k, the second that of a·w: their ratio is
    the mean w, and as it hardly differs between the few dozen steps that count, it does for all of them.
    """
    t = torch.arange(1, _CORRECTED + 1, dtype=torch.float64)
    grown = 1 - _BETA2**t
    sums = []
    for decay, corrected in zip(_DECAYS, (grown.sqrt() / (1 - _BETA1**t), grown / (1 - _BETA1**t)), strict=True):
        ahead, rest = [], decay / (1 - decay)  # as it is after very many steps
        for step in reversed(corrected.tolist()):
            rest = decay * (step + rest)
            ahead.append(rest)
        sums.append(ahead[::-1])
    return torch.tensor(sums)


def _mean_of_visitors(part: Tensor, mine: Tensor, visits: Tensor, all_reduce: AllReduce) -> Tensor:
    """`part` (B×…) averaged over the processes that visited each row; as it is where none did."""
    shape = (-1,) + (1,) * (part.ndim - 1)
    mine, visits = mine.view(shape), visits.view(shape)
    return torch.where(visits > 0, all_reduce(part * mine, "sum") / visits.clamp(min=1), part)
