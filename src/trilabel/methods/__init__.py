"""The methods by name. Adding one: a file here, a line in BUILT_IN, a row in docs/methods.md, a test file."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from trilabel.errors import TrilabelError
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
from trilabel.methods.posterior import Posterior, PosteriorSettings
from trilabel.methods.posterior.sources import find_source
from trilabel.methods.ranking import Ranking
from trilabel.methods.robust import Hill, Splc
from trilabel.methods.role import Role
from trilabel.methods.selective import Selective
from trilabel.methods.self_training import SelfTraining
from trilabel.methods.semantic import HeterogeneousTransfer, SemanticBlending, SemanticTransfer
from trilabel.methods.taught import Taught
from trilabel.plugins import Registry
from trilabel.settings import settings_of

__all__ = ["METHODS", "AllReduce", "Batch", "Choice", "Method", "check_method", "choose_method", "create_method"]
__all__ += ["register_method"]

BUILT_IN: dict[str, type[Method[Any]]] = {
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


def _is_method(component: Any) -> bool:
    return isinstance(component, type) and issubclass(component, Method)


METHODS: Registry[type[Method[Any]]] = Registry(
    "method", BUILT_IN, "a class derived from trilabel.methods.Method", _is_method
)
register_method = METHODS.register

_NEGATIVES_WORTH_A_FIT = 200  # known ones of half of the classes
_TOO_FEW = (
    "not posterior: how often labels are known cannot be learned well from so few negatives; 100 fully labelled "
    "validation images would allow it"
)


def create_method(
    name: str, settings: Mapping[str, Any], labels: Labels, features: int = 0, validation: Labels | None = None
) -> Method[Any]:
    """The method `name` for training images with these labels (see `Method`); an error if it cannot learn from them."""
    chosen = check_method(name, settings, labels, validation)
    return METHODS.find(name)(chosen, labels, features, validation)


def check_method(name: str, settings: Mapping[str, Any], labels: Labels, validation: Labels | None = None) -> Any:
    """The settings of the method `name` as its dataclass; an error if they are wrong or do not suit the labels.

    validation: labels of the validation images; None where there are none.
    """
    method = METHODS.find(name)
    chosen = settings_of(method.Settings, settings, name)
    method.check(chosen, labels)
    method.check_sample(chosen, labels, validation)
    return chosen


class Choice(NamedTuple):
    """A method for labels, where the user named none."""

    method: str
    settings: dict[str, Any]
    note: str = ""  # what would allow a better one


def choose_method(
    labels: Labels,
    validation: Labels | None = None,
    given: Mapping[str, Any] | None = None,
    relabels: bool = False,
) -> Choice:
    """The method where the user named none: posterior, if something is unknown and its rates can be found out.

    Otherwise known-only if half of the classes or more have known negatives, else assume-negative with a small weight:
    with positives alone, plain AN ranks no better and hardly ever predicts a class as present.

    validation: labels of the validation images. given: settings of the user, which not every method has. relabels:
    unknown labels are also filled in between epochs, so that rates of known labels would no longer hold.
    """
    without, classes = one_sided(labels)
    other = Choice("assume-negative", {"weight": None}) if 2 * without > classes else Choice("known-only", {})
    other = Choice(other.method, dict(given or other.settings))
    if labels.known_share == 1 or relabels or not _has("posterior", given):
        return other
    names_rates = set(given or ()) & {"rates", "positives_known", "negatives_known", "table", "fit_epochs"}
    may_do_without = other.method == "known-only" and not names_rates and _has(other.method, given)
    if may_do_without and _too_few_to_fit(labels, validation):
        return other._replace(note=_TOO_FEW)
    try:
        check_method("posterior", given or {}, labels, validation)
        return Choice("posterior", dict(given or {}))
    except TrilabelError as error:
        if given and not _has(other.method, given):
            raise
        return other._replace(note=f"not {error}")


def _too_few_to_fit(labels: Labels, validation: Labels | None) -> bool:
    """Whether rates would be fitted, on fewer negatives than that is worth (400 photographs: it costs 0.8 mAP)."""
    try:
        fitted = find_source(PosteriorSettings(), labels, validation).kind == "fit"
    except TrilabelError:
        return False
    return fitted and float(np.median(labels.counts_per_class()[1])) < _NEGATIVES_WORTH_A_FIT


def _has(method: str, settings: Mapping[str, Any] | None) -> bool:
    """Whether a method has settings of these names."""
    return set(settings or ()) <= {field.name for field in fields(METHODS[method].Settings)}
