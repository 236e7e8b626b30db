"""A table with a row for each image, trained by Adam at the cost of the rows in the batch."""

import math

import torch
from torch import Tensor, nn

from trilabel.methods.base import OverProcesses

_BETA1, _BETA2, _EPS = 0.9, 0.999, 1e-8
_LOG1, _LOG2 = math.log(_BETA1), math.log(_BETA2)
_LONGEST = 128  # (beta1 ÷ √beta2)^128 is 1e-6: what momentum still does after so many steps is lost in rounding
_AT_ONCE = 2**22  # values that a pass over the whole table takes at a time


class RowTable(nn.Module):
    """N×D values, of which a step reads and writes the rows of its batch only.

    Adam over the whole table goes on moving a row by its momentum for dozens of steps after its visit, together nine
    times as far as the visit itself did: a table without this would learn an order of magnitude slower. What those
    steps without gradient add up to is known in advance, so a row makes them all at once when it is next read. The
    result is that of Adam over the whole table, exact for a constant learning rate: between two visits of a row it is
    taken as that of the first.
    """

    values: Tensor  # N×D, each row as of step `last`
    mean: Tensor  # N×D, Adam's running mean of the gradient
    square: Tensor  # N×D, that of its square
    last: Tensor  # N, the step of the last visit
    rate: Tensor  # N, its learning rate
    now: Tensor  # steps so far
    touched: Tensor  # N, whether this process visited the row since it was last shared

    def __init__(self, values: Tensor) -> None:
        super().__init__()
        count = len(values)
        self.register_buffer("values", values)
        self.register_buffer("mean", torch.zeros_like(values))
        self.register_buffer("square", torch.zeros_like(values))
        self.register_buffer("last", torch.zeros(count, dtype=torch.int64))
        self.register_buffer("rate", torch.zeros(count))
        self.register_buffer("now", torch.zeros((), dtype=torch.int64))
        # What is saved was shared before.
        self.register_buffer("touched", torch.zeros(count, dtype=torch.uint8), persistent=False)

    def read(self, rows: Tensor) -> Tensor:
        """B×D: the values of these rows now."""
        return self._caught_up(rows, self.now - self.last[rows])[0]

    @torch.no_grad()
    def update(self, rows: Tensor, gradient: Tensor, lr: float) -> None:
        """Adam's next step, with this gradient (B×D) for these rows, none of them twice, and none for the others."""
        values, mean, square = self._caught_up(rows, self.now - self.last[rows])
        self.now += 1
        mean.lerp_(gradient, 1 - _BETA1)
        square.mul_(_BETA2).addcmul_(gradient, gradient, value=1 - _BETA2)
        grown = _one_minus_power(_LOG2, self.now).sqrt()
        values -= lr / _one_minus_power(_LOG1, self.now) * grown * mean / (square.sqrt() + _EPS * grown)
        self._write(rows, values, mean, square)
        self.last[rows] = self.now
        self.rate[rows] = lr
        self.touched[rows] = 1

    def settled(self) -> Tensor:
        """N×D: the values of all rows now."""
        return torch.cat([self.read(rows) for rows in self._parts()])

    @torch.no_grad()
    def forget(self) -> None:
        """Leaves the values as they are now, and starts Adam anew."""
        for rows in self._parts():
            self.values[rows] = self.read(rows)
        for buffer in (self.mean, self.square, self.last, self.rate, self.now):
            buffer.zero_()

    @torch.no_grad()
    def share(self, over_processes: OverProcesses) -> None:
        """Gives every process the rows that any has visited; rows that several visited become their mean."""
        self.now.copy_(over_processes(self.now, "max"))  # a process that had nothing to learn from made no step
        for rows in self._parts():
            mine = self.touched[rows].float()
            visits = over_processes(mine, "sum")
            # Several processes left such a row at different steps. The others stay as they are, bit for bit.
            behind = torch.where(visits > 1, self.now - self.last[rows], 0)
            parts = self._caught_up(rows, behind)
            self._write(rows, *(_mean_of_visitors(part, mine, visits, over_processes) for part in parts))
            self.rate[rows] = _mean_of_visitors(self.rate[rows], mine, visits, over_processes)
            self.last[rows] = over_processes(self.last[rows] + behind, "max")
        self.touched.zero_()

    @torch.no_grad()
    def _caught_up(self, rows: Tensor, steps: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(values, mean, square) of these rows after so many further steps without gradient (B)."""
        values, mean, square = self.values[rows], self.mean[rows], self.square[rows]
        factor, eps = _drift(self.last[rows], steps)
        values.addcdiv_(mean * (self.rate[rows, None] * factor), square.sqrt().add_(eps), value=-1)
        return values, mean.mul_((_LOG1 * steps[:, None]).exp()), square.mul_((_LOG2 * steps[:, None]).exp())

    def _write(self, rows: Tensor, values: Tensor, mean: Tensor, square: Tensor) -> None:
        self.values[rows], self.mean[rows], self.square[rows] = values, mean, square

    def _parts(self) -> tuple[Tensor, ...]:
        """All rows, some at a time."""
        count, size = self.values.shape
        return torch.split(torch.arange(count, device=self.values.device), max(1, _AT_ONCE // (size + _LONGEST)))


def _drift(last: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    """(factor, eps), both B×1: `steps` steps without gradient move a value by −rate · factor · mean ÷ (√square + eps).

    Step k of them, the t-th of all, moves it by −rate · beta1^k·mean ÷ (1 − beta1^t) ÷ (√(beta2^k·square ÷ (1 −
    beta2^t)) + Adam's eps). With w = √((1 − beta2^t) ÷ beta2^k) that is weight·w·mean ÷ (√square + eps·w), and as w
    hardly differs between the first few dozen steps, which are those that count, one mean of eps·w does for all.
    """
    k = torch.arange(1, _LONGEST + 1, device=last.device)
    t = last[:, None] + k
    w = (_one_minus_power(_LOG2, t) * (-_LOG2 * k).exp()).sqrt()
    weight = (_LOG1 * k).exp() * w / _one_minus_power(_LOG1, t) * (k <= steps[:, None])
    factor = weight.sum(1, keepdim=True)
    # Without a step to make, both are 0: the least eps then keeps 0 ÷ 0 away, and is never reached otherwise.
    least = 1e-12
    return factor, (_EPS * (weight * w).sum(1, keepdim=True) / factor.clamp(min=least)).clamp(min=least)


def _one_minus_power(log_beta: float, exponent: Tensor) -> Tensor:
    """1 − beta^exponent, exact also where that is close to 0."""
    return -torch.expm1(log_beta * exponent)


def _mean_of_visitors(part: Tensor, mine: Tensor, visits: Tensor, over_processes: OverProcesses) -> Tensor:
    """`part` (B or B×D) averaged over the processes that visited each row; as it is where none did."""
    shape = (-1,) + (1,) * (part.ndim - 1)
    mine, visits = mine.view(shape), visits.view(shape)
    return torch.where(visits > 0, over_processes(part * mine, "sum") / visits.clamp(min=1), part)
