"""The graphs between classes by name, and how one is added to a head."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.models.heads.base import Head
from trilabel.models.label_gnn import GnnSettings, LabelGnn
from trilabel.settings import NoSettings, settings_of

GRAPHS: dict[str, type[LabelGnn]] = {"gnn": LabelGnn}


def check_graph(name: str, settings: Mapping[str, Any]) -> GnnSettings | None:
    """The settings of the graph `name` as its dataclass, None for "none"; an unknown name or setting is an error."""
    if name == "none":
        if settings:
            raise TrilabelError(f"{', '.join(settings)}: settings of a graph, but the graph is none; pass --graph gnn")
        return None
    if name not in GRAPHS:
        raise unknown_name_error("graph", name, ("none", *GRAPHS))
    return settings_of(GRAPHS[name].Settings, settings, name, "graph")


class GraphHead(Head[NoSettings]):
    """A head whose logits pass through a graph of the classes; its class maps are those of the head alone."""

    def __init__(self, head: Head[Any], graph: nn.Module) -> None:
        nn.Module.__init__(self)  # features, classes and labels are the inner head's
        self.settings = NoSettings()
        self.head = head
        self.graph = graph

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """The features that the head needs."""
        return self.head.reduce_features(feature_map)

    def forward(self, features: Tensor) -> Tensor:
        """The result of `reduce_features` -> B×C logits."""
        logits: Tensor = self.graph(self.head(features))
        return logits

    def maps(self, feature_map: Tensor) -> Tensor:
        """The class maps of the head."""
        return self.head.maps(feature_map)

    def start_at(self, logits: Tensor) -> None:
        """Sets the bias of the head."""
        self.head.start_at(logits)
