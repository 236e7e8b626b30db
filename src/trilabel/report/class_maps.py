"""Where a model sees classes in an image: the image, and beside it one overlay a class."""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import AbstractPathEffect, withStroke
from numpy.typing import NDArray
from torch.nn import functional as F

from trilabel.data.boxes import BoxesByImage
from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import is_image
from trilabel.errors import TrilabelError
from trilabel.inference.activation import ClassActivation
from trilabel.labels.names import Names
from trilabel.report import plots

_MOST_LETTERS = 50  # of a file name: file systems take about 250 bytes, and a letter may have four
_IN_OVERVIEW = 8  # images
_OPAQUE = 0.65  # how much of the image the strongest evidence hides
_OUTLINED: list[AbstractPathEffect] = [withStroke(linewidth=3, foreground="black")]
_WORDS = {1: " (is present)", -1: " (is absent)", 0: ""}
NO_BOXES = np.zeros((0, 4), np.float32)


class Panel(NamedTuple):
    """One class in one image."""

    name: str
    probability: float
    map: NDArray[np.float32]  # h×w cells that cover the image
    known: int = 0  # +1 known to be present, −1 known to be absent
    boxes: NDArray[np.float32] = NO_BOXES  # M×4: left, top, right, bottom as shares


class Row(NamedTuple):
    """An image (H×W×3 uint8) and what to show of it."""

    id: str
    image: NDArray[np.uint8]
    panels: Sequence[Panel]


class Known:
    """What a data set knows of some of its images, asked for by a model's classes, which are matched by name."""

    def __init__(self, dataset: Dataset, rows: NDArray[np.int64], classes: Sequence[str]) -> None:
        self.labels, self.columns = dataset.labels, Names(dataset.classes).positions(Names(classes))
        self.row = {dataset.ids[row]: row for row in rows.tolist()}
        self.boxes = None if dataset.boxes is None else BoxesByImage(dataset.boxes)

    def of(self, image: str, column: int) -> tuple[int, NDArray[np.float32]]:
        """(label, M×4 boxes) of a class in an image."""
        row, ours = np.array([self.row[image]]), int(self.columns[column])
        label = int(self.labels.rows(row)[0, ours]) if ours >= 0 else 0
        boxes = None if self.boxes is None else self.boxes.of(row)
        return label, NO_BOXES if boxes is None else boxes.xyxy[boxes.cls == ours]


def rows(
    looks: Iterable[ClassActivation],
    classes: Sequence[str],
    top: int,
    chosen: Sequence[str] = (),
    known: Known | None = None,
) -> Iterator[Row]:
    """What to show of each image: the `top` classes, the highest-scoring first, or those `chosen`."""
    wanted = Names(classes).positions(Names(chosen))
    for name, column in zip(chosen, wanted.tolist(), strict=True):
        if column < 0:
            near = get_close_matches(name, list(classes), 1)
            raise TrilabelError(f"the model has no class {name!r}" + (f"; is it {near[0]!r}?" if near else ""))
    for look in looks:
        panels = []
        for column in (wanted if chosen else np.argsort(-look.probabilities, kind="stable")[:top]).tolist():
            label, boxes = known.of(look.id, column) if known else (0, NO_BOXES)
            panels.append(Panel(classes[column], float(look.probabilities[column]), look.maps[column], label, boxes))
        yield Row(look.id, look.image, panels)


def write(rows: Iterable[Row], folder: Path) -> Iterator[tuple[Row, Path]]:
    """Writes a picture of each row, which it passes on with the path, and at the end overview.png with the first."""
    first, name = list[Row](), FileNames(["overview"])
    for row in rows:
        first += [row] if len(first) < _IN_OVERVIEW else []
        file = folder / f"{name(row.id)}.png"
        plots.save(figure([row]), file)
        yield row, file
    if first:
        plots.save(figure(first, inches=1.8), folder / "overview.png")


