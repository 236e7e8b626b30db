"""trilabel's own file (*.trilabel): labels, image index, splits and boxes, opened without being read.

The container is that of safetensors (a length, a JSON header, arrays end to end), so other programs can read it.
Every array is mapped into memory, and read from disk when it is used.
"""

import json
import math
import mmap
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import RootedPaths, relative_to, root_of
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.input_files import open_input
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.log import Advance, progress

RULE = "labels as they were when the file was written; the notes of the original reader are kept"
SUFFIX = ".trilabel"
_VERSION = 1
_ALIGN = 64
_KINDS = {"I64": np.int64, "I32": np.int32, "F32": np.float32, "I8": np.int8, "U8": np.uint8}
_CODES = {np.dtype(kind): code for code, kind in _KINDS.items()}
_ALWAYS_CHECKED = 64 << 20  # this many bytes are checked in a moment
_BLOCK = 1 << 24
_Arrays = dict[str, NDArray[Any]]


def detect(path: Path) -> bool:
    """Whether this is a file named *.trilabel."""
    return path.is_file() and path.suffix.lower() == SUFFIX


def read(path: Path, *, images: str | Path | None = None, verify: bool = False) -> Dataset:
    """Opens the file. `verify` compares every byte with its checksum, as is always done for files up to 64 MB.

    In larger files only the row offsets are always compared. Numbers that refer to other parts are checked in any file:
    NumPy and SciPy rely on them, and somebody else may have made the file.
    """
    try:
        arrays, about = _open(path)
        verify = verify or sum(array.nbytes for array in arrays.values()) <= _ALWAYS_CHECKED
        _compare(path, arrays if verify else {"row_ends": arrays["row_ends"]}, about["checksums"])
        _check_references(arrays, about)
        shape = about["images"], about["classes"]
        csr = sp.csr_array((arrays["values"], arrays["columns"], arrays["row_ends"]), shape=shape)
        if verify:
            csr.check_format(full_check=True)
        csr.has_sorted_indices = csr.has_canonical_format = True  # else SciPy would read all of it to find out
        labels = Labels(csr, _names(arrays, "classes"), _names(arrays, "ids"))
        usual = [Path(os.path.normpath(folder / about["root"])) for folder in (path.parent, path.resolve().parent)]
        paths = RootedPaths(root_of(images, usual), _names(arrays, "paths") if "paths" in arrays else labels.ids)
        splits = {name: arrays[f"split {number}"] for number, name in enumerate(about["splits"])}
        boxes = Boxes(*(arrays[f"box {part}"] for part in ("image", "cls", "xyxy"))) if "box cls" in arrays else None
        return Dataset(labels.ids, paths, labels, splits, boxes, notes=tuple(about["notes"]))
    except TrilabelError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        # a header that does not match the arrays
        raise TrilabelError(f"{path}: damaged ({error}); write it again") from None


def write(dataset: Dataset, path: Path) -> list[str]:
    """Writes the file; an existing file is replaced completely or not at all."""
    arrays, about = _contents(dataset, path)
    size = sum(array.nbytes for array in arrays.values())
    with progress(f"writing {path.name}, MB", 2 * size >> 20) as advance:
        about["checksums"] = {name: _checksum(array, advance) for name, array in arrays.items()}
        with replacing(path) as temporary, temporary.open("wb") as file:
            file.write(_header(arrays, about))
            for array in arrays.values():
                for block in _blocks(array):
                    file.write(block)
                    advance(len(block) >> 20)
    return ["the truth about labels hidden on purpose is not written"] if dataset.truth is not None else []


# ---- contents


