"""Writing tables of labels that `csv_table.read` reads back."""

import csv
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.label_columns import label_cells, split_column
from trilabel.data.formats.csv_table.layout import find_columns
from trilabel.data.image_paths import relative_to
from trilabel.data.spreadsheet_cells import count_formulas, formula_note, refuse_equal, safe_cell
from trilabel.data.tables import DELIMITERS, create_table, table_suffix
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.labels import Labels
from trilabel.log import progress

_IMAGES_AT_ONCE = 4096


def write(
    data: Dataset | Labels, path: str | Path, layout: Literal["wide", "long"] = "wide", safe_cells: bool = False
) -> list[str]:
    """Writes labels as a table; of a data set also its splits and the paths of its images. Returns notes on what is
    left out.

    Reading it back gives the same images and classes in the same order, including those without known labels.
    An existing file is replaced completely or not at all. With `safe_cells`, names that a spreadsheet would run as
    formulas get an apostrophe in front, which reading back does not remove.
    """
    path = Path(path)
    labels = data if isinstance(data, Labels) else data.labels
    beside = {} if isinstance(data, Labels) else _columns_beside(data, path)
    header = ["image", *beside, *(labels.classes if layout == "wide" else ("label", "value"))]
    _refuse_unreadable(labels, path, header, layout)
    if safe_cells:
        for names in (labels.classes, labels.ids):
            refuse_equal(names, path)
    # Before Python 3.13 the writer leaves a carriage return unquoted if its own line ends have none.
    cell = safe_cell if safe_cells else str
    returns = any((names.buffer == ord("\r")).any() for names in (labels.ids, labels.classes))
    with replacing(path) as temporary, create_table(temporary) as file:
        writer = csv.writer(
            file,
            delimiter=DELIMITERS.get(table_suffix(path), ","),
            lineterminator="\n",
            quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
        )
        writer.writerow(map(cell, header))
        rows = ([row] for row in label_cells(labels)) if layout == "wide" else _long_rows(labels, cell)
        images = zip(*(map(cell, names) for names in (labels.ids, *beside.values())), rows, strict=True)
        with progress(f"writing {path.name}, images", len(labels)) as advance:
            while part := list(islice(images, _IMAGES_AT_ONCE)):
                writer.writerows([*start, *end] for *start, ends in part for end in ends)
                advance(len(part))
    notes = []
    if not isinstance(data, Labels) and data.boxes is not None:
        notes.append(f"{len(data.boxes.image)} boxes are not written: a table has no place for them")
    if not safe_cells and (count := _formulas(data, path, "path" in beside)):
        notes.append(formula_note(count))
    return notes


def _formulas(data: Dataset | Labels, path: Path, with_paths: bool) -> int:
    """How many names a spreadsheet would run, each counted once."""
    if isinstance(data, Labels):
        return count_formulas(data.ids, data.classes)
    files = relative_to(data.paths or (), path.parent) if with_paths else ()
    return count_formulas(data.labels.ids, data.labels.classes, data.splits, files)


def write_known(labels: Labels, path: str | Path) -> None:
    """Writes only known labels, one row each: images and classes without any are left out, unlike with `write`."""
    path = Path(path)
    _refuse_unreadable(labels, path, ["image", "label", "value"], "long")
    known = labels.csr.tocoo()
    classes = list(labels.classes)
    with replacing(path) as temporary, create_table(temporary) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("image", "label", "value"))
        for row, column, value in zip(known.row.tolist(), known.col.tolist(), known.data.tolist(), strict=True):
            writer.writerow((labels.ids[row], classes[column], int(value > 0)))


def _refuse_unreadable(labels: Labels, path: Path, header: list[str], layout: str) -> None:
    if layout not in ("wide", "long"):
        raise TrilabelError(f"{path}: layout={layout!r}: use 'wide' or 'long'")
    if not all(labels.shape):
        raise TrilabelError(f"{path}: nothing to write in {labels.shape[0]} images × {labels.shape[1]} classes")
    for what, names in (("image", labels.ids), ("class", labels.classes)):
        if not np.diff(names.offsets).all() or not names.buffer.all():
            raise TrilabelError(f"{path}: a table cannot contain a {what} name that is empty or has a zero byte")
    if layout == "wide" and not _wide_header_is_clear(header, labels.shape[1]):
        raise TrilabelError(
            f"{path}: a class is called image, path, filename, split, label or value, as other columns of tables are; "
            "rename it or write layout='long'"
        )
    if layout == "wide" and any(name != name.strip() for name in labels.classes):
        raise TrilabelError(
            f"{path}: a class begins or ends with a blank, which the header of a table cannot keep; rename it or write "
            "layout='long'"
        )


def _wide_header_is_clear(header: list[str], classes: int) -> bool:
    try:
        return len(find_columns(Path(), ",", header).classes) == classes
    except TrilabelError:
        return False


def _long_rows(labels: Labels, cell: Callable[[str], str]) -> Iterator[list[tuple[str, str]]]:
    """For every image its known labels, one row each; one empty row if there are none, so that the image is kept.

    The first image lists every class, known or not, so that the order of the classes is also kept.
    """
    classes, texts = list(map(cell, labels.classes)), ("0", "", "1")
    ends = labels.csr.indptr.tolist()
    yield [(name, texts[value + 1]) for name, value in zip(classes, labels.rows([0])[0].tolist(), strict=True)]
    for start, end in pairwise(ends[1:]):
        columns, values = labels.csr.indices[start:end].tolist(), labels.csr.data[start:end].tolist()
        known = [(classes[column], texts[value + 1]) for column, value in zip(columns, values, strict=True)]
        yield known or [("", "")]


def _columns_beside(dataset: Dataset, path: Path) -> dict[str, Iterable[str]]:
    """The columns path and split, if they add something to the other columns."""
    columns: dict[str, Iterable[str]] = {}
    if dataset.paths is not None:
        files = relative_to(dataset.paths, path.parent)
        if any(file != name for file, name in zip(files, dataset.labels.ids, strict=True)):
            columns["path"] = relative_to(dataset.paths, path.parent)
    if dataset.splits:
        columns["split"] = split_column(dataset, path)
    return columns
