"""A network in a file as a model uses it: images in, logits out."""

from collections.abc import Callable
from pathlib import Path

from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.models import Output


class ExportedNetwork(nn.Module):
    """Takes the place of a classifier; it has no features and no class maps."""

    def __init__(self, run: Callable[[Tensor], Tensor], image_size: int, file: Path) -> None:
        """run: B×S×S×3 uint8 images -> B×C logits, as the network gives them before calibration."""
        super().__init__()
        self.run, self.image_size, self.file = run, image_size, file

    def forward(self, images: Tensor, maps: bool = False) -> Output:
        """B×3×S×S uint8 images -> Output."""
        if maps:
            raise TrilabelError(f"{self.file}: an exported file gives no class maps; use the run or its model folder")
        logits = self.run(images.permute(0, 2, 3, 1).contiguous())
        return Output(logits, logits.new_zeros(len(logits), 0))
