"""Files of weights whose batch norms remember what they saw, as those of trained networks do."""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from trilabel.models import create_backbone


def write_weights(file: Path, name: str, images: Tensor, seed: int = 0) -> Path:
    """Random weights of this backbone, whose batch norms have the statistics of these images (uint8)."""
    torch.manual_seed(seed)
    backbone = create_backbone(name).train()
    for norm in backbone.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.momentum = None  # type: ignore[assignment]  # a mean over all that it sees
            nn.init.uniform_(norm.weight, 0.5, 1.5)
            nn.init.uniform_(norm.bias, -0.5, 0.5)
    mean, std = (torch.tensor(color).view(3, 1, 1) for color in (backbone.mean, backbone.std))
    with torch.no_grad():
        backbone((images.float() / 255 - mean) / std)
    save_file({key: value.clone() for key, value in backbone.network.state_dict().items()}, file)  # type: ignore
    return file
