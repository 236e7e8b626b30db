"""A network small enough to learn on a laptop's processor while one watches."""

from __future__ import annotations

from torch import Tensor, nn


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class TinyNet(nn.Module):
    """Six convolutions for images of about 64 pixels: B×3×H×W -> feature map B×`num_features`×H/8×W/8.

    The resolution falls early and the channels grow late, because on a processor the first, large maps
    cost nearly all of the time and hold hardly any of the weights.
    """

    def __init__(self, num_features: int = 128) -> None:
        super().__init__()
        self.num_features = num_features
        self.stages = nn.Sequential(
            _stage(3, 16, stride=2),
            _stage(16, 32, stride=2),
            _stage(32, 48, stride=1),
            _stage(48, 96, stride=2),
            _stage(96, num_features, stride=1),
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return the feature map (B×D×h×w) of the images (B×3×H×W, floating point)."""
        features: Tensor = self.stages(images)
        return features
