"""What is on disk after a kill or in the end, compared with what an undisturbed run leaves."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import safe_open

_TIMES = ("seconds", "val_seconds")


def visible_faults(out: Path, reference: Path, changes: bool) -> list[str]:
    """What is wrong with the files that a killed command left under their final names.

    changes: whether files change while the command runs; otherwise each must be as in the end.
    """
    found = []
    for name, file in _files(out).items():
        try:
            if changes:
                _content(file)
            elif _content(file) != _content(_files(reference).get(name, Path("/nowhere"))):
                found.append(f"half-written: {file.name} is not what it is in the end")
        except Exception as error:  # whatever it is, the file is not complete
            found.append(f"half-written: {file.name} ({type(error).__name__}: {error})")
    return found


def differences(out: Path, reference: Path) -> list[str]:
    """How what a command wrote in the end differs from what it writes when it is not disturbed."""
    ours, theirs = _files(out), _files(reference)
    found = [f"lost: {name}" for name in theirs.keys() - ours.keys()]
    found += [f"too many: {name}" for name in ours.keys() - theirs.keys()]
    for name in sorted(ours.keys() & theirs.keys()):
        if name.endswith((".png", ".html")):
            continue  # a plot of the tables, or a page about them with the times that things took
        if _content(ours[name]) != _content(theirs[name]):
            found.append(f"differs: {name}")
    return found


def leftovers(folder: Path) -> list[str]:
    """Temporary files and folders; locks may stay."""
    hidden = (path for path in folder.rglob(".*") if path.suffix != ".lock")
    return [f"left: {path.name}" for path in hidden]


def _files(out: Path) -> dict[str, Path]:
    """Visible files by their path in the output."""
    if out.is_file():
        return {"": out}
    paths = (path for path in sorted(out.rglob("*")) if path.is_file())
    inside = {path.relative_to(out): path for path in paths}
    return {str(name): path for name, path in inside.items() if not any(part.startswith(".") for part in name.parts)}


def _content(file: Path) -> Any:
    """The content of a file without times; raises an error if it is not complete."""
    return _READERS.get(file.suffix, Path.read_bytes)(file)


def _json(file: Path) -> Any:
    return _without_times(json.loads(file.read_text(encoding="utf-8")))


def _json_lines(file: Path) -> Any:
    return [_without_times(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(inner) for key, inner in value.items() if key not in _TIMES}
    if isinstance(value, list):
        return [_without_times(inner) for inner in value]
    return "nan" if value != value else value


def _tensors(file: Path) -> Any:
    with safe_open(file, framework="np") as opened:
        names = sorted(opened.keys())
        content = {name: _exact(opened.get_tensor(name)) for name in names}
        return content, _without_times(json.loads((opened.metadata() or {})["state"]))


def _arrays(file: Path) -> Any:
    with np.load(file, allow_pickle=False) as opened:
        return {name: _exact(opened[name]) for name in opened.files}


def _exact(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return str(array.dtype), array.shape, array.tobytes()


def _table(file: Path) -> Any:
    lines = file.read_text(encoding="utf-8")
    if "seconds" not in lines.partition("\n")[0]:
        return lines
    table = pd.read_csv(file, dtype=str, keep_default_na=False)
    return table.drop(columns=[name for name in table.columns if "seconds" in name]).to_csv()


def _text_without_times(file: Path) -> str:
    return re.sub(r"\b\d+ (s|min|h)\b", "", file.read_text(encoding="utf-8"))


_READERS: dict[str, Callable[[Path], Any]] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".safetensors": _tensors,
    ".npz": _arrays,
    ".csv": _table,
    ".md": _text_without_times,
    ".tex": _text_without_times,
}
