"""The section on single images: those that the run scores best and worst, with what it sees in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import quiet, track
from trilabel.printable import printable
from trilabel.report.page.blocks import Card, CardRow, Cards, Picture, Section
from trilabel.report.page.facts import RunFacts
from trilabel.report.page.judged import Judged
from trilabel.report.page.numbers import image_losses
from trilabel.report.page.words import percent

_COUNT = 6  # best images, and as many worst
_LABELS = 4  # of an image
_KINDS = {1: ("known present", "present"), -1: ("known absent", "absent"), 0: ("unknown", "unknown")}


@dataclass(frozen=True)
class ChosenLabel:
    """A label of a chosen image: its class, what is known of it, and its calibrated probability."""

    column: int
    known: int
    probability: float


@dataclass(frozen=True)
class ChosenImage:
    """An image to show: its place among the judged ones, its id, its mean loss and a few of its labels."""

    id: str
    loss: float
    labels: Sequence[ChosenLabel]


def choose_images(facts: RunFacts, judged: Judged) -> tuple[list[ChosenImage], list[ChosenImage]]:
    """(best, worst) by the mean cross-entropy of known labels, among images with a known positive."""
    losses, chances = image_losses(judged, facts.decisions)
    positives, _ = judged.labels.counts_per_image()
    rows = np.flatnonzero((positives > 0) & ~np.isnan(losses))
    order = rows[np.argsort(losses[rows], kind="stable")]
    count = min(_COUNT, len(order) // 2) or len(order)
    best, worst = order[:count], order[::-1][:count] if len(order) > 1 else order[:0]
    return _chosen(judged, losses, chances, best, bad=False), _chosen(judged, losses, chances, worst, bad=True)


def _chosen(
    judged: Judged, losses: NDArray[np.float64], chances: Tensor, rows: NDArray[np.int64], bad: bool
) -> list[ChosenImage]:
    return [
        ChosenImage(str(judged.labels.ids[row]), float(losses[row]), _labels(judged, chances, row, bad))
        for row in rows.tolist()
    ]


def _labels(judged: Judged, chances: Tensor, row: int, bad: bool) -> list[ChosenLabel]:
    """Of a good image the surest positives; of a bad one the known labels that are most wrong; then the surest."""
    signs = judged.labels.rows([row])[0].numpy()
    chance = chances[row].double().numpy()
    wrong = np.where(signs > 0, 1 - chance, np.where(signs < 0, chance, -1.0))
    first = np.argsort(-wrong, kind="stable")[:2] if bad else np.flatnonzero(signs > 0)
    first = first[np.argsort(-(wrong if bad else chance)[first], kind="stable")][:3]
    others = [column for column in np.argsort(-chance, kind="stable").tolist() if column not in first]
    columns = [*first.tolist(), *others][:_LABELS]
    return [ChosenLabel(column, int(signs[column]), float(chance[column])) for column in columns]


def images_section(facts: RunFacts, device: str, maps: bool) -> Section | None:
    """Cards of the best and the worst images; maps: with pictures and class activation maps."""
    if facts.judged is None:
        return None
    best, worst = choose_images(facts, facts.judged)
    if not best:
        return None
    drawn: Mapping[str, tuple[Picture, Mapping[int, str]]] = {}
    if maps and facts.dataset is not None:
        dataset = facts.dataset
        drawn = facts.attempt(lambda: _draw(facts, dataset, [*best, *worst], device), "There are no class maps") or {}
    caption = "Highest mean loss of known labels first; the first labels are those that are most wrong."
    groups = [
        Cards("Worst", caption, [_card(facts, image, drawn) for image in worst]),
        Cards("Best", "Lowest mean loss of known labels first.", [_card(facts, image, drawn) for image in best]),
    ]
    lead = f"Among {len(facts.judged.labels):,} {facts.judged.images}, those with a known positive."
    if drawn:
        lead += " Choose a class to see where the model finds evidence for it (class activation maps of the model that "
        lead += "the run keeps, each scaled to its own maximum; none where no cell speaks for the class)."
    return Section("images", "Best and worst images", lead, [group for group in groups if group.cards])


def _card(facts: RunFacts, image: ChosenImage, drawn: Mapping[str, tuple[Picture, Mapping[int, str]]]) -> Card:
    picture, overlays = drawn.get(image.id, (None, dict[int, str]()))
    rows = []
    for label in image.labels:
        words, tone = _KINDS[label.known]
        nowhere = ", seen nowhere" if overlays.get(label.column) == "" else ""
        rows.append(
            CardRow(
                printable(facts.about.classes[label.column]),
                f"{words}, {percent(label.probability, 0)}{nowhere}",
                tone,
                share=100 * label.probability,
                overlay=overlays.get(label.column, ""),
            )
        )
    return Card(printable(image.id), rows, picture, f"mean loss {image.loss:.2f}")


def _draw(
    facts: RunFacts, dataset: Dataset, images: Sequence[ChosenImage], device: str
) -> dict[str, tuple[Picture, dict[int, str]]]:
    """Of each image that the data set has: its picture and the map of each of its labels, "" where it is nowhere."""
    from trilabel.inference.loading import load
    from trilabel.report.class_maps import heat
    from trilabel.report.page.pictures import map_size, overlay, picture, pictures_of

    labels = {image.id: image.labels for image in images}
    found: dict[str, tuple[Picture, dict[int, str]]] = {}
    rows: NDArray[np.int64] = Names(dataset.ids).positions(Names(list(labels)))
    rows = rows[rows >= 0]
    if not len(rows):
        raise TrilabelError("the data does not have these images; give the data of the run with --data")
    with quiet():
        activations = load(facts.folder.path, device).dataset_maps(dataset, rows, workers=0, broken="skip")
        for each in track(activations, "drawing class maps", len(rows)):
            size = map_size(*each.image.shape[:2])
            heats = {one.column: heat(each.maps[one.column], *size) for one in labels[each.id]}
            overlays = {column: overlay(values) if values.any() else "" for column, values in heats.items()}
            found[each.id] = picture(each.image), overlays
    for name, plain in pictures_of(dataset, [name for name in labels if name not in found]).items():
        found[name] = plain, {}  # the head has no maps
    return found
