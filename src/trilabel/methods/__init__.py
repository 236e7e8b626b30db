"""The methods by name. Adding one: a file here, a line in METHODS, a row in docs/methods.md, a test file."""

from collections.abc import Mapping
from typing import Any

from trilabel.errors import unknown_name_error
from trilabel.labels import Labels
from trilabel.methods.assume_negative import AssumeNegative
from trilabel.methods.asymmetric import Asymmetric, Focal
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import one_sided
from trilabel.methods.expected_positive import ExpectedPositive
from trilabel.methods.imcl import Imcl
from trilabel.methods.known_only import KnownOnly
from trilabel.methods.label_rnn import LabelRnn
from trilabel.methods.large_loss import LargeLoss
from trilabel.methods.latent_noise import LatentNoise
from trilabel.methods.posterior import Posterior
from trilabel.methods.ranking import Ranking
from trilabel.methods.robust import Hill, Splc
from trilabel.methods.role import Role
from trilabel.methods.selective import Selective
from trilabel.methods.self_training import SelfTraining
from trilabel.methods.semantic import HeterogeneousTransfer, SemanticBlending, SemanticTransfer
from trilabel.methods.taught import Taught
from trilabel.settings import settings_of

__all__ = ["METHODS", "AllReduce", "Batch", "Method", "check_method", "choose_method", "create_method"]

METHODS: dict[str, type[Method[Any]]] = {
    "known-only": KnownOnly,
    "assume-negative": AssumeNegative,
    "posterior": Posterior,
    "expected-positive": ExpectedPositive,
    "role": Role,
    "large-loss": LargeLoss,
    "focal": Focal,
    "asymmetric": Asymmetric,
    "hill": Hill,
    "splc": Splc,
    "selective": Selective,
    "self-training": SelfTraining,
    "ranking": Ranking,
    "imcl": Imcl,
    "semantic-transfer": SemanticTransfer,
    "heterogeneous-transfer": HeterogeneousTransfer,
    "semantic-blending": SemanticBlending,
    "latent-noise": LatentNoise,
    "label-rnn": LabelRnn,
    "taught": Taught,
}


def create_method(
    name: str, settings: Mapping[str, Any], labels: Labels, features: int = 0, validation: Labels | None = None
) -> Method[Any]:
    """The method `name` for training images with these labels (see `Method`); an error if it cannot learn from them."""
    chosen = check_method(name, settings, labels)
    return METHODS[name](chosen, labels, features, validation)


def check_method(name: str, settings: Mapping[str, Any], labels: Labels) -> Any:
    """The settings of the method `name` as its dataclass; an error if they are wrong or do not suit the labels."""
    if name not in METHODS:
        raise unknown_name_error("method", name, METHODS)
    chosen = settings_of(METHODS[name].Settings, settings, name)
    METHODS[name].check(chosen, labels)
    return chosen


def choose_method(labels: Labels) -> tuple[str, dict[str, Any]]:
    """(method, its settings) where the user named none: known-only if half of the classes or more have known negatives.

    Otherwise assumed negatives weigh little: with positives alone, plain AN ranks no better and hardly ever predicts a
    class as present.
    """
    without, classes = one_sided(labels)
    return ("assume-negative", {"weight": None}) if 2 * without > classes else ("known-only", {})
