"""Tables (text, Parquet, Arrow, Feather): wide (a column per class), long (a row per label), or a cell of tags."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.arrow_table import ARROW_ENDS, open_rows
from trilabel.data.formats._shared.assemble import Unlisted, fill_absent
from trilabel.data.formats._shared.join import join_parts
from trilabel.data.formats._shared.none_class import others_absent
from trilabel.data.formats._shared.split_files import SplitFile, images_of, split_files
from trilabel.data.formats._shared.table_file import TableFile
from trilabel.data.formats._shared.tag_lists import is_list, separator_of
from trilabel.data.formats.csv_table.cells import SIGNS, CellReader, Values, rule_of, signs_of
from trilabel.data.formats.csv_table.filling import Values as NewValues
from trilabel.data.formats.csv_table.filling import fill_table
from trilabel.data.formats.csv_table.layout import IMAGE_COLUMNS, TAG_COLUMNS, TableLayout, find_columns
from trilabel.data.formats.csv_table.reading import read_table
from trilabel.data.formats.csv_table.writing import write, write_known
from trilabel.data.image_paths import is_image, locate, moved
from trilabel.data.options import check_choice
from trilabel.data.tables import DELIMITERS, table_suffix
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.labels import Labels

__all__ = ["RULE", "detect", "fill", "read", "write", "write_known"]

_BOX_COLUMNS = {"xmin", "ymin", "xmax", "ymax", "x_min", "y_min", "x_max", "y_max", "x1", "y1", "x2", "y2", "x", "y"}
_BOX_COLUMNS |= {"w", "h", "width", "height", "left", "top", "right", "bottom"}
_AMBIGUOUS = (
    "has both 0 and -1; pass values='uncertain' (-1 is unknown, 0 absent: CheXpert, MIMIC-CXR), values='signed' (-1 is "
    "absent, 0 unknown: PASCAL VOC's lists, trilabel's arrays) or values='binary' (both are absent: CelebA's -1 beside "
    "others' 0)"
)
RULE = "1 and listed tags are present, 0 is absent; empty cells and what is not listed are unknown"


def detect(path: Path) -> bool:
    """Whether this is a file named like a table, or a folder with a table for each split."""
    return (path.is_file() and table_suffix(path) in (*DELIMITERS, *ARROW_ENDS)) or bool(_split_files(path))


def _split_files(path: Path) -> list[SplitFile]:
    return split_files(path, "_classes.csv", (".csv", ".tsv", *ARROW_ENDS))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    layout: Literal["auto", "wide", "long", "tags"] = "auto",
    values: Values = "auto",
    conflict: Literal["error", "unknown", "majority"] = "error",
    ignore: Sequence[str] = (),
    delimiter: str | None = None,
    separator: str | None = None,
    image: str | None = None,
    tags: str | None = None,
    unlisted: Unlisted = "unknown",
    class_columns: Sequence[str] = (),
    positive_values: Sequence[str] = (),
    negative_values: Sequence[str] = (),
    unknown_values: Sequence[str] = (),
    none_class: str | None = None,
) -> Dataset:
    """Reads a table of labels, or one for each split; docs/data.md explains each column and cell.

    `images` is the folder that the image column is relative to (by default the table's own). `layout` overrides
    the layout detected from the header. `values` says what 0 and -1 mean: both absent ("binary"), 0 unknown and
    -1 absent ("signed"), or -1 unknown and 0 absent ("uncertain", as CheXpert writes them). `conflict` decides about
    a label that is both present and absent in a long table. Columns in `ignore` are left out. `image` and `tags` name
    the columns of images and of tags, `separator` separates the tags of a cell ("": every cell is one tag).
    `unlisted` is the value of all other labels of an image with known labels. `class_columns` are the classes of a
    wide table; other columns are left out. `positive_values`, `negative_values` and `unknown_values` are words in its
    cells ("YES", "NO", "NA"). `none_class` is a class ("No Finding") that makes all others absent.
    """
    options: dict[str, Any] = {name: given for name, given in locals().items() if name not in ("path", "images")}
    if parts := _split_files(path):
        found = [(one.split, one.inside, read(one.file, images=images_of(images, one), **options)) for one in parts]
        return join_parts(path, found)
    check_choice(path, "layout", layout, ("auto", "wide", "long", "tags"))
    check_choice(path, "values", values, get_args(Values))
    check_choice(path, "conflict", conflict, ("error", "unknown", "majority"))
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    with open_rows(path, delimiter) as file:
        table = _layout_of(file, layout, ignore, image, tags, class_columns)
        if unlisted == "absent" and (values in ("signed", "uncertain") or table.value >= 0):
            raise TrilabelError(
                f"{path}: unlisted='absent' is for lists and for tables whose empty cells mean absent; this one "
                "marks unknown labels itself"
            )
        cells = CellReader(*signs_of(path, values, {1: positive_values, -1: negative_values, 0: unknown_values}))
        labels, files, splits, more = read_table(file, table, cells, conflict, separator)
    if values == "auto" and cells.is_ambiguous():
        raise TrilabelError(f"{path}: {_AMBIGUOUS}")
    if unlisted == "absent":
        labels = fill_absent(path, labels, np.flatnonzero(np.diff(labels.csr.indptr)))
    if none_class is not None:
        labels, concluded = others_absent(path, labels, none_class)
        more = [*more, *concluded]
    root = Path(images or path.parent)
    paths, missing = locate(root, labels.ids if files is None else files)
    paths, elsewhere = moved(paths, [root, root / "images"])
    notes = _notes(table, values, unlisted, len(labels) - sum(map(len, splits.values())), missing, paths.root)
    return Dataset(labels.ids, paths, labels, splits, notes=(*notes, *more, *elsewhere))


def fill(path: Path, out: Path, labels: Labels, values: NewValues, options: Mapping[str, Any]) -> list[str]:
    """Writes a table again with its holes filled; rows, columns and the way values are written stay as they are.

    labels: what was read from it, with these options. values: from rows of the labels to what the table is to say of
    each class (n×C), 0 where it is to say nothing new. Returns notes on what such a table cannot say.
    """
    words = {1: "positive_values", -1: "negative_values", 0: "unknown_values"}
    given = {sign: options.get(name, ()) for sign, name in words.items()}
    with open_rows(path, options.get("delimiter")) as file:
        table = _layout_of(
            file,
            options.get("layout", "auto"),
            options.get("ignore", ()),
            options.get("image"),
            options.get("tags"),
            options.get("class_columns", ()),
        )
        cells = CellReader(*signs_of(path, options.get("values", "auto"), given))
        return fill_table(file, table, cells, options.get("separator"), labels, values, out)


def _layout_of(
    file: TableFile, layout: str, ignore: Sequence[str], image: str | None, tags: str | None, classes: Sequence[str]
) -> TableLayout:
    """The roles of the columns, by their names or, if these are unclear, by the first rows."""
    names = [cell.strip().lower() for cell in file.header]
    if classes:
        return _of_classes(file, layout, image, classes)
    ignore = [*ignore, *_empty_columns(file)]
    if layout == "auto" and tags is None and not set(names) & {*TAG_COLUMNS, "label"}:
        tags = next(iter(_columns_of_lists(file, ignore)), None)
    if layout == "auto" and (tags or _has_tags(file, names, ignore)):
        layout = "tags"
    column = _column(file, image) if image else _images_column(file, names)
    beside = "label" in names and "value" not in names and _are_beside(file, names)
    return find_columns(file.path, file.delimiter, file.header, layout, ignore, column, _column(file, tags), beside)


def _empty_columns(file: TableFile) -> list[str]:
    """The name "" if there are columns without a name and nothing is in them: a comma ends each line (ChestX-ray14)."""
    unnamed = [column for column, name in enumerate(file.header) if column and not name]
    rows = [row for row in file.sample(1000)[1:] if len(row) == len(file.header)] if unnamed else []
    return [""] if rows and not any(row[column].strip() for row in rows for column in unnamed) else []


def _of_classes(file: TableFile, layout: str, image: str | None, classes: Sequence[str]) -> TableLayout:
    """The layout of a wide table whose classes the user named."""
    if layout not in ("auto", "wide"):
        raise TrilabelError(
            f"{file.path}: class_columns are for a wide table, not for layout={layout!r}; leave out one"
        )
    wanted = {_column(file, name.strip()) for name in classes}
    column = _column(file, image) if image else _images_column(file, [cell.lower() for cell in file.header])
    others = [name for number, name in enumerate(file.header) if number not in wanted]
    found = find_columns(file.path, file.delimiter, file.header, "wide", others, column)
    if taken := sorted(wanted - set(found.classes)):
        raise TrilabelError(
            f"{file.path}: column {file.header[taken[0]]!r} is not one of classes: it names images or splits"
        )
    left_out = [name for number, name in enumerate(file.header) if name and number not in found.taken | wanted]
    return replace(found, left_out=left_out)


def _column(file: TableFile, name: str | None) -> int:
    """The column of this name; −1 if there is no name."""
    if name is not None and name not in file.header:
        raise unknown_name_error(f"column in {file.path}", name, file.header)
    return -1 if name is None else file.header.index(name)


def _images_column(file: TableFile, names: list[str]) -> int:
    """If no column is called image or similar: the first column that contains names of image files."""
    if set(names) & set(IMAGE_COLUMNS) or not any(names):
        return -1
    rows = [row for row in file.sample(50)[1:] if len(row) == len(names)]
    full = (column for column in range(len(names)) if rows and all(is_image(row[column].strip()) for row in rows))
    return next(full, -1)


def _are_beside(file: TableFile, names: list[str]) -> bool:
    """Whether the columns beside label are no classes: they are a box, or none of them has only labels in its cells."""
    if len(_BOX_COLUMNS & set(names)) >= 4:
        return True
    rows = [row for row in file.sample(50)[1:] if len(row) == len(names)]
    known = {*IMAGE_COLUMNS, "label", "split"}
    cells = [[row[column].strip().lower() for row in rows] for column, name in enumerate(names) if name not in known]
    return all(any(_is_no_label(cell) for cell in column) for column in cells)


def _is_no_label(text: str) -> bool:
    return text not in SIGNS


def _has_tags(file: TableFile, names: list[str], ignore: Sequence[str]) -> bool:
    """Whether there is one column called tags or similar with words in it, or one called label with lists."""
    called = [column for column, name in enumerate(names) if name in TAG_COLUMNS and name not in ignore]
    if len(called) > 1:  # one is the tag of something else
        called = [column for column in called if names[column] != "tag"]
    lists = [names.index("label")] if "label" in names and "value" not in names else []
    if len(called) != 1 and not lists:
        return False
    rows = [row for row in file.sample(1000)[1:] if len(row) == len(names)]
    if len(called) == 1 and any(_is_word(row[called[0]].strip().lower()) for row in rows):
        return True
    image = next((names.index(name) for name in IMAGE_COLUMNS if name in names), 0)
    return bool(lists) and _are_lists(file.path, [row[lists[0]] for row in rows], [row[image] for row in rows])


def _columns_of_lists(file: TableFile, ignore: Sequence[str]) -> list[str]:
    """The only column whose first cells, as far as they are not empty, are lists in brackets; none if several are."""
    rows = [row for row in file.sample(50)[1:] if len(row) == len(file.header)]
    cells = {name: [row[column] for row in rows if row[column].strip()] for column, name in enumerate(file.header)}
    found = [name for name, each in cells.items() if name not in ignore and each and all(map(is_list, each))]
    return found if len(found) == 1 else []


def _are_lists(path: Path, cells: list[str], images: list[str]) -> bool:
    """Whether cells of a column called label clearly contain several labels: lists, or a;b in the only row of each."""
    if any(map(is_list, cells)):
        return True
    try:
        return len(set(images)) == len(images) and separator_of(path, Counter(cells), lists=False)[0] != ""
    except TrilabelError:  # `read_table` asks, when it has seen all cells
        return False


def _is_word(text: str) -> bool:
    """Whether this is neither a label (1, 0, true, …), nor a number, nor one of the ways to write nothing."""
    try:
        float(text)
    except ValueError:
        return text not in SIGNS and text not in ("na", "n/a", "none", "null", "-")
    return False


def _notes(
    table: TableLayout, values: Values, unlisted: str, in_no_split: int, missing: int, root: str
) -> Iterator[str]:
    if unlisted == "absent":
        yield "labels that are not listed are absent, except in images without any"
    elif table.tags >= 0:
        yield "listed tags are present; every other label, and all of an image without tags, is unknown"
    elif table.label >= 0 and table.value < 0:
        yield "listed labels are present; every other label is unknown"
    else:
        yield rule_of(values) + ("; labels without a row are unknown" if table.label >= 0 else "")
    if table.header[table.image].strip().lower() not in IMAGE_COLUMNS:
        yield f"images are those in column {table.header[table.image]!r}"
    if table.left_out:
        yield f"columns left out: {', '.join(table.left_out)}"
    if table.split >= 0 and in_no_split:
        yield f"{in_no_split} images are in no split"
    if missing:
        yield f"{missing} images without the ending of an image (.jpg, …) have no file in {root}"
