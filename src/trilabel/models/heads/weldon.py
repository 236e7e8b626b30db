"""WELDON: the cells where a class is most visible and those where it is least visible (as in Durand 2019)."""

from dataclasses import dataclass

from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.models.heads.base import MapHead
from trilabel.models.heads.pooling import mean_of_extremes


@dataclass(frozen=True)
class WeldonSettings:
    """Shares of the cells, rounded to whole cells, at least one."""

    top: float = 0.1
    """The share with the highest scores of a class."""
    bottom: float = 0.1
    """The share with the lowest scores of a class."""

    def __post_init__(self) -> None:
        if not (0 < self.top <= 1 and 0 < self.bottom <= 1):
            raise TrilabelError(
                f"weldon: top and bottom must be shares, above 0 and up to 1, not {self.top} and {self.bottom}"
            )


class WeldonHead(MapHead[WeldonSettings]):
    """logit = ½ (mean of the top cells + mean of the bottom cells of the class map)."""

    Settings = WeldonSettings
    description = "mean of the highest and the lowest scores of each class map (WELDON)"

    def pool(self, maps: Tensor) -> Tensor:
        """B×C×h×w class maps -> B×C logits."""
        cells = maps.shape[2] * maps.shape[3]
        top, bottom = (max(1, round(share * cells)) for share in (self.settings.top, self.settings.bottom))
        return (mean_of_extremes(maps, top) + mean_of_extremes(maps, bottom, largest=False)) / 2
