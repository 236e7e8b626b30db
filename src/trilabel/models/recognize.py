"""Which backbone a file of weights is for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from trilabel.errors import TrilabelError
from trilabel.models.backbone import differing_tensors, weights_file
from trilabel.models.fingerprints import Shapes, fitting_backbones, nearest_backbones, read_shapes
from trilabel.models.variants import clear_winner, discrepancies


@dataclass(frozen=True)
class Recognized:
    """What the tensors of a file say about the network that they are for."""

    file: Path
    backbone: str
    """The network to take."""
    fitting: tuple[str, ...]
    """All that have these tensors; they differ in strides, padding, or the colors that they want."""
    discrepancies: Mapping[str, float] = field(default_factory=dict)
    """For each of them how far its batch norms are from what they remember."""
    by_statistics: bool = False
    """Whether these chose the network, clearly."""

    @property
    def how(self) -> str:
        """What the choice rests on, in words."""
        others = [name for name in self.fitting if name != self.backbone]
        if self.by_statistics:
            return f"recognized by its tensors, and by the statistics of its batch norms not {' or '.join(others)}"
        also = f"; {', '.join(others)} would fit as well: --backbone chooses" if others else ""
        return f"recognized by its tensors{also}"


def recognize(weights: str | Path) -> Recognized:
    """Recognizes a .safetensors file, or the one in a folder; what is no network of timm is an error."""
    file = weights_file(str(weights))
    changed = file.stat()
    return _recognize(file, changed.st_mtime_ns, changed.st_size)


@cache  # a comparison asks for each of its runs, and networks are tried
def _recognize(file: Path, modified: int, size: int) -> Recognized:
    shapes = read_shapes(file)
    fitting = _with_original_resnets(fitting_backbones(shapes), shapes) or _renamed(file, shapes)
    if len(fitting) == 1:
        return Recognized(file, fitting[0], tuple(fitting))
    has_statistics = any(name.endswith("running_var") for name in shapes)
    found = discrepancies(fitting, file) if has_statistics else {}
    winner = clear_winner(found)
    return Recognized(file, winner or _preferred(fitting, file), tuple(fitting), found, winner is not None)


def _with_original_resnets(names: list[str], shapes: Shapes) -> list[str]:
    """Also the ResNets with strides in the 1×1 convolutions, which have the tensors of the others."""
    bottleneck = "layer1.0.conv3.weight" in shapes
    originals = [f"{name}-v1" for name in names if bottleneck and re.fullmatch(r"resnet\d+", name)]
    return names + originals


def _preferred(names: list[str], file: Path) -> str:
    """The one that the file or its folder is named after; else the first, which is the plainest."""
    named = [name for name in names if file.stem.startswith(name) or file.parent.name.startswith(name)]
    return max(named, key=len, default=names[0])


def _renamed(file: Path, shapes: Shapes) -> list[str]:
    """The network whose tensors these are under names that timm itself would replace, as of torchvision's VGG."""
    closest, fewest = "", [""] * (len(shapes) + 1)
    for name in nearest_backbones(shapes):
        differing = differing_tensors(name, file)
        if not differing:
            return [name]
        if len(differing) < len(fewest):
            closest, fewest = name, differing
    if not closest:
        raise TrilabelError(f"{file}: no backbone of timm has tensors like these, e.g. {min(shapes, default='none')!r}")
    raise TrilabelError(
        f"{file}: no backbone of timm has exactly these tensors; the closest is {closest}, and {len(fewest)} tensors "
        f"differ, e.g. {fewest[0]!r}"
    )
