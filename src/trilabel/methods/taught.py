"""Learning from fixed targets that another model gave: the second of two rounds."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from trilabel.data.provenance import predicted_targets
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.rates import Rates
from trilabel.labels.targets import Targets, count_targets
from trilabel.losses.posterior import target_bce
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import require_positives


@dataclass(frozen=True)
class TaughtSettings:
    """Where the targets come from."""

    targets: str = ""
    """The file targets.npz of a run with --rounds 2 on the same images (--rounds 2 itself names its own), or the
    provenance table of completed labels (train --provenance names it)."""
    hard: bool = False
    """Of a provenance table: learn from what was decided, not from probabilities; what was left open is left out."""


class Taught(Method[TaughtSettings]):
    """BCE of all labels; the target of an unknown one is what earlier models made of it."""

    Settings = TaughtSettings
    description = "unknown counts as what trained models believe of it: a second round (see --rounds)"
    suits = "any, once a first round is trained; --rounds 2 does both"
    cost = "as plain BCE, and memory: 6 bytes for each target of 0.01 or more"
    less_memory = "use fewer images"
    begins: Tensor  # N + 1: where the targets of each image begin among those of all
    columns: Tensor  # the class of each, and of one more at the end
    values: Tensor  # the targets, and at the end 0 for where an image has none

    def __init__(
        self, settings: TaughtSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        targets = _targets(settings, labels)
        self.rates, left_out = targets.rates, targets.values < 0
        self.leaves_out = bool(left_out.any())
        counted = len(labels) - np.bincount(targets.columns[left_out], minlength=labels.shape[1])
        self.counted = torch.from_numpy(counted).clamp(min=1)
        self.positives = torch.from_numpy(labels.counts_per_class()[0] + targets.sums())
        self.classes = labels.shape[1]
        self.most = targets.most
        # The file has them: checkpoints need not.
        self.register_buffer("begins", torch.from_numpy(targets.begins), persistent=False)
        self.register_buffer("columns", torch.from_numpy(np.append(targets.columns, np.int32(0))), persistent=False)
        self.register_buffer("values", torch.from_numpy(np.append(targets.values, np.float16(0))), persistent=False)

    @classmethod
    def check(cls, settings: TaughtSettings, labels: Labels) -> None:
        """Needs positives and a file."""
        require_positives("taught", labels)
        if not settings.targets:
            raise TrilabelError("taught: needs the targets of a first round. Use --rounds 2, or --set targets=FILE")

    @classmethod
    def memory_needed(cls, settings: TaughtSettings, labels: Labels, features: int = 0) -> int:
        """Six bytes for each target, and one more; where each image's targets begin, and where the last ones end."""
        targets = count_targets(settings.targets) if _is_file_of_targets(settings) else len(labels) * labels.shape[1]
        return 6 * (targets + 1) + 8 * (len(labels) + 1)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss."""
        logits, labels = model(batch.images).logits, batch.labels
        unknown = labels == 0
        targets = torch.where(unknown, self.saved(batch.rows), labels.clamp(min=0))
        rounded = (targets > 0.5).to(labels.dtype) * 2 - 1
        counted = None
        if self.leaves_out:
            counted = (targets >= 0).to(targets.dtype)
            targets, rounded, unknown = (
                targets.clamp(min=0),
                rounded * counted.to(labels.dtype),
                unknown * (targets >= 0),
            )
        return {
            "loss": target_bce(logits, targets, counted),
            "logits": logits.detach(),
            "targets": torch.where(labels == 0, rounded, labels),
            "unknown_target": (targets * unknown).sum() / unknown.sum().clamp(min=1),
        }

    def saved(self, rows: Tensor) -> Tensor:
        """B×C: the saved targets of these images; 0 for known labels and where there is none, negative: left out."""
        # As many places for each image as any needs, a number known beforehand: a GPU need not be asked how many. Those
        # beyond an image's own targets are the last place of all, where nothing is.
        begins, ends = self.begins[rows, None], self.begins[rows + 1, None]
        places = begins + torch.arange(self.most, device=begins.device)
        places = torch.where(places < ends, places, len(self.values) - 1)
        columns, values = self.columns[places].long(), self.values[places].float()
        return values.new_zeros(len(rows), self.classes).scatter_add_(1, columns, values)

    def known_rates(self) -> Rates | None:
        """Those that the targets rest on, where their file has them."""
        return self.rates

    def initial_logits(self) -> Tensor | None:
        """The logit of each class's mean target."""
        lowest = 0.5 / self.counted
        return (self.positives / self.counted).clamp(lowest, 1 - lowest).logit().float()


def _is_file_of_targets(settings: TaughtSettings) -> bool:
    return Path(settings.targets).suffix == ".npz"


def _targets(settings: TaughtSettings, labels: Labels) -> Targets:
    if _is_file_of_targets(settings):
        return Targets.load_for(settings.targets, labels)
    return predicted_targets(settings.targets, labels, settings.hard)
