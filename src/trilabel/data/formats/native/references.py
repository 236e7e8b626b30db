"""Numbers in a *.trilabel file that refer to other parts of it.

NumPy and SciPy rely on them, and somebody else may have made the file.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def check_references(arrays: Mapping[str, NDArray[Any]], about: Mapping[str, Any]) -> None:
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
