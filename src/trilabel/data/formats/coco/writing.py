"""Writing labels as a COCO annotation file, or as one for each split, which `coco.read` reads back."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.image_size import Sizes, image_sizes
from trilabel.data.formats._shared.present_labels import boxes_of_present, note_lost
from trilabel.data.formats.coco.files import REST, SPLITS
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import write_text


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes a .json file, or into a folder annotations/instances_SPLIT.json for each split; returns notes.

    Each file is written completely or not at all. Some keys are not part of COCO: an image has a `split`, a
    `trilabel_id` if its id is not its file name, and `neg_category_ids`, its absent classes, as in LVIS, so that
    unknown labels stay unknown. The last are left out if all labels are known and every image has a positive. File
    names are relative to the folder of the file, or if some images are outside it, to the folder around all images,
    which `info` then names as `trilabel_images`. A present label without a box has one without a size, because other
    programs need one in every annotation.
    """
    labels = dataset.labels
    if not all(labels.shape):
        raise TrilabelError(f"{path}: nothing to write in {labels.shape[0]} images × {labels.shape[1]} classes")
    if path.suffix[1:].isalpha() and path.suffix.lower() != ".json" and not path.is_dir():
        raise TrilabelError(f"{path}: the name of a COCO file must end in .json; change it, or give a folder")
    if path.suffix.lower() != ".json":
        return _write_splits(dataset, path)
    if path.is_dir():
        raise TrilabelError(f"{path}: this is a folder; give a file to write, or a folder whose name has no .json")
    notes = [] if dataset.paths is not None else ["the images have no files: their ids are written as file names"]
    sizes = image_sizes(dataset, notes)
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


def _write_splits(dataset: Dataset, path: Path) -> list[str]:
    """A file for each of the splits train, val and test, and one for all other images; all have the same categories."""
    split_of = dataset.first_split()[0]
    names = [name if name in SPLITS else "" for name in split_of]
    notes: list[str] = []
    note_lost(dataset, notes, absent=False)
    for name in dict.fromkeys(names):
        part = dataset.take(np.array([row for row, other in enumerate(names) if other == name], np.int64))
        part = replace(part, splits={}) if name else part
        found = write(part, path / "annotations" / (f"instances_{name}.json" if name else REST))
        notes += [f"{name or 'others'}: {note}" for note in found]
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


def _images(dataset: Dataset, files: Iterable[str], sizes: Sizes, splits: Sequence[str]) -> Iterator[dict[str, Any]]:
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


def _annotations(dataset: Dataset, boxes: Boxes, sizes: Sizes) -> Iterator[dict[str, Any]]:
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


def _boxes(dataset: Dataset, sizes: Sizes, notes: list[str]) -> Boxes:
    """The boxes to write, which need the sizes of their images."""
    boxes = boxes_of_present(dataset, notes)
    sized = np.isin(boxes.image, list(sizes))
    if lost := int((~sized).sum()):
        notes.append(f"{lost} boxes are not written, as the files of their images cannot be read")
    return Boxes(boxes.image[sized], boxes.cls[sized], boxes.xyxy[sized])
