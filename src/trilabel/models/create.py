"""From a configuration to a classifier."""

from trilabel.config import Config
from trilabel.labels import Labels
from trilabel.models.backbone import create_backbone, load_from_run
from trilabel.models.classifier import Classifier
from trilabel.models.graphs import GRAPHS, GraphHead, check_graph
from trilabel.models.heads import HEADS, check_head


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
    head_settings = check_head(config.head, config.head_settings)
    graph_settings = check_graph(config.graph, config.graph_settings)
    backbone = create_backbone(config.backbone, weights, image_size)
    head = HEADS[config.head](backbone.features, classes, head_settings, labels)
    if graph_settings is not None:
        head = GraphHead(head, GRAPHS[config.graph](classes, graph_settings))
    if config.keep_head and weights is not None:
        load_from_run(head, weights, "model.head.", f"head {config.head!r} of {classes} classes")
    return Classifier(backbone, head)
