"""A `DatasetDict` that `save_to_disk` wrote: Arrow files with the images inside, and what is said about them."""

import json
from pathlib import Path

import pytest

from tests.data.formats.layouts.huggingface_parquet import table

LABELS = {
    "train/data-00000-of-00002": [[0, 1], [2], []],
    "train/data-00001-of-00002": [[0], None],
    "test/data-00000-of-00001": [[1, 2], [0]],
}


def write(root: Path) -> Path:
    """Writes the folder below `root` and returns it."""
    pa = pytest.importorskip("pyarrow")
    home, start = root / "saved", 0
    for name, labels in LABELS.items():
        file = home / f"{name}.arrow"
        file.parent.mkdir(parents=True, exist_ok=True)
        rows = table(labels, start, named=False)
        with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=2)
        start += len(labels)
    (home / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    for split in ("train", "test"):
        files = [{"filename": f"{Path(name).name}.arrow"} for name in LABELS if name.startswith(split)]
        state = {"_data_files": files, "_fingerprint": "0123456789abcdef", "_format_type": None, "_split": split}
        (home / split / "state.json").write_text(json.dumps(state))
        (home / split / "dataset_info.json").write_text(json.dumps({"citation": "", "features": {}}))
    return home
