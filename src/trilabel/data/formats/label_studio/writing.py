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
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.present_labels import boxes_of_present, by_image, note_lost
from trilabel.data.image_paths import relative_to
from trilabel.errors import TrilabelError
from trilabel.files import replacing


def write(
    dataset: Dataset,
    path: Path,
    *,
    predictions: bool = False,
    scores: NDArray[np.float32] | None = None,
    present: str = "present",
    absent: str = "absent",
    to_name: str = "image",
) -> list[str]:
    """Writes a task per image, with its known labels as an annotation; returns notes on what was left out.

    With `predictions` they are a prediction, which Label Studio shows to annotators as a start; `scores`, images ×
    classes, then gives it the mean score of its present labels, by which tasks can be sorted. Present and absent labels
    are choices in the fields `present` and `absent` ("": absent ones are left out), boxes are rectangles in "box", all
    about the image called `to_name`. The labelling configuration of the project to import them to:

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
    note_lost(dataset, notes, absent=not absent)
    split_of, _ = dataset.first_split()
    boxes = by_image(boxes_of_present(dataset, notes))
    if dataset.paths is None:
        notes.append("the images have no files: their ids are written as file names")
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as out:
        rows = zip(dataset.ids, files, split_of, _choices(dataset, present, absent), strict=True)
        for row, (name, file, split, choices) in enumerate(rows):
            data = _data(name, file.replace(os.sep, "/"), split)
            if row == 0:
                data["trilabel_classes"] = list(dataset.classes)  # also those without known labels
            known = [("choices", field, {"choices": names}) for field, names in choices.items()]
            known += [("rectanglelabels", "box", _rectangle(dataset, *box)) for box in boxes.get(row, ())]
            results = [
                {"id": f"{row + 1}-{number}", "from_name": field, "to_name": to_name, "type": kind, "value": value}
                for number, (kind, field, value) in enumerate(known, start=1)
            ]
            score = None if scores is None else _mean_score(scores[row], dataset, row)
            task = {"id": row + 1, "data": data, **_said(results, predictions, score)}
            out.write(("[\n" if row == 0 else ",\n") + json.dumps(task, ensure_ascii=False))
        out.write("\n]\n")
    return notes


def _data(name: str, local: str, split: str) -> dict[str, Any]:
    """What a task is about."""
    data: dict[str, Any] = {"image": f"/data/local-files/?d={quote(local)}"}
    if split:
        data["split"] = split
    if name != local:
        data["trilabel_id"] = name
    return data


def _said(results: list[dict[str, Any]], predictions: bool, score: float | None) -> dict[str, list[Any]]:
    """The results as an annotation or as a prediction."""
    if not results:
        return {"annotations": [], "predictions": []}
    if not predictions:
        return {"annotations": [{"result": results, "was_cancelled": False, "ground_truth": False}], "predictions": []}
    scored = {} if score is None else {"score": score}
    return {"annotations": [], "predictions": [{"model_version": "trilabel", **scored, "result": results}]}


def _mean_score(scores: NDArray[np.float32], dataset: Dataset, row: int) -> float:
    csr = dataset.labels.csr
    known = slice(csr.indptr[row], csr.indptr[row + 1])
    columns = csr.indices[known][csr.data[known] > 0]
    return round(float(scores[columns].mean()), 6) if len(columns) else 0.0


def _choices(dataset: Dataset, present: str, absent: str) -> Iterator[dict[str, list[str]]]:
    """For every image the names of its present and absent classes, by fields."""
    classes, csr = list(dataset.classes), dataset.labels.csr
    for start, end in pairwise(csr.indptr.tolist()):
        names: dict[str, list[str]] = defaultdict(list)
        for column, value in zip(csr.indices[start:end].tolist(), csr.data[start:end].tolist(), strict=True):
            if value > 0 or absent:
                names[present if value > 0 else absent].append(classes[column])
        yield names


def _rectangle(dataset: Dataset, column: int, corners: tuple[float, float, float, float]) -> dict[str, Any]:
    left, top, right, bottom = (100 * share for share in corners)
    place = {"x": left, "y": top, "width": right - left, "height": bottom - top, "rotation": 0}
    return {**place, "rectanglelabels": [dataset.classes[column]]}
