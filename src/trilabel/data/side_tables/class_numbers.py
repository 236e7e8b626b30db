"""Tables with a few numbers for each class, such as its share of the images."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.side_tables.side_information import rows_of
from trilabel.errors import TrilabelError


def read_class_numbers(
    path: str | Path, classes: Sequence[str], headers: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """C numbers from 0 to 1 for each column but the first, "class", by the column's name; every class has a row.

    headers: what the first row may be ("class,share"). Rows of other classes are ignored: a table may cover more.
    """
    path = Path(path)
    rows = rows_of(path, headers)
    _, header = next(rows)
    columns = [name.lower() for name in header[1:]]
    places, found = {name: place for place, name in enumerate(classes)}, np.full((len(columns), len(classes)), np.nan)
    others = []
    for line, (name, *cells) in rows:
        if name not in places:
            others.append(name)
        elif not np.isnan(found[0, places[name]]):
            raise TrilabelError(f"{path}, row {line}: class {name!r} is listed twice; remove one")
        else:
            found[:, places[name]] = [_share(cell, path, line) for cell in cells]
    if len(missing := np.flatnonzero(np.isnan(found[0]))):
        name = classes[int(missing[0])]
        near = get_close_matches(name, others, 1)
        meant = f" ({near[0]!r} is no class here)" if near else ""
        raise TrilabelError(f"{path}: no row for class {name!r}{meant}; add one")
    return dict(zip(columns, found, strict=True))


def _share(text: str, path: Path, line: int) -> float:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not 0 <= number <= 1:
        raise TrilabelError(f"{path}, row {line}: a share is a number from 0 to 1, not {text!r}")
    return number
