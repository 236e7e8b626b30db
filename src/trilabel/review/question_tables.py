"""Tables of questions: columns `image` and `class`, and perhaps more, such as the audit that `complete` writes."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.tables import read_rows
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.printable import plural


class QuestionTable(NamedTuple):
    """Questions in the order of a table."""

    name: str  # of the file
    keys: NDArray[np.int64]  # row · C + column
    random: bool  # whether they were drawn at random, as an audit is


def read_questions(path: Path, ids: Names, classes: Names) -> QuestionTable:
    """The questions of a table, each once; those with an answer already are left out.

    A table with columns `proposed` and `answer` is an audit: its questions were drawn at random.
    """
    rows = read_rows(path, ",")
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    if not {"image", "class"} <= set(header):
        raise TrilabelError(f"{path}, row 1: questions have columns image and class; these are {', '.join(header)}")
    places, lines, images, names = {name: header.index(name) for name in header}, [], [], []
    for line, cells in rows:
        if len(cells) != len(header):
            raise TrilabelError(f"{path}, row {line}: {plural(len(cells), 'cell')}, but the header has {len(header)}")
        if "answer" in places and cells[places["answer"]].strip():
            continue
        lines.append(line)
        images.append(cells[places["image"]])
        names.append(cells[places["class"]])
    found_rows, found_columns = ids.positions(Names(images)), classes.positions(Names(names))
    for found, given, what in ((found_rows, images, "image"), (found_columns, names, "class")):
        for place in np.flatnonzero(found < 0)[:1]:
            raise TrilabelError(f"{path}, row {lines[place]}: no {what} {given[place]!r} in the data")
    keys = found_rows * len(classes) + found_columns
    _, first = np.unique(keys, return_index=True)
    return QuestionTable(path.name, keys[np.sort(first)], {"proposed", "answer"} <= set(header))
