"""Writing files that MMPretrain reads."""

import json
import os
from pathlib import Path
from typing import Any

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.present_labels import note_lost, present_columns
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import write_text


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes a .json file, or into a folder annotations/SPLIT.json for each split, as MMPretrain reads them; notes.

    What is not listed counts as absent there, so images without a known label are left out.
    """
    if not all(dataset.labels.shape):
        images, classes = dataset.labels.shape
        raise TrilabelError(f"{path}: nothing to write in {images} images × {classes} classes")
    notes: list[str] = []
    note_lost(dataset, notes, absent=False)
    if dataset.boxes is not None:
        notes.append(f"{len(dataset.boxes.cls)} boxes are not written")
    known = dataset.labels.csr.indptr[1:] - dataset.labels.csr.indptr[:-1]
    if bare := int((known == 0).sum()):
        notes.append(f"{bare} images without a known label are left out: the format has no unknown ones")
    if unknown := int((dataset.labels.shape[1] - known[known > 0]).sum()):
        notes.append(f"{unknown:,} unknown labels will be read as absent: the format has none in an image with labels")
    single = path.suffix.lower() == ".json"
    split_of = [""] * len(dataset) if single else dataset.first_split()[0]
    targets = {name: path if single else path / "annotations" / f"{name or 'train'}.json" for name in split_of}
    files = list(dataset.ids) if dataset.paths is None else list(relative_to(dataset.paths, _root(path)))
    records: dict[Path, list[dict[str, Any]]] = {}
    for row, columns in enumerate(present_columns(dataset.labels)):
        if known[row]:
            record = {"img_path": files[row].replace(os.sep, "/"), "gt_label": columns}
            records.setdefault(targets[split_of[row]], []).append(record)
    for target, found in records.items():
        lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in found)
        about = json.dumps({"classes": list(dataset.classes)}, ensure_ascii=False)
        write_text(target, f'{{\n"metainfo": {about},\n"data_list": [\n{lines}\n]\n}}\n')
    return notes


def _root(path: Path) -> Path:
    """The folder that paths of images start from: that of a file, or the one around annotations."""
    return path.parent if path.suffix.lower() == ".json" else path
