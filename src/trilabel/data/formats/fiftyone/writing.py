"""Writing a folder for FiftyOne: labels.json, and data.json with the paths of the images."""

import json
import os
from itertools import pairwise
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import write_text


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes labels.json and data.json into the folder `path`, for FiftyOne's type FiftyOneImageClassificationDataset.

    The labels of an image are the list of its present classes; null if no label is known.
    """
    if (path / "data").exists():
        raise TrilabelError(f"{path}: has a folder data, which FiftyOne uses for the images; choose another folder")
    labels, ids = dataset.labels, list(dataset.labels.ids)
    names: dict[str, str] = {}  # FiftyOne looks images up without the extension
    for image in ids:
        name = os.path.splitext(image)[0]  # noqa: PTH122
        if names.setdefault(name, image) != image:
            raise TrilabelError(f"{path}: images {names[name]!r} and {image!r} are the same to FiftyOne; rename one")
    files = ids if dataset.paths is None else [file.replace(os.sep, "/") for file in relative_to(dataset.paths, path)]
    targets: dict[str, list[int] | None] = {}
    for name, (start, end) in zip(names, pairwise(labels.csr.indptr.tolist()), strict=True):
        present = labels.csr.indices[start:end][labels.csr.data[start:end] > 0]
        targets[name] = present.tolist() if end > start else None
    write_text(path / "data.json", json.dumps(dict(zip(ids, files, strict=True)), ensure_ascii=False) + "\n")
    content = {"classes": list(labels.classes), "labels": targets}
    write_text(path / "labels.json", json.dumps(content, ensure_ascii=False) + "\n")
    return _notes(dataset)


def _notes(dataset: Dataset) -> list[str]:
    _, absent = dataset.labels.counts_per_class()
    notes = [f"{int(absent.sum())} absent labels are not written: the format has none"] if absent.any() else []
    if dataset.splits:
        notes.append(f"the splits {', '.join(dataset.splits)}are not written: the format has no splits")
    if dataset.boxes is not None:
        notes.append(f"{len(dataset.boxes.cls)} boxes are not written")
    if dataset.paths is None:
        notes.append("the images are in memory: data.json contains their ids and no files")
    return notes