def figure(rows: Sequence[Row], inches: float = 3.0) -> Figure:
    """A row an image: the image itself and its overlays. Titles say the probability: each map has its own scale."""
    columns, letters = 1 + max(len(row.panels) for row in rows), int(14 * inches)
    shapes = [row.image.shape[0] / row.image.shape[1] for row in rows]
    heights = [min(max(shape, 0.3), 2.0) for shape in shapes]  # a panorama needs room for its title, too
    drawn = Figure(figsize=(columns * inches, sum(heights) * inches + 0.35 * len(rows)), layout="constrained")
    grid = drawn.subplots(len(rows), columns, squeeze=False, height_ratios=heights)
    for axes, row in zip(grid, rows, strict=True):
        for each in axes:
            each.set_axis_off()
        _show(axes[0], row.image, shortened(row.id, letters))
        gray = np.repeat(row.image.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)  # colors are for the map
        for each, panel in zip(axes[1:], row.panels, strict=False):
            _show(each, gray, f"{shortened(panel.name, letters - 18)} {panel.probability:.2f}{_WORDS[panel.known]}")
            _overlay(each, panel, *row.image.shape[:2])
    return drawn


def heat(class_map: NDArray[np.float32], height: int, width: int) -> NDArray[np.float64]:
    """h×w class map -> height×width in [0, 1]: what speaks for the class, smooth, 1 at its strongest; 0 if nothing."""
    positive = torch.from_numpy(class_map).float().clamp(min=0)
    smooth = F.interpolate(positive[None, None], (height, width), mode="bicubic")[0, 0].clamp(min=0).double()
    strongest = smooth.max()
    values: NDArray[np.float64] = (smooth / strongest if strongest > 0 else smooth).numpy()
    return values


def peak(class_map: NDArray[np.float32]) -> tuple[float, float]:
    """(x, y), as shares of width and height, of the centre of the first highest cell: what the pointing game judges."""
    row, column = divmod(int(class_map.argmax()), class_map.shape[1])
    return (column + 0.5) / class_map.shape[1], (row + 0.5) / class_map.shape[0]


def _show(axes: Any, image: NDArray[np.uint8], title: str) -> None:
    axes.imshow(image, extent=(0, 1, 1, 0), aspect=image.shape[0] / image.shape[1], interpolation="bilinear")
    axes.set_title(title, fontsize=8, parse_math=False)


def _overlay(axes: Any, panel: Panel, height: int, width: int) -> None:
    # Small images are drawn larger than they are, and the map with them.
    finer = max(1, round(256 / max(height, width)))
    values = heat(panel.map, finer * height, finer * width)
    colors = colormaps["inferno"](values)
    colors[..., 3] = _OPAQUE * values
    axes.imshow(colors, extent=(0, 1, 1, 0), aspect=height / width, interpolation="bilinear")
    for left, top, right, bottom in panel.boxes.tolist():
        outline = Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor="white", linewidth=1.2)
        outline.set_path_effects(_OUTLINED)
        axes.add_patch(outline)
    if not values.any():
        style: dict[str, Any] = {"color": "white", "ha": "center", "va": "bottom", "path_effects": _OUTLINED}
        axes.text(0.5, 0.97, "nowhere above 0", fontsize=7, **style)
    axes.plot(*peak(panel.map), "+", color="white", markersize=9, path_effects=_OUTLINED)


def shortened(text: str, letters: int) -> str:
    """The end of a text that is too long: there the ids of images differ."""
    return text if len(text) <= letters else "…" + text[1 - letters :]


class FileNames:
    """Names for the files of images, without ending: safe everywhere, each given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._used = {name.lower(): 1 for name in taken}  # some file systems take A and a for the same

    def __call__(self, id_: str) -> str:
        """A name from the last part of an image's id."""
        last = id_.replace("\\", "/").rstrip("/").rpartition("/")[2]
        stem = last.rpartition(".")[0] if is_image(last) else last
        name = base = re.sub(r"[^\w.-]+", "_", stem).strip(".")[:_MOST_LETTERS] or "image"
        while name.lower() in self._used:
            self._used[base.lower()] += 1
            name = f"{base}-{self._used[base.lower()]}"
        self._used[name.lower()] = 1
        return name
