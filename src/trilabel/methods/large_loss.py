"""Large loss (Kim 2022): an unknown label whose loss as absent stays large is probably present."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, bits
from trilabel.labels.bits import ROWS_AT_ONCE, packed, unpacked
from trilabel.losses import unknown_as_absent
from trilabel.losses.large_loss import large_count, large_loss_targets, large_unknown
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import require_positives


@dataclass(frozen=True)
class LargeLossSettings:
    """The defaults are LL-R; Kim 2022 searched delta in 0.1 … 0.5 (0.005 and 0.01 for 5,000 classes)."""

    mode: Literal["reject", "correct", "correct-for-good"] = "reject"
    """What happens to the unknown labels with the largest loss: left out of the step (LL-R), scored as present in this
    step (LL-Ct), or remembered as present from the next epoch on (LL-Cp)."""
    delta: float = 0.2
    """Relative: by how many percent of a batch's labels their number grows with each epoch (of correct-for-good: that
    many at each step). Absolute: by how much the threshold falls with each epoch."""
    percent_of: Literal["all", "unknown"] = "all"
    """Relative: what delta is a percentage of: all labels of a batch, as in the released code, or its unknown ones, as
    in the text of the paper."""
    start: float | None = None
    """Absolute: the threshold of the loss is start − epoch × delta (published: start 1 … 2, delta 0.1 … 0.2); none:
    relative."""


class LargeLoss(Method[LargeLossSettings]):
    """Assume-negative, except for the unknown labels with the largest loss. The first epoch changes none.

    What is large is decided within the batch of one process.
    """

    Settings = LargeLossSettings
    description = "unknown counts as absent, but those with the largest loss are left out, or scored as present"
    suits = "positives known, few negatives or none"
    cost = "as plain BCE; correct-for-good keeps one bit per label"
    less_memory = "use --set mode=correct"
    weak: Tensor | None  # N×⌈C/8⌉, one bit per label: those scored as present for good

    def __init__(
        self, settings: LargeLossSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.classes = labels.shape[1]
        for_good = settings.mode == "correct-for-good"
        self.register_buffer("weak", bits.empty(*labels.shape) if for_good else None)
        if settings.start is not None and settings.delta > 0:
            last = math.ceil(settings.start / settings.delta)
            self.notes = (f"large-loss: from epoch {last} on the threshold is 0 or less: every unknown label changes",)

    @classmethod
    def check(cls, settings: LargeLossSettings, labels: Labels) -> None:
        """Needs positives, and numbers within range."""
        require_positives("large-loss", labels)
        if not 0 <= settings.delta <= (100 if settings.start is None else math.inf):
            raise TrilabelError(
                f"large-loss: delta is a percentage, 0 to 100 (with start: a loss from 0), not {settings.delta}"
            )
        if settings.start is not None and not settings.start > 0:
            raise TrilabelError(f"large-loss: start is a loss above 0, or none, not {settings.start}")

    @classmethod
    def memory_needed(cls, settings: LargeLossSettings, labels: Labels, features: int = 0) -> int:
        """A bit per label where corrections are for good."""
        return bits.size(*labels.shape) if settings.mode == "correct-for-good" else 0

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass, the choice of large losses, and the loss with them changed."""
        logits, chosen = model(batch.images).logits, self.settings
        if self.weak is None:
            large = self._large(logits, batch.labels, batch.epoch)
            sign = large_loss_targets(batch.labels, large, "reject" if chosen.mode == "reject" else "correct")
        else:
            weak = unpacked(self.weak[batch.rows], self.classes)
            labels = torch.where(weak, 1, batch.labels)  # only unknown labels ever become weak ones
            large = self._large(logits, labels, batch.epoch)
            self.weak[batch.rows] = packed(weak | large)
            sign = unknown_as_absent(labels)
        return {"loss": losses.bce(logits, sign), "logits": logits.detach(), "targets": sign}

    def _large(self, logits: Tensor, labels: Tensor, epoch: int) -> Tensor:
        """Which unknown labels are to change, B×C."""
        chosen = self.settings
        if epoch == 1:
            return torch.zeros_like(labels, dtype=torch.bool)
        if chosen.start is not None:
            return large_unknown(logits, labels, threshold=chosen.start - epoch * chosen.delta)
        percent = chosen.delta if chosen.mode == "correct-for-good" else (epoch - 1) * chosen.delta
        if chosen.percent_of == "unknown":
            share = min(percent, 100) / 100 * (1 - 1e-12)  # see `large_count`
            return large_unknown(logits, labels, count=((labels == 0).sum().double() * share).ceil())
        return large_unknown(logits, labels, count=large_count(len(labels), self.classes, percent))

    def sync(self, all_reduce: AllReduce) -> None:
        """A label that one process permanently scores as present becomes so in all processes."""
        if self.weak is not None:
            for part in torch.split(self.weak, ROWS_AT_ONCE):
                part.copy_(packed(all_reduce(unpacked(part, self.classes).to(torch.uint8), "max")))

    def weak_labels(self) -> sp.csr_array | None:
        """Of correct-for-good: the labels it scores as present."""
        if self.weak is None:
            return None
        parts = [unpacked(part, self.classes).cpu().numpy() for part in torch.split(self.weak, ROWS_AT_ONCE)]
        return sp.vstack([sp.csr_array(part.astype(np.int8)) for part in parts], format="csr")
