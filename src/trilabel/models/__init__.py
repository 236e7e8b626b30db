"""Models: a backbone, a head on it, an optional graph between the scores, and their output."""

from trilabel.models.backbone import Backbone, create_backbone, with_synced_batch_norm
from trilabel.models.classifier import Classifier, FeatureClassifier, Output
from trilabel.models.create import create_head, create_model
from trilabel.models.graphs import GRAPHS, check_graph
from trilabel.models.heads import HEADS, Head, check_head

__all__ = [
    "GRAPHS",
    "HEADS",
    "Backbone",
    "Classifier",
    "FeatureClassifier",
    "Head",
    "Output",
    "check_graph",
    "check_head",
    "create_backbone",
    "create_head",
    "create_model",
    "with_synced_batch_norm",
]
