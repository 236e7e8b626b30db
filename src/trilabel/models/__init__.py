"""Models: a backbone, a head on it, perhaps a graph between the scores, and what they give."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from trilabel.config import Config
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.labels import Labels
from trilabel.models.backbone import Backbone, create_backbone, load_from_run
from trilabel.models.heads.basic import GapHead, Head, SaliencyHead, WeldonHead
from trilabel.models.heads.embedding import EmbeddingHead
from trilabel.models.heads.gcn import GcnHead
from trilabel.models.heads.label_rnn import LabelRnnHead
from trilabel.models.heads.latent_noise import LatentNoiseHead
from trilabel.models.label_gnn import LabelGnn
from trilabel.settings import settings_of

__all__ = [
    "GRAPHS",
    "HEADS",
    "Backbone",
    "Classifier",
    "FeatureClassifier",
    "Output",
    "create_backbone",
    "create_model",
]

HEADS: dict[str, type[Head]] = {
    "gap": GapHead,
    "weldon": WeldonHead,
    "saliency": SaliencyHead,
    "embedding": EmbeddingHead,
    "gcn": GcnHead,
    "latent-noise": LatentNoiseHead,
    "label-rnn": LabelRnnHead,
}
GRAPHS: dict[str, type[LabelGnn]] = {"gnn": LabelGnn}


class Output(NamedTuple):
    """What a model gives for a batch of B images."""

    logits: Tensor  # B×C
    features: Tensor  # B×D, pooled
    maps: Tensor | None = None  # B×C×h×w class maps, only where they were asked for


class Classifier(nn.Module):
    """Backbone and head."""

    def __init__(self, backbone: Backbone, head: Head) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head

    def reduce_features(self, images: Tensor) -> Tensor:
        """B×3×S×S normalized images -> what the head needs of them."""
        return self.head.reduce_features(self.backbone(images))

    def forward(self, images: Tensor, maps: bool = False) -> Output:
        """B×3×S×S normalized images -> Output."""
        feature_map = self.backbone(images)
        with float32_eval(self, feature_map) as feature_map:
            summary = self.head.reduce_features(feature_map)
            return Output(self.head(summary), pooled(summary), self.head.maps(feature_map) if maps else None)


class FeatureClassifier(nn.Module):
    """The head of a classifier behind the same face, fed with summaries computed before: the linear stage's model."""

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head

    def reduce_features(self, summary: Tensor) -> Tensor:
        """Nothing is left to do."""
        return summary

    def forward(self, summary: Tensor, maps: bool = False) -> Output:
        """Summaries (B×D for the gap head) -> Output."""
        if maps and summary.ndim == 2:
            raise TrilabelError("a method that needs class maps cannot be trained on features computed once; fine-tune")
        with float32_eval(self, summary) as summary:
            return Output(self.head(summary), pooled(summary), self.head.maps(summary) if maps else None)


@contextmanager
def float32_eval(model: nn.Module, features: Tensor) -> Iterator[Tensor]:
    """What a head that scores works on: float32, since in bf16 many scores would be equal. In training as it comes."""
    if model.training:
        yield features
        return
    with torch.autocast(features.device.type, enabled=False):
        yield features.float()


class WithGraph(Head):
    """A head whose scores go through a graph of the classes; its class maps are those of the head alone."""

    def __init__(self, head: Head, graph: nn.Module) -> None:
        nn.Module.__init__(self)
        self.head = head
        self.graph = graph

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """What the head needs."""
        return self.head.reduce_features(feature_map)

    def forward(self, summary: Tensor) -> Tensor:
        """A summary -> B×C logits."""
        logits: Tensor = self.graph(self.head(summary))
        return logits

    def maps(self, feature_map: Tensor) -> Tensor:
        """The head's."""
        return self.head.maps(feature_map)


def pooled(summary: Tensor) -> Tensor:
    """B×D features of a summary, which may be a map."""
    return summary if summary.ndim == 2 else summary.mean((2, 3))


def create_model(
    backbone: str,
    head: str,
    classes: int,
    weights: str | None = None,
    image_size: int | None = None,
    *,
    head_settings: Mapping[str, Any] | None = None,
    graph: str = "none",
    graph_settings: Mapping[str, Any] | None = None,
    labels: Labels | None = None,
) -> Classifier:
    """A classifier by the names of its parts (see `create_backbone`, HEADS and GRAPHS).

    labels: of the training images, for heads that read something off them; None where weights will be loaded.
    """
    chosen = check_head(head, head_settings or {})
    chosen_graph = check_graph(graph, graph_settings or {})
    trunk = create_backbone(backbone, weights, image_size)
    made = HEADS[head](trunk.features, classes, chosen, labels)
    return Classifier(trunk, made if chosen_graph is None else WithGraph(made, GRAPHS[graph](classes, chosen_graph)))


def model_of(
    config: Config,
    classes: int,
    image_size: int | None = None,
    weights: str | None = None,
    labels: Labels | None = None,
) -> Classifier:
    """The classifier that a configuration names; its weights are given apart, since a run has its own."""
    model = create_model(
        config.backbone,
        config.head,
        classes,
        weights,
        image_size,
        head_settings=config.head_settings,
        graph=config.graph,
        graph_settings=config.graph_settings,
        labels=labels,
    )
    if config.keep_head and weights is not None:
        load_from_run(model.head, weights, "model.head.", f"head {config.head!r} of {classes} classes")
    return model


def check_head(name: str, settings: Mapping[str, Any]) -> Any:
    """The settings of a head; a name or setting that there is not is an error."""
    if name not in HEADS:
        raise unknown_name_error("head", name, HEADS)
    return settings_of(HEADS[name].Settings, settings, name, "head")


def check_graph(name: str, settings: Mapping[str, Any]) -> Any:
    """The settings of a graph, None for none; a name or setting that there is not is an error."""
    if name != "none" and name not in GRAPHS:
        raise unknown_name_error("graph", name, ("none", *GRAPHS))
    if name == "none":
        if settings:
            raise TrilabelError(f"{', '.join(settings)}: settings of a graph, but the graph is none; pass --graph gnn")
        return None
    return settings_of(GRAPHS[name].Settings, settings, name, "graph")
