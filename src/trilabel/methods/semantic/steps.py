"""What the methods on class features have in common: one forward pass and the losses of all three."""

from typing import NamedTuple, cast

from torch import Tensor, nn
from torch.nn import functional as F

from trilabel.losses.co_occurrence import co_occurrence
from trilabel.losses.contrastive import contrastive
from trilabel.methods.base import Batch
from trilabel.models import FeatureClassifier
from trilabel.models.heads.semantic import Attention, SemanticHead

_CONTRASTIVE_WEIGHT = 0.05
_CO_OCCURRENCE_WEIGHT = 10.0


class Pass(NamedTuple):
    """A forward pass over B images."""

    head: SemanticHead
    attention: Attention
    features: Tensor  # B×C×D, of each class
    logits: Tensor  # B×C


def forward(model: nn.Module, images: Tensor) -> Pass:
    """Images through the model, with the class features kept."""
    classifier = cast(FeatureClassifier, model)
    head = cast(SemanticHead, classifier.head)
    attention = head.attention(classifier.reduce_features(images))
    features = attention.features
    return Pass(head, attention, features, head.score(features))


def ramp(batch: Batch) -> float:
    """Weight of the contrastive and pair losses: rises from 0 to 1 over the first epoch."""
    return batch.share if batch.epoch == 1 else 1.0


def ramped_contrastive(features: Tensor, batch: Batch) -> Tensor:
    """The contrastive loss with its weight."""
    return _CONTRASTIVE_WEIGHT * ramp(batch) * contrastive(features, batch.labels)


def ramped_co_occurrence(pairs: Tensor, batch: Batch) -> Tensor:
    """The loss of pairs of classes (B×P logits) with its weight; 0 where there is one class only."""
    return _CO_OCCURRENCE_WEIGHT * ramp(batch) * (co_occurrence(pairs, batch.labels) if pairs.shape[1] else pairs.sum())


def likeness(features: Tensor, examples: Tensor) -> Tensor:
    """B×C×D features and C×K×D examples -> B×C: the mean cosine to the examples of the class; zero vectors give 0."""
    unit = F.normalize(features.float(), dim=2, eps=1e-9)
    mean = F.normalize(examples.float(), dim=2, eps=1e-9).mean(1)
    return (unit * mean).sum(2)  # not by einsum, which autocast would do in half precision
