"""From a configuration to a classifier."""

from typing import Any

from trilabel.config import Config
from trilabel.labels import Labels
from trilabel.models.backbone import create_backbone, load_from_run
from trilabel.models.classifier import Classifier
from trilabel.models.graphs import GRAPHS, GraphHead, check_graph
from trilabel.models.heads import HEADS, check_head
from trilabel.models.heads.base import Head


def create_model(
    config: Config,
    classes: int,
    image_size: int | None = None,
    weights: str | None = None,
    labels: Labels | None = None,
) -> Classifier:
    """The classifier that a configuration names, with that many classes.

    image_size, weights: as `create_backbone` takes them, in place of the configuration's own. A run that resumes or is
        loaded has its weights in its checkpoint and its image size in its folder.
    labels: of the training images, for heads that compute something from them; None where a checkpoint will be loaded.
    """
    check_head(config.head, config.head_settings)
    check_graph(config.graph, config.graph_settings)
    backbone = create_backbone(config.backbone, weights, image_size)
    head = create_head(config, backbone.features, classes, labels)
    if config.keep_head and weights is not None:
        load_from_run(head, weights, "model.head.", f"head {config.head!r} of {classes} classes")
    return Classifier(backbone, head)


def create_head(config: Config, features: int, classes: int, labels: Labels | None = None) -> Head[Any]:
    """The head and graph that a configuration names, on so many features."""
    head: Head[Any] = HEADS[config.head](features, classes, check_head(config.head, config.head_settings), labels)
    graph_settings = check_graph(config.graph, config.graph_settings)
    return head if graph_settings is None else GraphHead(head, GRAPHS[config.graph](classes, graph_settings))
