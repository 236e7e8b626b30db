"""The files of a comparison: the result of each run, and which data it compares."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError, system_error
from trilabel.files import write_text
from trilabel.input_files import read_input
from trilabel.training.run_folder import RunFolder

_RESULT = "result.json"
_DATA = "data.json"
_KEPT = "best model kept"  # entry of result.json


def is_finished(folder: Path) -> bool:
    """Whether a run has a result."""
    return (folder / _RESULT).is_file()


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result that `finish` wrote; None if the run is not finished.

    Also deletes the checkpoints that `finish` had no time to delete.
    """
    file = folder / _RESULT
    if not is_finished(folder):
        return None
    text = _read(file)
    try:
        result = dict(json.loads(text))
    except (ValueError, TypeError, RecursionError):
        raise TrilabelError(f"{file}: damaged; delete it to repeat the run") from None
    _delete_checkpoints(folder, result.pop(_KEPT, True))
    return result


def finish(folder: Path, result: Mapping[str, Any], keep: bool) -> None:
    """Writes the result, then deletes the checkpoints; with `keep`, all but the best."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / _RESULT, json.dumps({**result, _KEPT: keep}, ensure_ascii=False))
    _delete_checkpoints(folder, keep)


def _delete_checkpoints(folder: Path, keep_best: bool) -> None:
    for file in folder.rglob("*.safetensors"):  # also those of a first round
        if not (keep_best and file == RunFolder(folder).best):
            file.unlink(missing_ok=True)


def open_comparison(out: Path, dataset: Dataset, source: Mapping[str, Any]) -> None:
    """Creates the folder of a comparison, or checks that an existing one compares the same data."""
    file = out / _DATA
    about = {"source": source, "images": len(dataset), "classes": list(dataset.classes)}
    about["contents"] = _fingerprint(dataset)
    if file.is_file():
        if _data_of(file) != json.loads(json.dumps(about)):
            raise TrilabelError(f"{out}: contains a comparison on other data ({file}); choose another --out")
    elif out.is_file():
        raise TrilabelError(f"{out}: this is a file; a comparison needs a folder")
    elif out.is_dir() and any(each.name != _DATA and not each.name.startswith(".") for each in out.iterdir()):
        raise TrilabelError(f"{out}: this folder contains something else; choose another --out")
    write_text(file, json.dumps(about, ensure_ascii=False))


def _data_of(file: Path) -> Any:
    text = _read(file)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise TrilabelError(f"{file}: damaged; restore it or choose another --out") from None


def _read(file: Path) -> bytes:
    try:
        return read_input(file)
    except OSError as error:
        raise system_error(error, file) from error


def _fingerprint(dataset: Dataset) -> str:
    """A hash of labels, image ids and splits: if any of them changes, finished cells are no longer valid."""
    csr, digest = dataset.labels.csr, hashlib.sha256(json.dumps(list(dataset.ids)).encode())
    parts = {"indptr": csr.indptr, "indices": csr.indices, "data": csr.data}
    parts |= {f"split {name}": dataset.splits[name] for name in sorted(dataset.splits)}
    for name, part in parts.items():  # with lengths, so that an image cannot move to the next split unnoticed
        digest.update(json.dumps([name, len(part)]).encode())
        digest.update(np.ascontiguousarray(part, np.int64).tobytes())
    return digest.hexdigest()
