"""Which labels and which images are similar: weights between labels, and neighbors of an image."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.spreadsheet_cells import safe_cell
from trilabel.files import write_csv
from trilabel.inference.activation import display_image
from trilabel.methods.imcl.omp import Neighbors
from trilabel.report.plots import keep_end, keep_ends

MOST_IMAGES = 2000  # to compare with each other: the time is quadratic
COLUMNS = ("image", "similar", "label_weight", "feature_weight")
Edge = tuple[str, str, float]  # label, neighbor, weight


class SimilarImage(NamedTuple):
    """A neighbor of an image, and its weights in the sum that approximates the image."""

    id: str
    image: NDArray[np.uint8]  # H×W×3
    label_weight: float
    feature_weight: float


class SimilarityRow(NamedTuple):
    """An image and its neighbors."""

    id: str
    image: NDArray[np.uint8]
    similar: Sequence[SimilarImage]


def pairs(neighbors: Neighbors) -> Iterator[tuple[int, int, float, float]]:
    """(image, neighbor, weight by labels, weight by features) for pairs with a weight other than 0."""
    by_labels, by_features = (part.tolist() for part in neighbors.coefficients)
    for image, slots in enumerate(zip(neighbors.index.tolist(), by_labels, by_features, strict=True)):
        for other, label, feature in zip(*slots, strict=True):
            if label or feature:
                yield image, other, label, feature


def first_rows(
    found: Iterable[tuple[int, int, float, float]], dataset: Dataset, rows: Sequence[int], limit: int
) -> list[SimilarityRow]:
    """The first `limit` images of `rows` with their neighbors; `found` numbers images by their position in `rows`."""
    similar: dict[int, list[SimilarImage]] = {image: [] for image in range(min(limit, len(rows)))}
    for image, other, label, feature in found:
        if image in similar:
            picture_of = _picture(dataset, rows[other])
            similar[image].append(SimilarImage(dataset.ids[rows[other]], picture_of, label, feature))
    return [
        SimilarityRow(dataset.ids[rows[image]], _picture(dataset, rows[image]), neighbors)
        for image, neighbors in similar.items()
    ]


def _picture(dataset: Dataset, row: int) -> NDArray[np.uint8]:
    images, paths = dataset.images_of(np.array([row]))
    return display_image(images[0] if images is not None else (paths or ())[0])


def label_matrix(edges: Iterable[Edge], classes: Sequence[str], most: int = 40) -> Figure:
    """Weights of neighbors (columns) for labels (rows), of the `most` classes with the largest weights to others.

    Without an edge there is no color: that is not a weight of 0.
    """
    edges = list(edges)
    shown = _most_connected(edges, classes, most)
    place = {name: number for number, name in enumerate(shown)}
    table = np.full((len(shown), len(shown)), np.nan)
    for label, neighbor, weight in edges:
        if label in place and neighbor in place:
            table[place[label], place[neighbor]] = weight
    limit = float(np.nanmax(np.abs(table))) if np.isfinite(table).any() else 1.0
    size = 2.2 + 0.24 * len(shown)
    figure = Figure(figsize=(size + 0.8, size), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(table, cmap="RdBu_r", vmin=-(limit or 1), vmax=limit or 1)
    names = [keep_ends(name, 24) for name in shown]
    axes.set_xticks(range(len(shown)), names, rotation=90, fontsize=8, parse_math=False)
    axes.set_yticks(range(len(shown)), names, fontsize=8, parse_math=False)
    axes.set_xlabel("neighbor")
    axes.set_ylabel("label")
    axes.set_facecolor("#EEEEEE")
    of = f" ({len(shown)} of {len(classes)} classes)" if len(shown) < len(classes) else ""
    axes.set_title(f"Weight of a neighbor for a label{of}", loc="left", fontsize=10)
    figure.colorbar(image, ax=axes, shrink=0.6)
    return figure


def _most_connected(edges: Sequence[Edge], classes: Sequence[str], most: int) -> list[str]:
    """Classes by the sum of absolute weights from and to others, at most `most`, in the order of `classes`."""
    strength = dict.fromkeys(classes, 0.0)
    for label, neighbor, weight in edges:
        if label != neighbor:  # every label is similar to itself
            strength[label] += abs(weight)
            strength[neighbor] += abs(weight)
    strongest = set(sorted(strength, key=lambda name: -strength[name])[:most])
    return [name for name in classes if name in strongest]


def image_neighbors(rows: Sequence[SimilarityRow]) -> Figure:
    """A row for each image: the image, then its neighbors with their weights by labels and by features."""
    columns = 1 + max(1, *(len(row.similar) for row in rows))
    figure = Figure(figsize=(1.7 * columns, 2.1 * len(rows)), layout="constrained")
    for axes, row in zip(figure.subplots(len(rows), columns, squeeze=False), rows, strict=True):
        for each in axes:
            each.set_axis_off()
        _show(axes[0], row.image, keep_end(row.id, 22), "" if row.similar else "no similar image")
        for each, found in zip(axes[1:], row.similar, strict=False):
            under = f"labels {found.label_weight:.2f}  features {found.feature_weight:.2f}"
            _show(each, found.image, keep_end(found.id, 22), under)
    return figure


def _show(axes: Any, image: NDArray[np.uint8], over: str, under: str) -> None:
    axes.imshow(image, interpolation="bilinear")
    axes.set_title(over, fontsize=7, parse_math=False)
    axes.text(0.5, -0.04, under, fontsize=7, ha="center", va="top", transform=axes.transAxes)


def write_pairs(pairs: Iterable[tuple[str, str, float, float]], path: str | Path, safe_cells: bool = False) -> None:
    """Writes a table with a row for each pair: image, neighbor, weight by labels, weight by features.

    With `safe_cells`, names that a spreadsheet would run as formulas get an apostrophe in front.
    """
    cell = safe_cell if safe_cells else str
    rows = ((cell(image), cell(other), f"{label:.6g}", f"{feature:.6g}") for image, other, label, feature in pairs)
    write_csv(path, COLUMNS, rows)
