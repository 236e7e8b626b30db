"""Backbones: images in, feature maps out. The only file that knows timm."""

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import timm
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.models.tiny import TinyNet


class Backbone(nn.Module):
    """A network from images (B×3×S×S, normalised) to a feature map (B×D×h×w), and how it wants its images."""

    def __init__(
        self, network: nn.Module, features: int, image_size: int, mean: tuple[float, ...], std: tuple[float, ...]
    ) -> None:
        super().__init__()
        self.network = network
        self.features = features
        self.image_size = image_size
        self.mean = mean
        self.std = std

    def forward(self, images: Tensor) -> Tensor:
        """B×3×S×S -> B×D×h×w."""
        if isinstance(self.network, TinyNet):
            feature_map: Tensor = self.network(images)
            return feature_map
        return _as_map(self.network, self.network.forward_features(images))  # type: ignore[operator]


def create_backbone(name: str, weights: str | None = None, image_size: int | None = None) -> Backbone:
    """A backbone by name.

    name: "tiny", or any timm model. "-v1" behind the name of a timm bottleneck ResNet moves the stride of each stage
        from the 3×3 to the first 1×1 convolution (the original ResNet, as Keras and Caffe weights have it).
    weights: a .safetensors file or a folder that holds one; "hub" downloads timm's own; None starts at random.
    image_size: pixels a side; None takes what the weights were trained at.
    """
    if name == "tiny":
        if weights is not None:
            raise TrilabelError("the tiny network has no pretrained weights; leave weights out or name a timm backbone")
        network = TinyNet()
        return Backbone(network, network.num_features, image_size or 64, (0.5,) * 3, (0.25,) * 3)
    timm_name = name.removesuffix("-v1")
    if not timm.is_model(timm_name):
        close = get_close_matches(timm_name, timm.list_models(), 4, 0.5)
        raise TrilabelError(f"no backbone named {timm_name!r} in timm; close ones: {', '.join(close) or 'none'}")
    network = _create(timm_name, weights, image_size)
    if name.endswith("-v1"):
        _stride_in_first_convolution(network, name)
    wants = network.pretrained_cfg
    size = image_size or int(wants["input_size"][-1])
    return Backbone(network, int(network.num_features), size, tuple(wants["mean"]), tuple(wants["std"]))


def _create(name: str, weights: str | None, image_size: int | None) -> Any:
    options: dict[str, Any] = {"num_classes": 0, "global_pool": ""}
    if weights == "hub":
        options["pretrained"] = True
    elif weights is not None:
        # timm adapts the file to the model (first layer, position embeddings) as it does for its own weights.
        options |= {"pretrained": True, "pretrained_cfg_overlay": {"file": str(_weights_file(weights))}}
    try:
        try:
            return timm.create_model(name, img_size=image_size, **options)
        except TypeError:  # convolutional networks take any size and refuse the argument
            return timm.create_model(name, **options)
    except (RuntimeError, KeyError) as error:
        first = str(error).strip().splitlines()[0]
        raise TrilabelError(f"{weights}: these weights do not fit backbone {name!r} ({first})") from error


def _weights_file(weights: str) -> Path:
    path = Path(weights)
    if path.is_dir():
        found = sorted(path.glob("*.safetensors"))
        if len(found) != 1:
            raise TrilabelError(f"{path}: expected one .safetensors file in this folder, found {len(found)}")
        path = found[0]
    if not path.is_file():
        raise TrilabelError(
            f'{path}: no such weights file (a .safetensors file, a folder with one, or "hub" to download)'
        )
    if path.suffix != ".safetensors":
        raise TrilabelError(
            f"{path}: only .safetensors weights are read, because other formats can run code; convert it once with "
            "safetensors.torch.save_file(torch.load(FILE, weights_only=True), 'weights.safetensors')"
        )
    return path


def _stride_in_first_convolution(network: Any, name: str) -> None:
    for stage in ("layer2", "layer3", "layer4"):
        block = getattr(network, stage, [None])[0]
        if not hasattr(block, "conv3") or block.conv2.stride != (2, 2):
            raise TrilabelError(f"{name!r}: -v1 is for timm's bottleneck ResNets (resnet50, resnet101, …)")
        block.conv1.stride, block.conv2.stride = (2, 2), (1, 1)


def _as_map(network: Any, features: Tensor) -> Tensor:
    """What timm's forward_features gave (channels first or last, or tokens) as B×D×h×w."""
    if features.ndim == 4:
        return features.permute(0, 3, 1, 2) if getattr(network, "output_fmt", "NCHW") == "NHWC" else features
    tokens = features[:, getattr(network, "num_prefix_tokens", 0) :]
    height, width = network.patch_embed.grid_size
    return tokens.transpose(1, 2).reshape(len(tokens), -1, height, width)
