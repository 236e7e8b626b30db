"""Where a model sees classes in an image: the image, and beside it one overlay per class."""

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
from trilabel.errors import TrilabelError
from trilabel.inference.activation import ClassActivation
from trilabel.labels.names import Names
from trilabel.report import plots
from trilabel.report.file_names import FileNames
from trilabel.report.plots import keep_end, keep_ends

_IN_OVERVIEW = 8  # images
_OPACITY = 0.65  # of the overlay where the evidence is strongest
_OUTLINE: list[AbstractPathEffect] = [withStroke(linewidth=3, foreground="black")]
_LABEL_TEXT = {1: " (is present)", -1: " (is absent)", 0: ""}
NO_BOXES = np.zeros((0, 4), np.float32)


class ClassPanel(NamedTuple):
    """One class in one image."""

    name: str
    probability: float
    map: NDArray[np.float32]  # h×w cells that cover the image
    label: int = 0  # +1 known to be present, −1 known to be absent
    boxes: NDArray[np.float32] = NO_BOXES  # M×4: left, top, right, bottom as shares


class ImagePanels(NamedTuple):
    """An image (H×W×3 uint8) and the classes to show in it."""

    id: str
    image: NDArray[np.uint8]
    panels: Sequence[ClassPanel]


class KnownAnnotations:
    """Labels and boxes of some images of a data set, for the classes of a model, which are matched by name."""

    def __init__(self, dataset: Dataset, rows: NDArray[np.int64], classes: Sequence[str]) -> None:
        self.labels, self.columns = dataset.labels, Names(dataset.classes).positions(Names(classes))
        self.row = {dataset.ids[row]: row for row in rows.tolist()}
        self.boxes = None if dataset.boxes is None else BoxesByImage(dataset.boxes)

    def of(self, image: str, column: int) -> tuple[int, NDArray[np.float32]]:
        """(label, M×4 boxes) of a class of the model in an image."""
        row, own_column = np.array([self.row[image]]), int(self.columns[column])
        label = int(self.labels.rows(row)[0, own_column]) if own_column >= 0 else 0
        boxes = None if self.boxes is None else self.boxes.of(row)
        return label, NO_BOXES if boxes is None else boxes.xyxy[boxes.cls == own_column]


def select_panels(
    activations: Iterable[ClassActivation],
    classes: Sequence[str],
    top: int,
    chosen: Sequence[str] = (),
    known: KnownAnnotations | None = None,
) -> Iterator[ImagePanels]:
    """What to show of each image: the `top` classes with the highest probabilities, or those `chosen`."""
    columns = Names(classes).positions(Names(chosen))
    for name, column in zip(chosen, columns.tolist(), strict=True):
        if column < 0:
            near = get_close_matches(name, list(classes), 1)
            raise TrilabelError(f"the model has no class {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    for each in activations:
        panels = []
        for column in (columns if chosen else np.argsort(-each.probabilities, kind="stable")[:top]).tolist():
            label, boxes = known.of(each.id, column) if known else (0, NO_BOXES)
            probability = float(each.probabilities[column])
            panels.append(ClassPanel(classes[column], probability, each.maps[column], label, boxes))
        yield ImagePanels(each.id, each.image, panels)


def write_pictures(images: Iterable[ImagePanels], folder: Path) -> Iterator[tuple[ImagePanels, Path]]:
    """Writes a picture of each image and yields both; at the end overview.png with the first images."""
    first, name = list[ImagePanels](), FileNames(["overview"])
    for image in images:
        first += [image] if len(first) < _IN_OVERVIEW else []
        file = folder / f"{name(image.id)}.png"
        plots.save(draw([image]), file)
        yield image, file
    if first:
        plots.save(draw(first, inches=1.8), folder / "overview.png")


def draw(images: Sequence[ImagePanels], inches: float = 3.0) -> Figure:
    """A row for each image: the image and its overlays. Titles have the probability: each map has its own scale."""
    columns, letters = 1 + max(len(each.panels) for each in images), int(14 * inches)
    shapes = [each.image.shape[0] / each.image.shape[1] for each in images]
    heights = [min(max(shape, 0.3), 2.0) for shape in shapes]  # a panorama also needs room for its title
    figure = Figure(figsize=(columns * inches, sum(heights) * inches + 0.35 * len(images)), layout="constrained")
    grid = figure.subplots(len(images), columns, squeeze=False, height_ratios=heights)
    for row, each in zip(grid, images, strict=True):
        for axes in row:
            axes.set_axis_off()
        _show(row[0], each.image, keep_end(each.id, letters))
        gray = np.repeat(each.image.mean(axis=2, keepdims=True).astype(np.uint8), 3, axis=2)  # colors are for the map
        for axes, panel in zip(row[1:], each.panels, strict=False):
            behind = f" {panel.probability:.2f}{_LABEL_TEXT[panel.label]}"
            _show(axes, gray, keep_ends(panel.name, letters - len(behind)) + behind)
            _overlay(axes, panel, *each.image.shape[:2])
    return figure


def heat(class_map: NDArray[np.float32], height: int, width: int) -> NDArray[np.float64]:
    """h×w class map -> height×width in [0, 1]: smoothed evidence for the class, 1 at its strongest, 0 without any."""
    positive = torch.from_numpy(class_map).float().clamp(min=0)
    smooth = F.interpolate(positive[None, None], (height, width), mode="bicubic")[0, 0].clamp(min=0).double()
    strongest = smooth.max()
    values: NDArray[np.float64] = (smooth / strongest if strongest > 0 else smooth).numpy()
    return values


def peak(class_map: NDArray[np.float32]) -> tuple[float, float]:
    """(x, y), as shares of width and height, of the center of the first highest cell, as in the pointing game."""
    row, column = divmod(int(class_map.argmax()), class_map.shape[1])
    return (column + 0.5) / class_map.shape[1], (row + 0.5) / class_map.shape[0]


def _show(axes: Any, image: NDArray[np.uint8], title: str) -> None:
    axes.imshow(image, extent=(0, 1, 1, 0), aspect=image.shape[0] / image.shape[1], interpolation="bilinear")
    axes.set_title(title, fontsize=8, parse_math=False)


def _overlay(axes: Any, panel: ClassPanel, height: int, width: int) -> None:
    # Small images are drawn larger than they are, and the map with them.
    finer = max(1, round(256 / max(height, width)))
    values = heat(panel.map, finer * height, finer * width)
    colors = colormaps["inferno"](values)
    colors[..., 3] = _OPACITY * values
    axes.imshow(colors, extent=(0, 1, 1, 0), aspect=height / width, interpolation="bilinear")
    for left, top, right, bottom in panel.boxes.tolist():
        outline = Rectangle((left, top), right - left, bottom - top, fill=False, edgecolor="white", linewidth=1.2)
        outline.set_path_effects(_OUTLINE)
        axes.add_patch(outline)
    if not values.any():
        style: dict[str, Any] = {"color": "white", "ha": "center", "va": "bottom", "path_effects": _OUTLINE}
        axes.text(0.5, 0.97, "nowhere above 0", fontsize=7, **style)
    axes.plot(*peak(panel.map), "+", color="white", markersize=9, path_effects=_OUTLINE)
