"""Small tables given in addition to the labels: groups that images belong to, edges of a graph."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.tables import DELIMITERS, read_rows, table_suffix
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names


def rows_of(path: Path, headers: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """(line, cells) of the header, which must be one of these ("a,b"), and of all rows, each of the same length.

    The British spelling "neighbour" is accepted, too: tables that version 0.1 wrote have it.
    """
    wanted = " or ".join(headers)
    if not path.is_file():
        raise TrilabelError(f"{path}: no such file; give a table with the columns {wanted}")
    width = 0
    for line, row in read_rows(path, DELIMITERS.get(table_suffix(path), ",")):
        cells = [cell.strip() for cell in row]
        if not width and ",".join(cells).lower().replace("neighbour", "neighbor") not in headers:
            raise TrilabelError(f"{path}, row {line}: the columns must be {wanted}, not {','.join(cells)!r}")
        width = width or len(cells)
        if len(cells) != width:
            raise TrilabelError(f"{path}, row {line}: {len(cells)} cells, but the first row has {width}")
        yield line, cells
    if not width:
        raise TrilabelError(f"{path}: the table is empty; its first row must name the columns, {wanted}")


def read_groups(path: str | Path, ids: Names) -> NDArray[np.int64]:
    """The number of the group of each image in `ids`, by a table of image and group; −1 where it has none.

    Images that are not in `ids` are ignored: a table may cover more than is trained on.
    """
    path = Path(path)
    rows = rows_of(path, ["image,group"])
    next(rows)
    lines, images, groups = [], [], []
    numbers: dict[str, int] = {}
    for line, (image, group) in rows:
        if group:
            lines.append(line)
            images.append(image)
            groups.append(numbers.setdefault(group, len(numbers)))
    found, of_rows = np.full(len(ids), -1, np.int64), np.array(groups, np.int64)
    places = ids.positions(Names(images))
    here = np.flatnonzero(places >= 0)
    if not len(here):
        raise TrilabelError(f"{path}: no image of the training set has a group here (one of them is {ids[0]!r})")
    found[places[here]] = of_rows[here]
    contradicted = here[found[places[here]] != of_rows[here]]
    if len(contradicted):
        row = int(contradicted[0])
        raise TrilabelError(f"{path}, row {lines[row]}: image {images[row]!r} is in two groups; correct one of them")
    return found
