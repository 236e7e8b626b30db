"""`check_head` names what is wrong with heads that break the contract; ours pass it in tests/models/heads."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from trilabel.labels import Labels
from trilabel.models.heads.base import MapHead
from trilabel.settings import NoSettings
from trilabel.testing import check_head


class Good(MapHead[NoSettings]):
    """The largest cell."""

    description = "the largest score of a class map"

    def pool(self, maps: Tensor) -> Tensor:
        """The largest."""
        return maps.amax((2, 3))


def test_a_good_one_passes() -> None:
    check_head(Good)


class Anonymous(Good):
    """Says nothing of itself."""

    description = ""


class Neighborly(Good):
    """Looks at other images."""

    def pool(self, maps: Tensor) -> Tensor:
        """Relative to the batch."""
        return maps.amax((2, 3)) - maps.mean()


class Flattening(Good):
    """Reduces, and says that it does not."""

    def reduce_features(self, feature_map: Tensor) -> Tensor:
        """The mean."""
        return feature_map.mean((2, 3), keepdim=True)


class Keeping(Good):
    """Keeps the map, and says that it does not."""

    keeps_map = False


class Forgetful(Good):
    """Remembers labels in an attribute."""

    def __init__(self, features: int, classes: int, settings: Any = None, labels: Labels | None = None) -> None:
        super().__init__(features, classes, settings, labels)
        self.known = 1.0 if labels is None else 2.0

    def pool(self, maps: Tensor) -> Tensor:
        """Scaled by it."""
        return self.known * maps.amax((2, 3))


class Growing(Good):
    """Has a parameter only where it has labels."""

    def __init__(self, features: int, classes: int, settings: Any = None, labels: Labels | None = None) -> None:
        super().__init__(features, classes, settings, labels)
        if labels is not None:
            self.own = nn.Parameter(torch.zeros(1))


class Waiting(Good):
    """Reads a value off the device."""

    def pool(self, maps: Tensor) -> Tensor:
        """Asks for the largest."""
        return maps.amax((2, 3)) * (1.0 if maps.max() > -1e9 else 2.0)


@pytest.mark.parametrize(
    ("kind", "complaint"),
    [
        (Anonymous, "description must be one short line"),
        (Neighborly, "the logits of an image depend on the other images of its batch"),
        (Flattening, "reduce_features must give the whole map, since keeps_map is set"),
        (Keeping, "reduce_features keeps the whole map: set keeps_map"),
        (Forgetful, "made without labels and loaded, it gives other logits"),
        (Growing, "own"),
        (Waiting, "it reads a value, and so would wait for the device"),
    ],
)
def test_what_is_wrong_is_named(kind: type[Good], complaint: str) -> None:
    with pytest.raises(Exception, match=complaint):
        check_head(kind)
