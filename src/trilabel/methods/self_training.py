"""Self-training by consistency (Wang 2023): a model should predict the same for an image and a distorted view of it."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.base import Batch, Method
from trilabel.methods.checks import note_one_sided, require_both
from trilabel.models import Output
from trilabel.models.heads.saliency import saliency_logits


@dataclass(frozen=True)
class SelfTrainingSettings:
    """With --head saliency it is the full method; with --head gap it is consistency without saliency."""

    threshold: float = 0.6
    """An unknown label counts as present from this probability on, as absent from 1 − threshold down."""
    pseudo: Literal["strong-view", "same-view", "off"] = "strong-view"
    """What pseudo-labels of the weak view are learned on: a strong view, the weak view itself (no strong view is made),
    or nothing: then only known labels are learned, on both views."""
    labeled_by: Literal["head", "gap", "saliency"] = "head"
    """Whose scores make pseudo-labels: the head's own, or those of averaged class maps without or with saliency."""
    label_alpha: float = 0.5
    """Of labeled_by=saliency: the weight of the most salient cells, as in the saliency head."""
    label_k: int = 5
    """Of labeled_by=saliency: their number."""
    learned_by: Literal["head", "gap"] = "head"
    """Whose scores learn from pseudo-labels: the head's own, or those of averaged class maps."""
    normalize: Literal["image", "batch"] = "image"
    """Mean over each image's labels, then over images; or over the batch's (BN-BCE)."""


class SelfTraining(Method[SelfTrainingSettings]):
    """Known labels on both views, and pseudo-labels from the weak view on the strong one.

    In the linear stage, on features computed once, both views are the same.
    """

    Settings = SelfTrainingSettings
    description = "confident predictions on an image label its strongly augmented view; with --head saliency"
    suits = "positives and negatives known"
    cost = "two to three times plain BCE: two views of each image"

    def __init__(
        self, settings: SelfTrainingSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.views = 1 if settings.pseudo == "same-view" else 2
        self.notes = note_one_sided("self-training", labels)

    @classmethod
    def check(cls, settings: SelfTrainingSettings, labels: Labels) -> None:
        """Needs both positives and negatives."""
        require_both("self-training", labels)
        if not 0.5 <= settings.threshold <= 1:
            raise TrilabelError(
                f"self-training: threshold is a probability from 0.5 to 1, not {settings.threshold}; give 0.6"
            )
        if settings.label_k < 1 or settings.label_alpha < 0:
            raise TrilabelError("self-training: label_alpha is 0 or more and label_k 1 or more; give 0.5 and 5")

    @classmethod
    def needs_maps(cls, settings: SelfTrainingSettings) -> bool:
        """Where scores other than those of the head are pooled from the maps."""
        return settings.labeled_by != "head" or settings.learned_by != "head"

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass over both views, the loss of known labels and that of pseudo-labels."""
        chosen, images = self.settings, batch.images
        both = images if batch.strong is None else torch.cat((images, batch.strong))
        output: Output = model(both, maps=self.needs_maps(chosen))
        known = batch.labels if batch.strong is None else torch.cat((batch.labels, batch.labels))
        supervised = self._loss(output.logits, known)
        with torch.no_grad():
            weak = self._scores(output, chosen.labeled_by)[: len(images)]
            pseudo = pseudo_labels(weak, batch.labels, chosen.threshold)
        parts = {"known": supervised.detach()}
        if chosen.pseudo == "off":
            pseudo.zero_()
            loss = supervised
        else:
            learned = self._scores(output, chosen.learned_by)[-len(images) :]
            unsupervised = self._loss(learned, pseudo)
            parts["pseudo"] = unsupervised.detach()
            loss = supervised + unsupervised
        logits = output.logits[: len(images)].detach()
        return {"loss": loss, "logits": logits, "targets": batch.labels + pseudo, **parts}

    def _scores(self, output: Output, by: str) -> Tensor:
        """B×C logits of the head, or of its class maps."""
        if by == "head" or output.maps is None:
            return output.logits
        return saliency_logits(output.maps, 0.0 if by == "gap" else self.settings.label_alpha, self.settings.label_k)

    def _loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        mean = losses.per_image_bce if self.settings.normalize == "image" else losses.known_mean_bce
        return mean(logits, labels)


def pseudo_labels(logits: Tensor, labels: Tensor, threshold: float) -> Tensor:
    """B×C of +1/−1 where a label is unknown and its probability at least `threshold`, or at most 1 − it; else 0."""
    probability = torch.sigmoid(logits.float())
    sign = (probability >= threshold).to(labels.dtype) - (1 - probability >= threshold).to(labels.dtype)
    return torch.where(labels == 0, sign, 0)
