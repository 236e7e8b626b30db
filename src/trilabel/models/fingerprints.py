"""Which timm networks have the tensors of a file of weights: their names and shapes looked up in a table.

The table (fingerprints.csv) has a line for each network of timm; benchmarks/write_fingerprints.py writes it. Making all
networks to compare with would take minutes.
"""

import csv
import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError, safe_open

from trilabel.errors import TrilabelError

TABLE = Path(__file__).with_name("fingerprints.csv")
COLUMNS = ("backbone", "classifier", "tensors", "parameters", "digest")

Shapes = Mapping[str, tuple[int, ...]]


class Fingerprint(NamedTuple):
    """What is known of the tensors of a network, apart from its classifier."""

    backbone: str
    classifier: tuple[str, ...]  # names of its layers
    tensors: int
    parameters: int
    digest: str


def read_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the tensors in a .safetensors file; the tensors themselves are not read."""
    try:
        with safe_open(file, "np") as opened:
            return {
                name.removeprefix("module."): tuple(opened.get_slice(name).get_shape())
                for name in opened.keys()  # noqa: SIM118
            }
    except (SafetensorError, OSError) as error:
        raise TrilabelError(f"{file}: cannot be read as weights ({error}); is the file complete?") from error


def fingerprint(backbone: str, shapes: Shapes, classifier: Sequence[str]) -> Fingerprint:
    """The fingerprint of a network, or of a file as if it were this network's."""
    dropped = {f"{layer}.{part}" for layer in classifier for part in ("weight", "bias")}
    counted = {
        name: shape
        for name, shape in shapes.items()
        if name not in dropped and not name.endswith("num_batches_tracked")  # converted weights have none
    }
    lines = "\n".join(f"{name} {'x'.join(map(str, shape))}" for name, shape in sorted(counted.items()))
    digest = hashlib.sha256(lines.encode()).hexdigest()[:12]
    return Fingerprint(backbone, tuple(classifier), len(counted), sum(map(math.prod, counted.values())), digest)


def fitting_backbones(shapes: Shapes) -> list[str]:
    """All networks that have exactly these tensors, apart from a classifier; shorter names first."""
    own = _as_each_kind(shapes)
    found = [row.backbone for row in _table() if row.digest == own[row.classifier].digest]
    return sorted(found, key=lambda name: (len(name), name))


def nearest_backbones(shapes: Shapes, count: int = 8) -> list[str]:
    """The networks whose numbers of tensors and parameters are the nearest."""
    own = _as_each_kind(shapes)

    def distance(row: Fingerprint) -> float:
        mine = own[row.classifier]
        tensors, parameters = (mine.tensors + 1) / (row.tensors + 1), (mine.parameters + 1) / (row.parameters + 1)
        return 4 * abs(math.log(tensors)) + abs(math.log(parameters))  # sizes vary more than the number of layers

    return [row.backbone for row in sorted(_table(), key=distance)[:count]]


def _as_each_kind(shapes: Shapes) -> dict[tuple[str, ...], Fingerprint]:
    """The fingerprint of a file for each way in which networks name their classifier."""
    return {kind: fingerprint("", shapes, kind) for kind in {row.classifier for row in _table()}}


@cache
def _table() -> list[Fingerprint]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [
            Fingerprint(
                row["backbone"], tuple(row["classifier"].split()), int(row["tensors"]), int(row["parameters"]),
                row["digest"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip
