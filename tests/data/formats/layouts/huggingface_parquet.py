"""A data set of the hub as Parquet shards, with the images inside; as `datasets` writes them, schema included."""

import io
import json
from pathlib import Path

import pytest
from PIL import Image

CLASSES = ["cat", "dog", "big bird"]
LABELS = {
    "train-00000-of-00002": [[0, 1], [2], []],
    "train-00001-of-00002": [[0], None],
    "validation-00000-of-00001": [[1, 2], [0]],
}
FEATURES = {
    "image": {"_type": "Image"},
    "labels": {"feature": {"names": CLASSES, "_type": "ClassLabel"}, "_type": "Sequence"},
    "caption": {"dtype": "string", "_type": "Value"},
}


def image(number: int) -> bytes:
    """A small PNG whose red is the number."""
    out = io.BytesIO()
    Image.new("RGB", (6, 4), (number, 80, 40)).save(out, "PNG")
    return out.getvalue()


def table(labels: list, start: int, named: bool = True):
    """The rows of a shard; the red of its images counts from `start`."""
    pa = pytest.importorskip("pyarrow")
    cells = [
        {"bytes": image(start + row), "path": f"{start + row:04}.png" if named else None} for row in range(len(labels))
    ]
    columns = {
        "image": pa.array(cells, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        "labels": pa.array(labels, pa.list_(pa.int64())),
        "caption": pa.array(["a photo"] * len(labels)),
    }
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": FEATURES}})})


def write(root: Path) -> Path:
    """Writes the repository below `root` and returns its folder."""
    pq = pytest.importorskip("pyarrow.parquet")
    home, start = root / "birds", 0
    (home / "data").mkdir(parents=True)
    for name, labels in LABELS.items():
        pq.write_table(table(labels, start), home / "data" / f"{name}.parquet", row_group_size=2)
        start += len(labels)
    (home / "README.md").write_text("---\ndataset_info:\n  features:\n  - name: image\n    dtype: image\n---\n")
    (home / ".gitattributes").write_text("*.parquet filter=lfs\n")
    return home
