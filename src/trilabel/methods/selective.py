"""Class-aware selective loss (CSL, Ben-Baruch 2022), a baseline of Wang 2023."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.losses.partial_asymmetric import asymmetric_with, selected_unknown
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import require_both, require_positives


@dataclass(frozen=True)
class SelectiveSettings:
    """Which unknown labels count as absent, and how hard."""

    top_k: int | None = None
    """This many unknown labels per image, the most probable ones of the batch, take no part; none: one for each 16
    classes, at least 1 and at most 5 (published for thousands of classes: 5)."""
    prior_epochs: int | None = None
    """Epochs of the warm-up that estimates how often each class is present, from known labels alone; none: 3 where
    positives and negatives are known, else 0, so that only `top_k` decides."""
    prior_threshold: float = 0.5
    """Unknown labels of classes that are present in more than this share of the images take no part."""
    gamma_pos: float = 0.0
    """Focus on hard positives."""
    gamma_neg: float = 1.0
    """Focus on hard known negatives."""
    gamma_unknown: float = 4.0
    """Focus on hard unknown labels that count as absent."""
    clip: float = 0.0
    """Negatives with a probability below this cost nothing."""


class Selective(Method[SelectiveSettings]):
    """Unknown counts as absent, except in common classes and for the most probable labels: those take no part.

    How common a class is, is estimated in a warm-up on known labels alone; the model is then reset.
    """

    Settings = SelectiveSettings
    description = "unknown counts as absent, except in common classes and where it is probably present (CSL)"
    suits = "any mix with positives; best where negatives are known too"
    cost = "as plain BCE, after a warm-up of prior_epochs"
    priors: Tensor  # C: estimated share of images with the class; 0 where it cannot be estimated
    sums: Tensor  # C + 1: sums of the probabilities of a warm-up epoch, and the number of images
    learnable: Tensor  # C: classes whose positives and negatives are known

    def __init__(
        self, settings: SelectiveSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.top_k = min(5, -(-labels.shape[1] // 16)) if settings.top_k is None else settings.top_k
        self.register_buffer("priors", torch.zeros(labels.shape[1]))
        self.register_buffer("sums", torch.zeros(labels.shape[1] + 1, dtype=torch.float64))
        positives, negatives = labels.counts_per_class()
        self.register_buffer("learnable", torch.from_numpy((positives > 0) & (negatives > 0)), persistent=False)
        warms_up = bool(self.learnable.any())
        self.warm_up_epochs = 3 * warms_up if settings.prior_epochs is None else settings.prior_epochs
        if not warms_up and settings.prior_epochs is None:
            self.notes = ("selective: no class has known positives and negatives, so no class priors are estimated",)

    @classmethod
    def check(cls, settings: SelectiveSettings, labels: Labels) -> None:
        """Needs positives, and negatives if prior_epochs requires a warm-up."""
        require_positives("selective", labels)
        if settings.prior_epochs:
            require_both("the warm-up of selective", labels, "prior_epochs=0")
        if not min(settings.gamma_pos, settings.gamma_neg, settings.gamma_unknown) >= 0 or not 0 <= settings.clip <= 1:
            raise TrilabelError("selective: gammas are numbers from 0, clip is a probability")
        if (settings.top_k or 0) < 0 or (settings.prior_epochs or 0) < 0 or not 0 <= settings.prior_threshold <= 1:
            raise TrilabelError("selective: top_k and prior_epochs are 0 or more, prior_threshold is a share")

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss; in the warm-up on the known labels alone."""
        logits, labels, chosen = model(batch.images).logits, batch.labels, self.settings
        if batch.warm_up:
            counted = torch.zeros_like(labels, dtype=torch.bool)
            self.sums[:-1] += torch.sigmoid(logits.detach().float()).sum(0)
            self.sums[-1:] += len(labels)
        else:
            counted = selected_unknown(logits, labels, self.top_k, self.priors > chosen.prior_threshold)
        focus = chosen.gamma_pos, chosen.gamma_neg, chosen.gamma_unknown
        loss = asymmetric_with(logits, labels, counted, *focus, chosen.clip)
        return {"loss": loss, "logits": logits.detach(), "targets": labels.masked_fill(counted, -1)}

    def start_epoch(self, epoch: int) -> None:
        """Only the last epoch of the warm-up counts."""
        self.sums.zero_()

    def counts(self) -> dict[str, Tensor]:
        """The sums of the warm-up."""
        return {"sums": self.sums}

    def end_warm_up(self, all_reduce: AllReduce) -> str:
        """A class is as common as its mean probability over the training images."""
        sums = all_reduce(self.sums, "sum")
        # A class without known negatives was predicted present everywhere, which is no estimate.
        self.priors.copy_(torch.where(self.learnable, sums[:-1] / sums[-1].clamp(min=1), 0))
        self.sums.zero_()
        return ""
