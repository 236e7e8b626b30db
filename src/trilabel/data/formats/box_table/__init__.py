"""Tables with a row per box: VoTT, Roboflow and TensorFlow (_annotations.csv), VinBigData, boxes of Open Images."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.arrow_table import ARROW_ENDS, header_of, open_rows
from trilabel.data.formats._shared.assemble import Unlisted, fill_absent
from trilabel.data.formats._shared.image_size import upright_size
from trilabel.data.formats._shared.join import join_parts
from trilabel.data.formats._shared.none_class import others_absent
from trilabel.data.formats._shared.pixel_boxes import shares
from trilabel.data.formats._shared.split_files import SplitFile, images_of, split_files
from trilabel.data.formats.box_table.columns import BoxColumns, find_box_columns
from trilabel.data.formats.box_table.rows import Rows, read_rows
from trilabel.data.image_paths import RootedPaths, locate, moved, split_name
from trilabel.data.options import check_choice
from trilabel.data.tables import DELIMITERS, first_unpacked, table_suffix, usual_delimiter
from trilabel.data.tables import read_rows as read_cells
from trilabel.data.text_files import peek
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.log import track

RULE = "classes with a row are present, others unknown (or absent, with unlisted='absent')"
_OPEN_IMAGES = "-annotations-bbox.csv"
_DESCRIPTIONS = ("class-descriptions-boxable.csv", "class-descriptions.csv")


def detect(path: Path) -> bool:
    """Whether this is a table with columns of images, classes and boxes, or a folder with one for each split."""
    return bool(_files(path))


def _files(path: Path) -> list[SplitFile]:
    """The tables at a path; a file has no split."""
    if path.is_file():
        return [SplitFile("", "", path)] if _has_boxes(path) else []
    found = split_files(path, "_annotations.csv", (".csv", ".tsv", *ARROW_ENDS))
    for folder in (path, path / "annotations"):
        named = {split_name(file.name.removesuffix(_OPEN_IMAGES)): file for file in folder.glob(f"*{_OPEN_IMAGES}")}
        found = found or [SplitFile(split, "", named[split]) for split in ("train", "val", "test") if split in named]
    return found if found and all(_has_boxes(one.file) for one in found) else []


def _has_boxes(file: Path) -> bool:
    if file.suffix.lower() in ARROW_ENDS:
        return find_box_columns(header_of(file)) is not None
    if table_suffix(file) not in DELIMITERS:
        return False
    start = first_unpacked(file, peek(file))
    try:
        lines = start.decode("utf-8-sig", "replace").splitlines()[:1]
        header = next(csv.reader(lines, delimiter=usual_delimiter(file, start)), [])
    except csv.Error:
        return False
    return find_box_columns(header) is not None


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    unlisted: Unlisted = "unknown",
    none_class: str | None = None,
    boxes: bool = True,
) -> Dataset:
    """Reads boxes, and their classes as present labels.

    `unlisted` is the value of a class without a row in an image that has others. `none_class` is a class ("No finding")
    that makes all others absent. Boxes in pixels need the size of the image, from columns or else from its file:
    without `boxes` no image is opened.
    """
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    files = _files(path) or ([SplitFile("", "", path)] if path.is_file() else [])
    if not files:
        raise TrilabelError(f"{path}: no table of boxes here, such as train/_annotations.csv; give the path of one")
    parts = []
    for one in files:
        beside = one.file.parent if one.inside or path.is_file() else path
        part = _read_file(one.file, Path(images_of(images, one) or beside), boxes)
        parts.append((one.split, one.inside, part))
    dataset = parts[0][2] if path.is_file() else join_parts(path, parts)
    labels, notes = dataset.labels, [f"classes with a row are present, others {unlisted}"]
    if unlisted == "absent":
        labels = fill_absent(path, labels, np.flatnonzero(np.diff(labels.csr.indptr)))
    if none_class is not None:
        labels, concluded = others_absent(path, labels, none_class)
        notes += concluded
    return replace(dataset, labels=labels, notes=(*notes, *dataset.notes))


def _read_file(path: Path, root: Path, boxes: bool) -> Dataset:
    with open_rows(path) as file:
        columns = find_box_columns(file.header)
        if columns is None:
            raise TrilabelError(
                f"{path}: a table of boxes needs columns such as filename, class, xmin, ymin, xmax, ymax; rename them"
            )
        rows = read_rows(file, columns)
    if not rows.classes:
        raise TrilabelError(f"{path}: no row names a class")
    order = sorted(range(len(rows.classes)), key=rows.classes.__getitem__)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    named = np.flatnonzero(rows.label >= 0)
    image, cls = rows.image[named], place[rows.label[named]]
    names = _described(path, [rows.classes[number] for number in order])
    keys = np.unique(image * len(order) + cls)
    entries = keys // len(order), keys % len(order), np.ones(len(keys), np.int8)
    try:
        labels = Labels.from_entries(*entries, names, rows.ids)
    except TrilabelError as error:
        raise TrilabelError(f"{path}: {error}") from None
    paths, missing = locate(root, rows.ids)
    paths, notes = moved(paths, [root, root / "images"])
    notes += [f"{missing} images without the ending of an image (.jpg, …) have no file in {root}"] if missing else []
    splits = {name: _rows_in(rows.splits, name) for name in dict.fromkeys(rows.splits) if name}
    if not boxes:
        return Dataset(rows.ids, paths, labels, splits, notes=tuple(notes))
    corners, good = _corners(rows._replace(image=image, numbers=rows.numbers[named]), columns, paths)
    if boxless := int((~good).sum()):
        notes.append(f"{boxless} rows have no box, or an image that cannot be opened: no boxes are read for them")
    drawn = Boxes(image[good], cls[good], corners[good].clip(0, 1).astype(np.float32))
    return Dataset(rows.ids, paths, labels, splits, drawn, notes=tuple(notes))


def _rows_in(splits: list[str], name: str) -> NDArray[np.int64]:
    return np.flatnonzero(np.array(splits, object) == name)


def _described(path: Path, codes: list[str]) -> list[str]:
    """The names of the classes of Open Images, whose codes begin with /m/ or /g/; other classes as they are."""
    if not all(code.startswith("/") for code in codes):
        return codes
    file = next((path.with_name(name) for name in _DESCRIPTIONS if path.with_name(name).is_file()), None)
    names = {row[0]: row[1] for _, row in read_cells(file, ",") if len(row) == 2 and all(row)} if file else {}
    found = [names.get(code, code) for code in codes]
    return [name if found.count(name) == 1 else f"{name} ({code})" for name, code in zip(found, codes, strict=True)]


def _corners(rows: Rows, columns: BoxColumns, paths: RootedPaths) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(left, top, right, bottom) of each row as shares of the image, and which of them are usable."""
    box = rows.numbers[:, :4].copy()
    whole = np.isfinite(box).all(1)
    if columns.corners:
        box[:, 2:] -= box[:, :2]
    if whole.any() and rows.numbers[whole, :4].max() <= 1:  # as Open Images has them: shares already
        return shares(box, np.ones((len(box), 2)))
    if columns.size:
        return shares(box, rows.numbers[:, 4:])
    wanted = np.unique(rows.image[whole]).tolist()
    sizes = np.zeros((len(rows.ids), 2))
    for row in track(wanted, "sizes of images", len(wanted)):
        sizes[row] = upright_size(paths[row]) or (0, 0)
    return shares(box, sizes[rows.image])
