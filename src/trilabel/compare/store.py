"""What a comparison keeps on disk: whose turn a run is, what came of it, and of which data."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.files import write_text
from trilabel.training.run_folder import RunFolder

try:
    import fcntl
except ImportError:  # Windows: there one process at a time
    fcntl = None  # type: ignore[assignment]

_RESULT = "result.json"
_DATA = "data.json"


@contextmanager
def taken(folder: Path) -> Iterator[bool]:
    """Whether this process may work in a folder: no other does, until this one is through with it or ends."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if fcntl is None:
        yield True
        return
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def result_of(folder: Path) -> dict[str, Any] | None:
    """What `finish` wrote; None for a run that is not finished."""
    file = folder / _RESULT
    if not file.is_file():
        return None
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise TrilabelError(f"{file}: damaged; delete it, and the run is made again") from None


def finish(folder: Path, result: Mapping[str, Any], keep: bool) -> None:
    """Writes the result, then lets go of what only training needed: checkpoints, the best one too unless to `keep`."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / _RESULT, json.dumps(result, ensure_ascii=False))
    for file in folder.glob("*.safetensors"):
        if not (keep and file == RunFolder(folder).best):
            file.unlink()


def open_comparison(out: Path, dataset: Dataset, source: Mapping[str, Any]) -> None:
    """Makes the folder of a comparison, or makes sure that it compares the same data."""
    file = out / _DATA
    about = {"source": source, "images": len(dataset), "classes": list(dataset.classes)}
    about["contents"] = _fingerprint(dataset)
    if file.is_file():
        if json.loads(file.read_text(encoding="utf-8")) != json.loads(json.dumps(about)):
            raise TrilabelError(f"{out}: compares other data already ({file}); choose another --out")
    elif out.is_file():
        raise TrilabelError(f"{out}: this is a file; a comparison needs a folder")
    elif out.is_dir() and any(each.name != _DATA and not each.name.startswith(".") for each in out.iterdir()):
        raise TrilabelError(f"{out}: this folder holds something else; choose another --out")
    write_text(file, json.dumps(about, ensure_ascii=False))


def _fingerprint(dataset: Dataset) -> str:
    """Changes with any label, image id or split: finished cells are of the data as it was."""
    csr, found = dataset.labels.csr, hashlib.sha256(json.dumps(list(dataset.ids)).encode())
    parts = {"indptr": csr.indptr, "indices": csr.indices, "data": csr.data}
    parts |= {f"split {name}": dataset.splits[name] for name in sorted(dataset.splits)}
    for name, part in parts.items():  # with lengths, or images could go from one split to the next unseen
        found.update(json.dumps([name, len(part)]).encode())
        found.update(np.ascontiguousarray(part, np.int64).tobytes())
    return found.hexdigest()
