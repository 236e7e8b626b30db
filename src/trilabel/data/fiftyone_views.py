"""FiftyOne by its Python package: labels from a data set or view, and predictions or completed labels back to it.

>>> import fiftyone as fo                                                   # doctest: +SKIP
>>> view = fo.load_dataset("photos").match_tags("train")                    # doctest: +SKIP
>>> dataset = from_fiftyone(view, "positive_labels", "negative_labels")     # doctest: +SKIP
>>> to_fiftyone(tl.load("runs/first").predict(dataset.paths), view)         # doctest: +SKIP
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import split_name
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

_SPLITS = {"train", "val", "test"}
# The kinds of labels, and the attribute with the list of several labels.
_KINDS = dict.fromkeys(("Classification", "Detection", "Polyline", "Keypoint"), "")
_KINDS |= {f"{kind}s": f"{kind.lower()}s" for kind in _KINDS}


class _Scored(Protocol):
    """What a model predicts; `trilabel.inference.predictions.Predictions`."""

    @property
    def ids(self) -> Sequence[str]: ...
    @property
    def classes(self) -> Sequence[str]: ...
    @property
    def scores(self) -> NDArray[np.float32]: ...
    def to_dataset(self, threshold: float | None = None) -> Dataset:
        """The images with predicted classes as present labels."""


def from_fiftyone(view: Any, field: str = "ground_truth", absent: str | None = None) -> Dataset:
    """The images of a FiftyOne data set or view with the labels of a field; ids are those of the samples.

    Labels of `field` (classifications, detections, polylines or keypoints, one or several) are present, those of the
    field `absent` are absent, all others unknown; detections also give boxes. Tags train, val and test are splits. The
    order of the classes is that of the data set, where it lists them (`classes`, `default_classes`).
    """
    _require_fields(view, [field, *([absent] if absent else [])])
    ids, paths, tags = (list(view.values(name)) for name in ("id", "filepath", "tags"))
    entries: list[tuple[int, str, int]] = []
    boxes: list[tuple[int, str, list[float]]] = []
    for name, sign in ((field, 1), *([(absent, -1)] if absent else [])):
        for row, value in enumerate(view.values(name)):
            for label, box in _labels(value, name):
                entries.append((row, label, sign))
                boxes += [(row, label, box)] if box is not None and sign > 0 else []
    listed = list(view.classes.get(field, None) or view.default_classes or ())
    classes = [*listed, *sorted({name for _, name, _ in entries} - set(listed))]
    column = {name: number for number, name in enumerate(classes)}
    rows, columns, signs = np.array([(row, column[name], sign) for row, name, sign in entries]).reshape(-1, 3).T
    labels = Labels.from_entries(rows, columns, signs.astype(np.int8), classes, ids, "unknown")
    drawn = Boxes(
        np.array([row for row, _, _ in boxes], np.int64),
        np.array([column[name] for _, name, _ in boxes], np.int64),
        np.array([_corners(box) for _, _, box in boxes], np.float32).reshape(-1, 4).clip(0, 1),
    )
    notes = (f"labels of field {field} are present, {f'those of {absent} absent, ' if absent else ''}others unknown",)
    return Dataset(labels.ids, paths, labels, _splits(tags), drawn if boxes else None, notes=notes)


def to_fiftyone(
    found: "Dataset | _Scored",
    view: Any,
    field: str = "trilabel",
    absent: str | None = None,
    threshold: float | None = None,
) -> int:
    """Writes labels to a field of a FiftyOne data set or view; returns how many samples got one.

    `found` is what a model predicts (`model.predict(dataset.paths)`): classes from `threshold`, or from that of the
    model, are present, with their probabilities as confidence. Or it is a data set with completed labels, whose absent
    labels go to the field `absent`, if one is named. Images are matched by the id of the sample or by its path; samples
    that `found` does not have are left alone.
    """
    fo: Any = _package()
    dataset = found if isinstance(found, Dataset) else found.to_dataset(threshold)
    scores = None if isinstance(found, Dataset) else found.scores
    ids, paths = list(view.values("id")), list(view.values("filepath"))
    sample_of = dict(zip(paths, ids, strict=True)) | {name: name for name in ids}
    places = [sample_of.get(name) or sample_of.get(path) for name, path in _names(dataset)]
    if not any(places):
        raise TrilabelError(
            f"none of the {len(places)} images is in {view.name!r}, by the id of its sample or its path"
        )
    for name, sign in ((field, 1), *([(absent, -1)] if absent else [])):
        values = {}
        for row, place in enumerate(places):
            if place is not None:
                values[place] = fo.Classifications(
                    classifications=list(_classifications(fo, dataset, scores, row, sign))
                )
        view.set_values(name, values, key_field="id")
    return sum(place is not None for place in places)


def _package() -> Any:
    try:
        return import_module("fiftyone")
    except ImportError:
        raise TrilabelError("this needs FiftyOne; install it (pip install fiftyone)") from None


def _require_fields(view: Any, names: Sequence[str]) -> None:
    there = view.get_field_schema()
    for name in names:
        if name not in there:
            raise TrilabelError(f"{view.name!r} has no field {name!r}, only {', '.join(there)}")


def _labels(value: Any, field: str) -> Iterator[tuple[str, list[float] | None]]:
    """(class, box) of each label in the value of a field."""
    if value is None:
        return
    kind = type(value).__name__
    if kind not in _KINDS:
        raise TrilabelError(f"field {field!r} holds {kind}, not one of {', '.join(_KINDS)}")
    for one in getattr(value, _KINDS[kind]) if _KINDS[kind] else [value]:
        if one.label:
            yield one.label, getattr(one, "bounding_box", None)


def _corners(box: list[float]) -> list[float]:
    x, y, width, height = box
    return [x, y, x + width, y + height]


def _splits(tags: list[list[str]]) -> dict[str, NDArray[np.int64]]:
    of = [{split_name(tag) for tag in each} & _SPLITS for each in tags]
    found = {name: [row for row, each in enumerate(of) if each == {name}] for name in ("train", "val", "test")}
    return {name: np.array(rows, np.int64) for name, rows in found.items() if rows}


def _names(dataset: Dataset) -> Iterator[tuple[str, str]]:
    return zip(dataset.ids, dataset.ids if dataset.paths is None else dataset.paths, strict=True)


def _classifications(
    fo: Any, dataset: Dataset, scores: NDArray[np.float32] | None, row: int, sign: int
) -> Iterator[Any]:
    csr = dataset.labels.csr
    known = slice(csr.indptr[row], csr.indptr[row + 1])
    for column in csr.indices[known][csr.data[known] == sign].tolist():
        confidence = None if scores is None else round(float(scores[row, column]), 6)
        yield fo.Classification(label=dataset.classes[column], confidence=confidence)
