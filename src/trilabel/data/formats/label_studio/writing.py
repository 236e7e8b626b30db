"""Writing tasks for Label Studio, which `label_studio.read` reads back."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import replacing


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes a task per image, with its known labels as an annotation; returns notes on what was left out.

    Present and absent labels are choices in the fields "present" and "absent", boxes are rectangles in "box". The
    labelling configuration of the project to import them to:

        <View>
          <Image name="image" value="$image"/>
          <Choices name="present" toName="image" choice="multiple"> <Choice value="cat"/> … </Choices>
          <Choices name="absent" toName="image" choice="multiple"> <Choice value="cat"/> … </Choices>
          <RectangleLabels name="box" toName="image"> <Label value="cat"/> … </RectangleLabels>
        </View>

    Images are local files below the folder of `path`, which must be Label Studio's document root for local files.
    Not part of Label Studio are `split`, `trilabel_id` and `trilabel_classes` in the data of tasks.
    """
    if path.suffix.lower() != ".json":
        raise TrilabelError(f"{path}: the name of a Label Studio file must end in .json; change it")
    if not all(dataset.labels.shape):
        images, classes = dataset.labels.shape
        raise TrilabelError(f"{path}: nothing to write in {images} images × {classes} classes")
    files = dataset.ids if dataset.paths is None else relative_to(dataset.paths, path.parent)
    notes: list[str] = []
    split_of, several = dataset.first_split()
    if len(several):
        notes.append(f"{len(several)} images are in more than one split: only the first is written")
    if empty := sum(not len(rows) for rows in dataset.splits.values()):
        notes.append(f"{empty} splits without images are left out")
    boxes, hidden = _boxes(dataset)
    if hidden:
        notes.append(f"{hidden} boxes of labels that are not present left out")
    if dataset.paths is None:
        notes.append("the images have no files: their ids are written as file names")
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        rows = zip(dataset.ids, files, split_of, _choices(dataset), strict=True)
        for row, (name, file, split, choices) in enumerate(rows):
            local = file.replace(os.sep, "/")
            data: dict[str, Any] = {"image": f"/data/local-files/?d={quote(local)}"}
            if split:
                data["split"] = split
            if name != local:
                data["trilabel_id"] = name
            if row == 0:
                data["trilabel_classes"] = list(dataset.classes)  # also those without known labels
            known = [("choices", field, {"choices": names}) for field, names in choices.items()]
            known += [("rectanglelabels", "box", value) for value in boxes[row]]
            results = [
                {"id": f"{row + 1}-{number}", "from_name": field, "to_name": "image", "type": kind, "value": value}
                for number, (kind, field, value) in enumerate(known, start=1)
            ]
            annotations = [{"result": results, "was_cancelled": False, "ground_truth": False}] if results else []
            task = {"id": row + 1, "data": data, "annotations": annotations, "predictions": []}
            out.write(("[\n" if row == 0 else ",\n") + json.dumps(task, ensure_ascii=False))
        out.write("\n]\n")
    return notes


def _choices(dataset: Dataset) -> Iterator[dict[str, list[str]]]:
    """For every image the names of its present and absent classes."""
    classes, csr = list(dataset.classes), dataset.labels.csr
    for start, end in pairwise(csr.indptr.tolist()):
        names: dict[str, list[str]] = defaultdict(list)
        for column, value in zip(csr.indices[start:end].tolist(), csr.data[start:end].tolist(), strict=True):
            names["present" if value > 0 else "absent"].append(classes[column])
        yield names


def _boxes(dataset: Dataset) -> tuple[dict[int, list[dict[str, Any]]], int]:
    """The rectangles of each image, and how many were left out because their labels are not present."""
    rectangles: dict[int, list[dict[str, Any]]] = defaultdict(list)
    if dataset.boxes is None:
        return rectangles, 0
    image, cls, xyxy = dataset.boxes
    shown = np.asarray(dataset.labels.csr[image, cls]).ravel() > 0 if len(image) else np.zeros(0, bool)
    classes = list(dataset.classes)
    for row, column, (x0, y0, x1, y1) in zip(
        image[shown].tolist(), cls[shown].tolist(), (xyxy[shown].astype(np.float64) * 100).tolist(), strict=True
    ):
        place = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0, "rotation": 0}
        rectangles[row].append({**place, "rectanglelabels": [classes[column]]})
    return rectangles, int((~shown).sum())
