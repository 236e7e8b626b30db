"""A project of Label Studio exported as TSV: JSON in cells, columns in alphabetical order, all texts quoted."""

import csv
import json
from pathlib import Path
from typing import Any

REGION = {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 0, "rectanglelabels": ["Boat"]}
REGION |= {"original_width": 200, "original_height": 100}


def row(task: int, annotation: int, **fields: Any) -> dict[str, Any]:
    """What one annotator said about one task."""
    when = "2024-03-09T22:16:08.728353Z"
    end = {"annotator": "me@example.com", "annotation_id": annotation, "created_at": when, "updated_at": when}
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()}
    return {"id": task, "image": f"/data/upload/83/1a2b3c4d-sea_{task}.jpg", **texts, **end, "lead_time": 4.288}


ROWS = [
    row(1, 7, choice={"choices": ["Sea", "Sky"]}, label=[REGION]),
    row(2, 8, choice="Sea"),
    row(2, 9, choice={"choices": ["Sea", "Boat"]}),
    row(3, 10, label=[REGION, {**REGION, "rectanglelabels": ["Sky"]}]),
    row(4, 11),
]


def write(root: Path, suffix: str = "tsv") -> Path:
    """Writes the export below `root` as Label Studio's converter does, and returns its path."""
    file = root / f"project-83-at-2024-03-10-10-00-1a2b3c4d.{suffix}"
    with file.open("w", encoding="utf-8", newline="") as out:
        names = sorted({name for record in ROWS for name in record})
        mark = "\t" if suffix == "tsv" else ","
        writer = csv.DictWriter(out, names, quoting=csv.QUOTE_NONNUMERIC, delimiter=mark)
        writer.writeheader()
        writer.writerows(ROWS)
    return file
