"""Semantic-aware representation blending (SARB, Pu 2022): features of unknown classes mixed with known positives."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.losses.soft_bce import soft_known_bce
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import note_one_sided, require_both
from trilabel.methods.semantic.prototypes import Prototypes, prototypes_due
from trilabel.methods.semantic.steps import Pass, forward, ramped_contrastive

_QUADRANTS = 4
_SHARE_LR = 1e-5  # of α and β


@dataclass(frozen=True)
class SemanticBlendingSettings:
    """When blending begins, and with what."""

    start: int = 5
    """Epochs that learn from known labels alone."""
    every: int = 5
    """Prototypes are made again after this many epochs."""
    prototypes: int = 10
    """Prototypes of each class (of kind k-means)."""
    kind: Literal["k-means", "quadrants"] = "k-means"
    """k-means: cluster centers (SARB). quadrants: one prototype for each quarter of the image in which the class is
    seen best; a class is blended with one of another quarter (DSRB, probably SARB*)."""


class Blend(NamedTuple):
    """Class features of B images, some of them blended, and what to learn from them."""

    features: Tensor  # B×C×D
    targets: Tensor  # B×C, from −1 to 1
    known: Tensor  # B×C: where the label is known or the features are blended; a blend's target can be 0


class SemanticBlending(Method[SemanticBlendingSettings]):
    """Learns from blended class features as well, with targets as soft as the blend.

    With another image: where a class is unknown here and present there, f = α·f_here + (1 − α)·f_there, target 1 − α.
    With a prototype: of one unknown class per image, f = β·f + (1 − β)·prototype, target 1 − β. α and β are learned.
    """

    Settings = SemanticBlendingSettings
    description = "blends features of unknown classes with known positives of others (SARB); needs --head semantic"
    suits = "positives and negatives known"
    cost = "about twice plain BCE, and a pass over the training images every few epochs"
    heads = ("semantic",)
    less_memory = "use fewer classes, or a smaller --set head.channels"

    def __init__(
        self, settings: SemanticBlendingSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        self.notes = note_one_sided("semantic-blending", labels)
        self.prototypes = Prototypes(labels, _count(settings), features)
        self.alpha = nn.Parameter(torch.tensor(0.5))
        self.beta = nn.Parameter(torch.tensor(0.5))

    @classmethod
    def check(cls, settings: SemanticBlendingSettings, labels: Labels) -> None:
        """Needs both positives and negatives."""
        require_both("semantic-blending", labels)
        if settings.start < 0 or min(settings.every, settings.prototypes) < 1:
            raise TrilabelError("semantic-blending: start is 0 or more, every and prototypes 1 or more")

    @classmethod
    def memory_needed(cls, settings: SemanticBlendingSettings, labels: Labels, features: int = 0) -> int:
        """The prototypes with what they are made from."""
        return Prototypes.memory_needed(labels, _count(settings), features)

    @classmethod
    def begins_after(cls, settings: SemanticBlendingSettings, begun: bool = False) -> tuple[str, int]:
        """Each stage begins without blending."""
        return "start", settings.start

    def parameter_groups(self, lr: float = 1e-3) -> list[tuple[list[nn.Parameter], float]]:
        """α and β learn at the released rate, whatever the model's.

        At a larger one they soon reach 0 or 1, where the loss is least and nothing is blended.
        """
        return [([self.alpha, self.beta], _SHARE_LR / lr)]

    def surveys(self, epoch: int) -> bool:
        """Before the first epoch that blends, and every few epochs from there on."""
        return prototypes_due(epoch, self.settings.start, self.settings.every)

    def survey(self, model: nn.Module, batches: Iterable[Batch], all_reduce: AllReduce) -> None:
        """Makes the prototypes again."""
        passes = ((batch.rows, forward(model, batch.images)) for batch in batches)
        found = ((rows, out.features, self._quadrants(out)) for rows, out in passes)
        self.prototypes.renew(found, all_reduce, self.settings.kind)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass, two more of the blended class features, and the losses of all three."""
        labels = batch.labels
        out = forward(model, batch.images)
        alpha, beta = self.alpha, self.beta
        for share in (alpha, beta):  # clamped only in use, as released, it would have no gradient from 0 or 1 on
            share.data.clamp_(0, 1)
        known = losses.known_mean_bce(out.logits, labels)
        # Every parameter is part of the loss from the first epoch on, which several processes need.
        loss = known + ramped_contrastive(out.features, batch) + 0 * (alpha + beta)
        if batch.epoch > self.settings.start:
            draws = torch.rand(labels.shape, device=labels.device)
            for mixed, targets, known_or_mixed in (
                blend_images(out.features, labels, alpha),
                blend_prototypes(out.features, labels, beta, self._prototypes(out), self.prototypes.made, draws),
            ):
                loss = loss + soft_known_bce(out.head.score(mixed), targets, known_or_mixed)
        parts = {"known": known, "alpha": self.alpha, "beta": self.beta}
        return {
            "loss": loss,
            "logits": out.logits.detach(),
            "targets": labels,
            **{name: value.detach().clone() for name, value in parts.items()},  # as they are before the optimizer
        }

    def _quadrants(self, out: Pass) -> Tensor | None:
        return out.attention.quadrants() if self.settings.kind == "quadrants" else None

    def _prototypes(self, out: Pass) -> Tensor:
        """C×D or B×C×D: the prototype of each class to blend with, drawn at random."""
        vectors, own = self.prototypes.vectors, self._quadrants(out)
        if own is None:
            return vectors[:, torch.randint(vectors.shape[1], (1,), device=vectors.device)].squeeze(1)
        other = (own - torch.randint(1, _QUADRANTS, own.shape, device=own.device)) % _QUADRANTS
        return vectors[torch.arange(len(vectors), device=own.device), other]


def _count(settings: SemanticBlendingSettings) -> int:
    return _QUADRANTS if settings.kind == "quadrants" else settings.prototypes


def blend_images(features: Tensor, labels: Tensor, alpha: Tensor) -> Blend:
    """Blended with the image at the other end of the batch where that one shows an unknown class."""
    unknown_here = (labels == 0) & (labels.flip(0) > 0)
    mixed = torch.where(unknown_here[..., None], torch.lerp(features.flip(0), features, alpha.to(features)), features)
    return Blend(mixed, torch.where(unknown_here, 1 - alpha, labels.to(alpha.dtype)), unknown_here | (labels != 0))


def blend_prototypes(
    features: Tensor, labels: Tensor, beta: Tensor, prototypes: Tensor, made: Tensor, draws: Tensor
) -> Blend:
    """In each image the unknown class with the largest draw is blended with its prototype.

    An image without unknown labels of classes with prototypes stays as it is.
    """
    unknown = (labels == 0) & made
    chosen = torch.zeros_like(unknown).scatter_(1, draws.masked_fill(~unknown, -1).argmax(1, keepdim=True), True)
    chosen = chosen & unknown
    mixed = torch.lerp(prototypes.to(features).expand_as(features), features, beta.to(features))
    targets = torch.where(chosen, 1 - beta, labels.to(beta.dtype))
    return Blend(torch.where(chosen[..., None], mixed, features), targets, chosen | (labels != 0))
