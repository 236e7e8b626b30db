"""The heads by name. Adding one: a file here, a line in BUILT_IN, a row in docs/methods.md, a test file."""

from collections.abc import Mapping
from typing import Any

from trilabel.models.heads.base import Head
from trilabel.models.heads.embedding import EmbeddingHead
from trilabel.models.heads.gap import GapHead
from trilabel.models.heads.gcn import GcnHead
from trilabel.models.heads.label_rnn import LabelRnnHead
from trilabel.models.heads.latent_noise import LatentNoiseHead
from trilabel.models.heads.saliency import SaliencyHead
from trilabel.models.heads.semantic import SemanticHead
from trilabel.models.heads.weldon import WeldonHead
from trilabel.plugins import Registry
from trilabel.settings import settings_of

__all__ = ["HEADS", "Head", "check_head", "register_head"]

BUILT_IN: dict[str, type[Head[Any]]] = {
    "gap": GapHead,
    "weldon": WeldonHead,
    "saliency": SaliencyHead,
    "embedding": EmbeddingHead,
    "gcn": GcnHead,
    "semantic": SemanticHead,
    "latent-noise": LatentNoiseHead,
    "label-rnn": LabelRnnHead,
}


def _is_head(component: Any) -> bool:
    return isinstance(component, type) and issubclass(component, Head)


HEADS: Registry[type[Head[Any]]] = Registry("head", BUILT_IN, "a class derived from trilabel.models.Head", _is_head)
register_head = HEADS.register


def check_head(name: str, settings: Mapping[str, Any]) -> Any:
    """The settings of the head `name` as its dataclass; an unknown name or setting is an error."""
    return settings_of(HEADS.find(name).Settings, settings, name, "head")
