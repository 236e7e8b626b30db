"""Writing labels as one COCO annotation file that `coco.read` reads back."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.image_size import upright_size
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.log import track

_Sizes = Mapping[int, tuple[int, int]]  # width and height of images, by row


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes a .json file, completely or not at all, and returns notes on what it cannot contain.

    Some keys are not part of COCO: an image has a `split`, a `trilabel_id` if its id is not its file name, and
    `neg_category_ids`, its absent classes, as in LVIS, so that unknown labels stay unknown. The last are left out if
    all labels are known and every image has a positive. File names are relative to the folder of `path`, or if some
    images are outside it, to the folder around all images, which `info` then names as `trilabel_images`. A present
    label without a box has one without a size, because other programs need one in every annotation.
    """
    labels = dataset.labels
    if path.suffix.lower() != ".json":
        raise TrilabelError(f"{path}: the name of a COCO file must end in .json; change it")
    if not all(labels.shape):
        raise TrilabelError(f"{path}: nothing to write in {labels.shape[0]} images × {labels.shape[1]} classes")
    notes = [] if dataset.paths is not None else ["the images have no files: their ids are written as file names"]
    sizes = _sizes(dataset, notes)
    boxes = _boxes(dataset, sizes, notes)
    splits, several = dataset.first_split()
    if len(several):
        notes.append(f"{len(several)} images are in more than one split: only the first is written")
    info, files = _files(dataset, path.parent)
    lists: dict[str, Iterator[dict[str, Any]]] = {
        "images": _images(dataset, files, sizes, splits),
        "categories": ({"id": number, "name": name} for number, name in enumerate(labels.classes, 1)),
        "annotations": _annotations(dataset, boxes, sizes),
    }
    # One record per line, so that an error can name the line.
    texts = (f'"{key}": [\n' + ",\n".join(map(json.dumps, records)) + "\n]" for key, records in lists.items())
    write_text(path, "{\n" + ",\n".join([f'"info": {json.dumps(info)}', *texts]) + "\n}\n")
    return notes


def _files(dataset: Dataset, folder: Path) -> tuple[dict[str, str], Iterable[str]]:
    """What `info` says of the images, and their file names: never above the folder that these are relative to."""
    info = {"description": "written by trilabel"}
    if dataset.paths is None:
        return info, dataset.ids
    if any(name.startswith("..") for name in relative_to(dataset.paths, folder)):
        with suppress(ValueError):  # two drives of Windows
            around = Path(os.path.commonpath({os.path.abspath(os.path.dirname(path)) for path in dataset.paths}))  # noqa: PTH100, PTH120
            inside = os.path.relpath(around, folder).replace(os.sep, "/")
            return {**info, "trilabel_images": inside}, relative_to(list(map(os.path.abspath, dataset.paths)), around)
    return info, relative_to(dataset.paths, folder)


def _images(dataset: Dataset, files: Iterable[str], sizes: _Sizes, splits: Sequence[str]) -> Iterator[dict[str, Any]]:
    labels = dataset.labels
    plain = labels.known == len(labels) * labels.shape[1] and bool(labels.counts_per_image()[0].all())
    ends, columns, absent = labels.csr.indptr, labels.csr.indices + 1, labels.csr.data < 0
    for row, (name, path) in enumerate(zip(labels.ids, files, strict=True)):
        file = path.replace(os.sep, "/")
        record: dict[str, Any] = {"id": row + 1, "file_name": file}
        if name != file:
            record["trilabel_id"] = name
        if row in sizes:
            record["width"], record["height"] = sizes[row]
        if dataset.splits:
            record["split"] = splits[row]
        if not plain:
            known = slice(ends[row], ends[row + 1])
            record["neg_category_ids"] = columns[known][absent[known]].tolist()
        yield record


def _annotations(dataset: Dataset, boxes: Boxes, sizes: _Sizes) -> Iterator[dict[str, Any]]:
    """One for each box, and one for each present label without any: its box has no size."""
    classes = dataset.labels.shape[1]
    boxed = boxes.image * classes + boxes.cls
    keys = np.concatenate([boxed, np.setdiff1d(_present(dataset), boxed)])
    for number, place in enumerate(np.argsort(keys, kind="stable").tolist(), 1):
        row, column = divmod(int(keys[place]), classes)
        left = top = right = bottom = 0.0
        if place < len(boxed):
            left, top, right, bottom = (boxes.xyxy[place].astype(np.float64) * (sizes[row] * 2)).tolist()
        yield {
            "id": number,
            "image_id": row + 1,
            "category_id": column + 1,
            "bbox": [round(share, 3) for share in (left, top, right - left, bottom - top)],
            "area": round((right - left) * (bottom - top), 3),
            "iscrowd": 0,
            "segmentation": [],
        }


def _present(dataset: Dataset) -> NDArray[np.int64]:
    """image × classes + class of each present label."""
    known = dataset.labels.csr.tocoo()
    return np.asarray((known.row.astype(np.int64) * dataset.labels.shape[1] + known.col)[known.data > 0])


def _sizes(dataset: Dataset, notes: list[str]) -> _Sizes:
    """The sizes of all images that can be read."""
    found = {
        row: size
        for row in track(range(len(dataset)), "sizes of images", len(dataset))
        if (size := _size(dataset, row)) is not None
    }
    if lost := len(dataset) - len(found):
        notes.append(f"width and height of {lost} images are not written, as their files cannot be read")
    return found


def _boxes(dataset: Dataset, sizes: _Sizes, notes: list[str]) -> Boxes:
    """The boxes to write."""
    boxes = dataset.boxes or Boxes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4), np.float32))
    # Reading the box of a label that is not present would make it present.
    present = np.isin(boxes.image * dataset.labels.shape[1] + boxes.cls, _present(dataset))
    if not present.all():
        notes.append(f"{(~present).sum()} boxes of labels that are not present are not written")
    sized = np.isin(boxes.image, list(sizes))
    if lost := int((present & ~sized).sum()):
        notes.append(f"{lost} boxes are not written, as the files of their images cannot be read")
    kept = present & sized
    return Boxes(boxes.image[kept], boxes.cls[kept], boxes.xyxy[kept])


def _size(dataset: Dataset, row: int) -> tuple[int, int] | None:
    if dataset.images is not None:
        return int(dataset.images.shape[3]), int(dataset.images.shape[2])
    return upright_size((dataset.paths or ())[row])
