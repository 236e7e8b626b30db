"""Backbones: images in, feature maps out. The only file that knows timm."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import timm
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.models.tiny import TinyNet


class Backbone(nn.Module):
    """A network from images (B×3×S×S, normalized) to a feature map (B×D×h×w), and how it wants its images."""

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
        feature_map = _as_map(self.network, self.network.forward_features(images))  # type: ignore[operator]
        # VGG's two layers of 4,096, as convolutions.
        return self.network.pre_logits(feature_map) if _has_layers_on_top(self.network) else feature_map  # type: ignore


def create_backbone(name: str, weights: str | None = None, image_size: int | None = None) -> Backbone:
    """A backbone by name.

    name: "tiny", or any timm model. "-v1" behind the name of a timm bottleneck ResNet moves the stride of each stage
        from the 3×3 to the first 1×1 convolution (the original ResNet, as Keras and Caffe weights have it).
    weights: a .safetensors file or a folder that holds one; the folder of a run, to start from its best model; "hub"
        downloads timm's own; None starts at random.
    image_size: pixels a side; None takes what the weights were trained at.
    """
    if weights is not None and is_run(weights):
        backbone = create_backbone(name, None, image_size)
        load_from_run(backbone, weights, "model.backbone.", f"backbone {name!r}")
        return backbone
    if name == "tiny":
        if weights is not None:
            if weights != "hub":
                _weights_file(weights)  # a name that is not there is the more likely mistake
            raise TrilabelError(
                "the tiny network has no pretrained weights; leave weights out, name a run of it, or a timm backbone"
            )
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
    patch = getattr(getattr(network, "patch_embed", None), "patch_size", None)
    if isinstance(patch, tuple) and size % patch[0]:
        raise TrilabelError(f"backbone {name!r} cuts images into patches of {patch[0]} pixels; {size} is no multiple")
    features = network.head_hidden_size if _has_layers_on_top(network) else network.num_features
    return Backbone(network, int(features), size, tuple(wants["mean"]), tuple(wants["std"]))


def _has_layers_on_top(network: Any) -> bool:
    layers = getattr(network, "pre_logits", None)
    return isinstance(layers, nn.Module) and any(True for _ in layers.parameters())


def is_run(weights: str) -> bool:
    """Whether this names the folder of a run, rather than a file of weights."""
    return all((Path(weights) / part).is_file() for part in ("config.json", "best.safetensors"))


def load_from_run(module: nn.Module, run: str, start: str, what: str) -> None:
    """Loads a part of a run's best model, whose tensors have names that begin with `start`, into `module`."""
    best = Path(run) / "best.safetensors"
    complaint = f"{best}: the weights of this run do not fit {what}"
    try:
        with safe_open(best, "pt") as file:
            found = {key.removeprefix(start): file.get_tensor(key) for key in file.keys() if key.startswith(start)}  # noqa: SIM118
    except SafetensorError as error:
        raise TrilabelError(f"{complaint} ({error})") from error
    shapes, wanted = ({key: value.shape for key, value in part.items()} for part in (found, module.state_dict()))
    strays = sorted(key for key in shapes.keys() | wanted.keys() if shapes.get(key) != wanted.get(key))
    if strays:  # torch would name them all, in thousands of characters
        raise TrilabelError(f"{complaint} ({len(strays)} parts differ, e.g. {strays[0]!r})")
    module.load_state_dict(found)


def _create(name: str, weights: str | None, image_size: int | None) -> Any:
    options: dict[str, Any] = {"num_classes": 0, "global_pool": ""}
    complaint = f"backbone {name!r} cannot be made as a feature extractor"
    if weights == "hub":
        options["pretrained"] = True
        complaint = f"backbone {name!r} could not be made with weights from the hub; give a .safetensors file instead"
    elif weights is not None:
        # timm adapts the file to the model (first layer, position embeddings) as it does for its own weights. Some
        # models would rather read another format (custom_load); more than 0 classes makes it expect a classifier.
        file = {"file": str(_weights_file(weights)), "custom_load": False, "num_classes": 1}
        options |= {"pretrained": True, "pretrained_cfg_overlay": file}
        complaint = f"{weights}: these weights do not fit backbone {name!r}"
    try:
        with _watching_loads() as loads:
            try:
                network = timm.create_model(name, img_size=image_size, **options)
            except TypeError:  # convolutional networks take any size and refuse the argument
                network = timm.create_model(name, **options)
    except Exception as error:  # timm, safetensors and the hub raise a dozen kinds
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise TrilabelError(f"{complaint} ({' '.join(lines[:2])})") from error
    if weights not in (None, "hub") and (strays := _strays(network, loads)):
        raise TrilabelError(f"{complaint} ({len(strays)} parts differ, e.g. {strays[0]!r})")
    return network


@contextmanager
def _watching_loads() -> Iterator[list[Any]]:
    """Collects what load_state_dict returns while the block runs.

    Since the classifier is left out, timm loads leniently: a file of another network would leave this one random, with
    no more than a line in the log.
    """
    load, log, results = nn.Module.load_state_dict, logging.getLogger("timm.models._builder"), list[Any]()
    level = log.level

    def watched(self: nn.Module, *args: Any, **options: Any) -> Any:
        results.append(load(self, *args, **options))
        return results[-1]

    nn.Module.load_state_dict = watched  # type: ignore[method-assign]
    log.setLevel(logging.ERROR)
    try:
        yield results
    finally:
        nn.Module.load_state_dict = load  # type: ignore[method-assign]
        log.setLevel(level)


def _strays(network: Any, loads: list[Any]) -> list[str]:
    """What the network has and the file has not, or the other way round; classifier and last normalization apart."""
    parts = {name.split(".")[0] for name, _ in network.named_parameters()} - {"head"}
    missing = [key for load in loads for key in load.missing_keys if key.split(".")[0] not in ("norm", "fc_norm")]
    return missing + [key for load in loads for key in load.unexpected_keys if key.split(".")[0] in parts]


def _weights_file(weights: str) -> Path:
    path = Path(weights)
    if path.is_dir():
        found = sorted(path.glob("*.safetensors"))
        if len(found) != 1:
            raise TrilabelError(f"{path}: expected one .safetensors file in this folder, found {len(found)}")
        path = found[0]
    if not path.is_file():
        raise TrilabelError(
            f'{path}: no such weights file (a .safetensors file, a folder with one, a run, or "hub" to download)'
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
    if isinstance(features, Tensor) and features.ndim == 4:
        return features.permute(0, 3, 1, 2) if getattr(network, "output_fmt", "NCHW") == "NHWC" else features
    grid = getattr(getattr(network, "patch_embed", None), "grid_size", None)
    skipped = getattr(network, "num_prefix_tokens", 0)
    if grid is None or not isinstance(features, Tensor) or features.shape[1] != skipped + grid[0] * grid[1]:
        raise TrilabelError(
            f"a {type(network).__name__} gives no feature map that trilabel can read; choose another backbone"
        )
    return features[:, skipped:].transpose(1, 2).reshape(len(features), -1, *grid)
