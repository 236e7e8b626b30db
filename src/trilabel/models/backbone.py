"""Backbones: images in, feature maps out. The only file that imports timm."""

import inspect
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import timm
import torch
from safetensors import SafetensorError, safe_open
from timm.layers import convert_sync_batchnorm
from torch import Tensor, nn

from trilabel.errors import TrilabelError
from trilabel.models.fingerprints import fitting_backbones, read_shapes
from trilabel.models.tiny import TinyNet

# That a CPU scores at once: what a network makes of so few images stays near, which takes half the time or less.
_PIXELS_AT_ONCE = 4 * 320 * 320
# The length of the channels of own classes, in lengths of the mean of all others.
_OWN_CLASSES = 1.2
_IMAGENET = 1000
# What timm itself gives to its filter of weights, for families of networks for which that is not the default.
_FILTER_OPTIONS: dict[str, dict[str, Any]] = {
    "flexivit": {"interpolation": "bilinear", "antialias": False},
    "deit": {"adapt_layer_scale": True},
}


def with_synced_batch_norm(model: nn.Module) -> nn.Module:
    """The model with batch norm over the batches of all processes, on GPUs; its weights keep their names."""
    converted: nn.Module = convert_sync_batchnorm(model)
    return converted


class Backbone(nn.Module):
    """A network from images (B×3×S×S, normalized) to a feature map (B×D×h×w), and the size and colors it expects.

    With classes of its own, those that it was pretrained on, the map has a channel for each of them as well, whose
    cells all have the root of its probability: what the network knows of the image beyond its features.
    """

    def __init__(
        self,
        network: nn.Module,
        features: int,
        image_size: int,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        classes: int = 0,
    ) -> None:
        super().__init__()
        self.network = network
        self.features = features + classes
        self.classes = classes
        self.image_size = image_size
        self.mean = mean
        self.std = std

    def forward(self, images: Tensor) -> Tensor:
        """B×3×S×S -> B×D×h×w."""
        whole = self.training or torch.is_grad_enabled() or torch.compiler.is_compiling()
        if whole or images.device.type != "cpu":
            return self._features(images)
        at_once = max(1, _PIXELS_AT_ONCE // (images.shape[2] * images.shape[3]))
        return torch.cat([self._features(part) for part in torch.split(images, at_once)])

    def _features(self, images: Tensor) -> Tensor:
        if isinstance(self.network, TinyNet):
            feature_map: Tensor = self.network(images)
            return feature_map
        output = self.network.forward_features(images)  # type: ignore[operator]
        feature_map = _as_map(self.network, output)
        if _has_layers_on_top(self.network):  # VGG's two layers of 4,096, as convolutions
            feature_map = self.network.pre_logits(feature_map)  # type: ignore[operator]
        return self._with_own_classes(feature_map, output) if self.classes else feature_map

    def _with_own_classes(self, feature_map: Tensor, output: Tensor) -> Tensor:
        """The map and the channels of the classes, which are scaled to count about as much as the other channels."""
        logits = self.network.forward_head(output).float()  # type: ignore[operator]
        roots = (logits.log_softmax(1) / 2).exp()  # of length 1
        length = feature_map.detach().float().mean((2, 3)).norm(dim=1, keepdim=True)
        channels = (_OWN_CLASSES * length * roots).to(feature_map.dtype)
        return torch.cat((feature_map, channels[:, :, None, None].expand(-1, -1, *feature_map.shape[2:])), 1)


class BackboneName(NamedTuple):
    """What the name of a backbone says.

    >>> BackboneName.read("resnet50-v1+1000")
    BackboneName(timm='resnet50', strides='-v1', classes=1000)
    """

    timm: str
    strides: str = ""
    classes: int | None = None  # None: left open

    @classmethod
    def read(cls, name: str) -> "BackboneName":
        """A name that is no backbone's is found out when it is made."""
        network, plus, count = name.partition("+")
        if plus and not (count.isascii() and count.isdecimal()):
            raise TrilabelError(f"backbone {name!r}: after the + comes a number, of the classes it was pretrained on")
        strides = next((each for each in ("-v1.5", "-v1") if network.endswith(each)), "")
        return cls(network.removesuffix(strides), strides, int(count) if plus else None)

    @property
    def network(self) -> str:
        """The name without classes."""
        return f"{self.timm}{self.strides}"


def create_backbone(name: str, weights: str | None = None, image_size: int | None = None) -> Backbone:
    """A backbone by name.

    name: "tiny", or any timm model. A timm bottleneck ResNet with "-v1" appended has the stride of each stage in its
        first 1×1 convolution instead of the 3×3 (the original ResNet, as Keras and Caffe weights have it); with
        "-v1.5" it is timm's own, said with emphasis. With "+1000" appended, its features also have a channel for each
        of the 1,000 classes that it was pretrained on.
    weights: a .safetensors file or a folder that holds one; the folder of a run, to start from its best model; "hub"
        downloads timm's own; None starts at random.
    image_size: pixels per side; None takes what the weights were trained at.
    """
    if weights is not None and is_run(weights):
        backbone = create_backbone(name, None, image_size)
        load_from_run(backbone, weights, "model.backbone.", f"backbone {name!r}")
        return backbone
    if name == "tiny":
        if weights is not None:
            if weights != "hub":
                weights_file(weights)  # a file that does not exist is the more likely mistake
            raise TrilabelError(
                "the tiny network has no pretrained weights; leave weights out, give a run, or use a timm backbone"
            )
        network = TinyNet()
        return Backbone(network, network.num_features, image_size or 64, (0.5,) * 3, (0.25,) * 3)
    parsed = BackboneName.read(name)
    classes = parsed.classes or 0
    _check_name(parsed.timm)
    network = _create(parsed.timm, weights, image_size, classes)
    if parsed.strides:
        _set_strides(network, parsed.network)
    expects = network.pretrained_cfg
    size = image_size or int(expects["input_size"][-1])
    patch = getattr(getattr(network, "patch_embed", None), "patch_size", None)
    if isinstance(patch, tuple) and size % patch[0]:
        raise TrilabelError(
            f"backbone {name!r} cuts images into patches of {patch[0]} pixels; {size} is not a multiple of that"
        )
    features = network.head_hidden_size if _has_layers_on_top(network) else network.num_features
    return Backbone(network, int(features), size, tuple(expects["mean"]), tuple(expects["std"]), classes)


def with_own_classes(name: str, weights: str | None) -> str:
    """The backbone, also with the classes that it was pretrained on, where these weights have the classifier.

    Only with ImageNet's 1,000: other outputs may be no classes, as CLIP's, or far more than the features. A name that
    says so already, or with "+0" that it should not, is kept, and so is that of a run.
    """
    parsed = BackboneName.read(name)
    if weights is None or name == "tiny" or parsed.classes is not None or is_run(weights):
        return name
    about = timm.get_pretrained_cfg(parsed.timm)
    if about is None or not isinstance(about.classifier, str):
        return name
    if weights == "hub":
        classes = about.num_classes
    else:
        classes = read_shapes(weights_file(weights)).get(f"{about.classifier}.weight", (0,))[0]
    return f"{name}+{classes}" if classes == _IMAGENET and _classifies(parsed.timm) else name


def _classifies(name: str) -> bool:
    """Whether a network has the same feature map with its classifier as without.

    Some of those that normalize tokens do so after pooling if they classify.
    """
    with torch.device("meta"), _without_timm_warnings():
        network = timm.create_model(name)
    return hasattr(network, "forward_head") and isinstance(getattr(network, "fc_norm", nn.Identity()), nn.Identity)


def _check_name(name: str) -> None:
    if not timm.is_model(name):
        close = get_close_matches(name, timm.list_models(), 4, 0.5)
        raise TrilabelError(f"no backbone named {name!r} in timm; close ones: {', '.join(close) or 'none'}")


def _has_layers_on_top(network: Any) -> bool:
    layers = getattr(network, "pre_logits", None)
    return isinstance(layers, nn.Module) and any(True for _ in layers.parameters())


def is_run(weights: str) -> bool:
    """Whether this is the folder of a run rather than a file of weights."""
    return all((Path(weights) / part).is_file() for part in ("config.json", "best.safetensors"))


def load_from_run(module: nn.Module, run: str, prefix: str, what: str) -> None:
    """Loads a part of a run's best model, the tensors whose names start with `prefix`, into `module`."""
    best = Path(run) / "best.safetensors"
    complaint = f"{best}: the weights of this run do not fit {what}"
    try:
        with safe_open(best, "pt") as file:
            found = {key.removeprefix(prefix): file.get_tensor(key) for key in file.keys() if key.startswith(prefix)}  # noqa: SIM118
    except SafetensorError as error:
        raise TrilabelError(f"{complaint} ({error})") from error
    shapes, wanted = ({key: value.shape for key, value in part.items()} for part in (found, module.state_dict()))
    _refuse(complaint, sorted(key for key in shapes.keys() | wanted.keys() if shapes.get(key) != wanted.get(key)))
    module.load_state_dict(found)


def _create(name: str, weights: str | None, image_size: int | None, classes: int) -> Any:
    """The timm network `name` as a feature extractor, with the weights of a file, of the hub, or at random.

    classes: of its classifier; 0: without.
    """
    file = None if weights in (None, "hub") else weights_file(str(weights))
    complaint = f"backbone {name!r} cannot be made as a feature extractor"
    if weights == "hub":
        complaint = f"backbone {name!r} could not be made with weights from the hub; give a .safetensors file instead"
    options: dict[str, Any] = {"pretrained": weights == "hub", "num_classes": classes}
    if not classes:
        options["global_pool"] = ""
    with _errors_in_one_line(complaint), _without_timm_warnings():
        try:
            network = timm.create_model(name, img_size=image_size, **options)
        except TypeError:  # convolutional networks take any size and reject the argument
            network = timm.create_model(name, **options)
    if weights == "hub" and classes and classes != (own := network.pretrained_cfg["num_classes"]):
        raise TrilabelError(f"backbone {name!r}: the weights on the hub have {own} classes, not {classes}")
    if file is not None:
        try:
            named = f"{name}+{classes}" if classes else name
            _load_file(network, name, file, f"{weights}: these weights do not fit backbone {named!r}")
        except TrilabelError as error:
            raise TrilabelError(f"{error}{_right_name(file)}") from error
    return network


def _right_name(file: Path) -> str:
    """Words for the end of a refusal: the backbone that these weights are for, if that can be told."""
    try:
        fitting = fitting_backbones(read_shapes(file))
    except TrilabelError:
        return ""
    return f"; they are for {fitting[0]}: leave --backbone out to have it recognized" if fitting else ""


def _load_file(network: Any, name: str, file: Path, complaint: str) -> None:
    """Loads a file of timm weights; raises an error if it does not have exactly what the network needs.

    The file may have a classifier, which the network has not, and may lack the last normalization, which timm puts
    elsewhere in networks that pool before it.
    """
    with _errors_in_one_line(complaint):
        tensors = _adapted(timm.models.load_state_dict(str(file)), network, name)
        if not network.num_classes:
            tensors = _without_classifier(tensors, network)
        missing, unexpected = network.load_state_dict(tensors, strict=False)
    _refuse(complaint, _that_matter(missing, unexpected, network))


def differing_tensors(name: str, file: Path) -> list[str]:
    """The tensors in which a file differs from the backbone `name`; none: it fits."""
    try:
        with torch.device("meta"), _without_timm_warnings():
            network = timm.create_model(name, num_classes=0, global_pool="")
        tensors = _without_classifier(_adapted(timm.models.load_state_dict(str(file)), network, name), network)
    except Exception as error:  # timm's filters expect weights of their own kind, and may raise anything
        return [f"none could be compared ({type(error).__name__})"] * len(read_shapes(file))
    wanted = network.state_dict()
    missing = [key for key in wanted if key not in tensors and not key.endswith("num_batches_tracked")]
    other = [key for key in wanted if key in tensors and wanted[key].shape != tensors[key].shape]
    return other + _that_matter(missing, [key for key in tensors if key not in wanted], network)


def full_tensors(name: str) -> dict[str, tuple[int, ...]]:
    """The names and shapes of all tensors of a timm network, with its classifier, in timm's order."""
    with torch.device("meta"):
        return {key: tuple(value.shape) for key, value in timm.create_model(name).state_dict().items()}


def hub_repository(name: str) -> str:
    """Where the hub has timm's weights of a network, which may be named with a tag."""
    _check_name(name.partition(".")[0])
    with _errors_in_one_line(f"{name}: no such weights"):
        about = timm.get_pretrained_cfg(name)
    if about is None or not about.hf_hub_id:
        raise TrilabelError(f"{name}: timm has no weights of this backbone on the hub")
    return str(about.hf_hub_id)


def _without_classifier(tensors: dict[str, Tensor], network: Any) -> dict[str, Tensor]:
    layers = network.pretrained_cfg.get("classifier") or ()
    layers = (layers,) if isinstance(layers, str) else layers
    dropped = {f"{layer}.{part}" for layer in layers for part in ("weight", "bias")}
    return {key: value for key, value in tensors.items() if key not in dropped}


def _that_matter(missing: list[str], unexpected: list[str], network: Any) -> list[str]:
    """The missing and unexpected tensors without those of a last normalization and of layers that are not used."""
    parts = {key.split(".")[0] for key, _ in network.named_parameters()} - {"head"}
    kept = [key for key in missing if key.split(".")[0] not in ("norm", "fc_norm")]
    return kept + [key for key in unexpected if key.split(".")[0] in parts]


def _adapted(tensors: dict[str, Tensor], network: Any, name: str) -> dict[str, Tensor]:
    """The tensors of a file as timm itself would load them: old names replaced, position embeddings resized."""
    module = sys.modules[timm.model_entrypoint(name).__module__]
    for filter_name in ("checkpoint_filter_fn", "_filter_fn", "_filter_torchvision_pretrained"):
        if (adapt := getattr(module, filter_name, None)) is not None:
            takes_network = len(inspect.signature(adapt).parameters) > 1
            options = next((given for prefix, given in _FILTER_OPTIONS.items() if name.startswith(prefix)), {})
            adapted: dict[str, Tensor] = adapt(tensors, network, **options) if takes_network else adapt(tensors)
            return adapted
    return tensors


def _refuse(complaint: str, differing: list[str]) -> None:
    """Raises where tensors differ; torch would name all of them, in thousands of characters."""
    if differing:
        raise TrilabelError(f"{complaint} ({len(differing)} tensors differ, e.g. {differing[0]!r})")


@contextmanager
def _without_timm_warnings() -> Iterator[None]:
    """Weights of the hub have a classifier, which is not needed, and timm would warn of each of its tensors."""
    logger = logging.getLogger("timm.models._builder")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _errors_in_one_line(complaint: str) -> Iterator[None]:
    """Turns the dozen kinds of errors of timm, safetensors and the hub into one line."""
    try:
        yield
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        raise TrilabelError(f"{complaint} ({' '.join(lines[:2])})") from error


def weights_file(weights: str) -> Path:
    """The .safetensors file that is meant: it, or the one in this folder."""
    path = Path(weights)
    if path.is_dir():
        found = sorted(path.glob("*.safetensors"))
        if len(found) != 1:
            raise TrilabelError(f"{path}: expected one .safetensors file in this folder, found {len(found)}")
        path = found[0]
    if not path.is_file():
        raise TrilabelError(
            f'{path}: no such weights file (a .safetensors file, a folder with one, a run, "hub" to download, or what '
            "was fetched by name: see `trilabel weights`)"
        )
    if path.suffix != ".safetensors":
        raise TrilabelError(
            f"{path}: only .safetensors weights are read, because other formats can run code; convert it once with "
            "safetensors.torch.save_file(torch.load(FILE, weights_only=True), 'weights.safetensors')"
        )
    return path


def _set_strides(network: Any, name: str) -> None:
    """Puts the stride of each stage where the original ResNet has it (-v1), or leaves it (-v1.5)."""
    for stage in ("layer2", "layer3", "layer4"):
        block = getattr(network, stage, [None])[0]
        if not hasattr(block, "conv3") or block.conv2.stride != (2, 2):
            raise TrilabelError(f"{name!r}: -v1 is for timm's bottleneck ResNets (resnet50, resnet101, …)")
        if name.endswith("-v1"):
            block.conv1.stride, block.conv2.stride = (2, 2), (1, 1)


def _as_map(network: Any, features: Tensor) -> Tensor:
    """The output of timm's forward_features (channels first or last, or tokens) as B×D×h×w."""
    if isinstance(features, Tensor) and features.ndim == 4:
        return features.permute(0, 3, 1, 2) if getattr(network, "output_fmt", "NCHW") == "NHWC" else features
    grid = getattr(getattr(network, "patch_embed", None), "grid_size", None)
    skipped = getattr(network, "num_prefix_tokens", 0)
    if grid is None or not isinstance(features, Tensor) or features.shape[1] != skipped + grid[0] * grid[1]:
        raise TrilabelError(
            f"a {type(network).__name__} gives no feature map that trilabel can read; choose another backbone"
        )
    cells = features[:, skipped:].transpose(1, 2)
    return cells.reshape(*cells.shape[:2], *grid)