def _contents(dataset: Dataset, path: Path) -> tuple[_Arrays, dict[str, Any]]:
    """The arrays and the header."""
    if dataset.paths is None:
        raise TrilabelError(f"{path}: these images were drawn in memory; without files there is nothing to refer to")
    labels = dataset.labels
    csr = labels.csr if labels.csr.has_sorted_indices else labels.csr.sorted_indices()
    index = np.int32 if max(csr.nnz, *csr.shape) < 2**31 else np.int64  # one kind for both, or SciPy would copy one
    arrays: _Arrays = {
        "row_ends": csr.indptr.astype(index, copy=False),
        "columns": csr.indices.astype(index, copy=False),
        "values": csr.data,
        **_stored("ids", labels.ids),
        **_stored("classes", labels.classes),
    }
    root, names = _image_index(dataset.paths, path.parent)
    if names != labels.ids:
        arrays |= _stored("paths", names)
    arrays |= {f"split {number}": rows.astype(np.int64) for number, rows in enumerate(dataset.splits.values())}
    if dataset.boxes is not None:
        boxes = dataset.boxes
        arrays |= {"box image": boxes.image.astype(np.int64), "box cls": boxes.cls.astype(np.int64)}
        arrays["box xyxy"] = boxes.xyxy.astype(np.float32)
    about = {"images": len(labels), "classes": labels.shape[1], "root": root}
    about |= {"splits": list(dataset.splits), "notes": list(dataset.notes)}
    # The largest items come first, so that every array starts at a multiple of the size of its items.
    in_order = sorted(arrays.items(), key=lambda pair: -pair[1].itemsize)
    return {name: np.ascontiguousarray(array) for name, array in in_order}, about


def _image_index(paths: Sequence[str], folder: Path) -> tuple[str, Names]:
    """(root, names): where the images are, with the root as seen from the folder of the file."""
    if not isinstance(paths, RootedPaths):
        return ".", Names(name.replace(os.sep, "/") for name in relative_to(paths, folder))
    (root,) = relative_to([os.path.join(paths.root, "")], folder)  # noqa: PTH118 (pathlib drops the last slash)
    names = paths.names if isinstance(paths.names, Names) else Names(paths.names)
    return root.replace(os.sep, "/").rstrip("/") or ".", names


def _stored(name: str, names: Names) -> _Arrays:
    start = names.offsets[0]
    return {name: names.buffer[start : names.offsets[-1]], f"{name} ends": names.offsets - start}


def _names(arrays: _Arrays, name: str) -> Names:
    distinct = name != "paths"  # labels refuse repeated names before anything is written
    return Names.from_buffer(arrays[name], arrays[f"{name} ends"], distinct)


def _check_references(arrays: _Arrays, about: dict[str, Any]) -> None:
    """Raises a ValueError for a number that refers to something that is not there."""
    ends, columns, values = arrays["row_ends"], arrays["columns"], arrays["values"]
    images, classes = int(about["images"]), int(about["classes"])
    _require("row_ends", len(ends) == images + 1 and _ascends(ends, len(columns)))
    _require("columns", len(columns) == len(values) and _below(columns, classes))
    _require("values", values.dtype == np.int8)
    for name, count in (("ids", images), ("classes", classes), ("paths", images)):
        if name in arrays:
            ends, buffer = arrays[f"{name} ends"], arrays[name]
            _require(name, buffer.dtype == np.uint8 and len(ends) == count + 1 and _ascends(ends, len(buffer)))
    for name, rows in arrays.items():
        _require(name, not name.startswith("split ") or _below(rows, images))
    if "box cls" in arrays:
        image, cls, corners = (arrays[f"box {part}"] for part in ("image", "cls", "xyxy"))
        _require("box image", _below(image, images) and _below(cls, classes))
        _require("box xyxy", corners.dtype == np.float32 and corners.shape == (len(image), 4) == (len(cls), 4))
    _require("notes", all(isinstance(each, str) for each in (*about["notes"], *about["splits"], about["root"])))


def _require(name: str, sound: bool) -> None:
    if not sound:
        raise ValueError(f"{name!r} does not fit the other parts")


def _ascends(ends: NDArray[Any], last: int) -> bool:
    whole = ends.ndim == 1 and ends.dtype.kind == "i" and len(ends) > 0
    return whole and ends[0] == 0 and ends[-1] == last and not (ends[1:] < ends[:-1]).any()


