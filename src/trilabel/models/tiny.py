"""A network small enough to be trained on a laptop's CPU within minutes."""

from torch import Tensor, nn


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class TinyNet(nn.Module):
    """Five convolutions for images of about 64 pixels: B×3×H×W -> feature map B×`num_features`×H/8×W/8.

    The resolution falls before the channels grow, because the first, large maps take most of the time and have hardly
    any of the weights. The last layer takes the maximum over each 3×3 neighborhood, so that a small object still counts
    when a head averages over the map.
    """

    def __init__(self, num_features: int = 128) -> None:
        super().__init__()
        self.num_features = num_features
        self.stages = nn.Sequential(
            _stage(3, 16, stride=2),
            _stage(16, 32, stride=2),
            _stage(32, 64, stride=2),
            _stage(64, 96, stride=1),
            _stage(96, num_features, stride=1),
            nn.MaxPool2d(3, stride=1, padding=1),
        )

    def forward(self, images: Tensor) -> Tensor:
        """The feature map (B×D×h×w) of images (B×3×H×W, floating point, about −2…2)."""
        features: Tensor = self.stages(images)
        return features
