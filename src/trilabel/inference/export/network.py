"""The whole way from pixels to decisions as one network, to be written to a file."""

import torch
from torch import Tensor, nn

from trilabel.errors import TrilabelError, one_line
from trilabel.models import Classifier
from trilabel.training.decisions import Decisions

INPUT = "images"  # B×S×S×3, uint8, RGB, as Pillow gives them
OUTPUTS = ("probabilities", "present", "logits")  # B×C each: float32; true from the threshold on; before calibration


class DeployedNetwork(nn.Module):
    """Normalization, backbone, head, calibration and thresholds."""

    mean: Tensor
    std: Tensor
    shifts: Tensor
    thresholds: Tensor

    def __init__(self, classifier: Classifier, classes: int, decisions: Decisions | None) -> None:
        super().__init__()
        self.backbone, self.head = classifier.backbone, classifier.head
        for name, values in (("mean", self.backbone.mean), ("std", self.backbone.std)):
            self.register_buffer(name, 255 * torch.tensor(values).view(-1, 1, 1))
        self.slope = 1.0 if decisions is None else decisions.slope
        self.register_buffer("shifts", torch.tensor([0.0] * classes if decisions is None else decisions.shifts))
        limits = [0.5] * classes if decisions is None else decisions.thresholds
        self.register_buffer("thresholds", torch.tensor(limits))

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """B×S×S×3 uint8 -> (B×C probabilities, whether each class is present, logits as the network gives them)."""
        prepared = (images.permute(0, 3, 1, 2) - self.mean) / self.std
        logits: Tensor = self.head(self.head.reduce_features(self.backbone(prepared).float()))
        probabilities = torch.sigmoid(logits * self.slope + self.shifts)
        return probabilities, probabilities >= self.thresholds, logits


def traced(network: DeployedNetwork) -> "torch.export.ExportedProgram":
    """The network as a graph for any number of images, without traces of where its code is."""
    images = example(network.backbone.image_size, 2)
    try:
        with torch.no_grad():
            batch = {0: torch.export.Dim("batch", min=1)}
            program = torch.export.export(network, (images,), dynamic_shapes=(batch,), strict=False)
    except Exception as error:  # dozens of kinds, for code that depends on values
        raise TrilabelError(
            f"this network cannot be exported as a graph ({one_line(error)}); export it as a folder"
        ) from error
    for node in program.graph.nodes:
        for key in ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn", "from_node"):
            node.meta.pop(key, None)
    return program


def example(size: int, count: int) -> Tensor:
    """Images of random blocks of color, B×S×S×3 uint8: nobody's photographs."""
    draw = torch.Generator().manual_seed(count)
    blocks = torch.randint(0, 256, (count, 3, 8, 8), generator=draw).float()
    images = nn.functional.interpolate(blocks, (size, size), mode="bilinear").round().to(torch.uint8)
    return images.permute(0, 2, 3, 1).contiguous()