def _below(numbers: NDArray[Any], count: int) -> bool:
    """Whether these are whole numbers from 0 to below `count`."""
    whole = numbers.ndim == 1 and numbers.dtype.kind == "i"
    return whole and (not len(numbers) or (int(numbers.min()) >= 0 and int(numbers.max()) < count))


# ---- the container


def _header(arrays: _Arrays, about: dict[str, Any]) -> bytes:
    entries: dict[str, Any] = {}
    start = 0
    for name, array in arrays.items():
        end = start + array.nbytes
        entries[name] = {"dtype": _CODES[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
        start = end
    description = json.dumps(about, sort_keys=True)
    entries["__metadata__"] = {
        "trilabel": str(_VERSION),
        "about": description,
        "checksum": _text_checksum(description, entries),
    }
    text = json.dumps(entries).encode()
    text += b" " * (-(len(text) + 8) % _ALIGN)
    return len(text).to_bytes(8, "little") + text


def _text_checksum(about: str, entries: dict[str, Any]) -> str:
    plain = {name: entry for name, entry in entries.items() if name != "__metadata__"}
    text = about + json.dumps(plain, sort_keys=True)
    return f"{zlib.crc32(text.encode(errors='surrogatepass')):08x}"  # damaged text may hold half a character


def _open(path: Path) -> tuple[_Arrays, dict[str, Any]]:
    """All arrays, mapped into memory, and the header; checked to belong together."""
    try:
        with open_input(path) as file:
            whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        length = int.from_bytes(whole[:8], "little")
        entries = json.loads(whole[8 : 8 + length])
        version, about, checksum = (entries["__metadata__"][key] for key in ("trilabel", "about", "checksum"))
    except TrilabelError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        what = "empty" if not path.stat().st_size else "not a trilabel file, or cut short"
        raise TrilabelError(f"{path}: {what}; write it again") from None
    if version != str(_VERSION):
        raise TrilabelError(f"{path}: has format version {version}, but this trilabel reads {_VERSION}; upgrade it")
    if checksum != _text_checksum(str(about), entries):
        raise TrilabelError(f"{path}: damaged: the header is not what was written; write it again")
    del entries["__metadata__"]
    start = 8 + length
    size = start + max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    if len(whole) != size:
        raise TrilabelError(f"{path}: has {len(whole):,} of {size:,} bytes: cut short or extended; write it again")
    return {name: _mapped(whole, start, entry) for name, entry in entries.items()}, json.loads(about)


def _mapped(whole: mmap.mmap, start: int, entry: dict[str, Any]) -> NDArray[Any]:
    count, (begin, end) = math.prod(entry["shape"]), entry["data_offsets"]
    if not 0 <= begin <= end or count * np.dtype(_KINDS[entry["dtype"]]).itemsize != end - begin:
        raise ValueError("an array is larger or smaller than its part of the file")
    return np.frombuffer(whole, _KINDS[entry["dtype"]], count, start + begin).reshape(entry["shape"])


def _blocks(array: NDArray[Any]) -> list[memoryview]:
    flat = memoryview(array.reshape(-1).view(np.uint8).data)
    return [flat[start : start + _BLOCK] for start in range(0, len(flat), _BLOCK)]


def _checksum(array: NDArray[Any], advance: Advance) -> str:
    value = 0
    for block in _blocks(array):
        value = zlib.crc32(block, value)
        advance(len(block) >> 20)
    return f"{value:08x}"


def _compare(path: Path, arrays: _Arrays, checksums: dict[str, str]) -> None:
    with progress(f"checking {path.name}, MB", sum(array.nbytes for array in arrays.values()) >> 20) as advance:
        for name, array in arrays.items():
            if _checksum(array, advance) != checksums.get(name):
                raise TrilabelError(f"{path}: damaged: the bytes of {name!r} are not what was written; write it again")
