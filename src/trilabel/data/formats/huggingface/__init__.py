"""Hugging Face: an image folder with metadata.csv or .jsonl, or Parquet and Arrow files with the images inside."""

from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, assemble
from trilabel.data.formats._shared.json_document import short
from trilabel.data.formats._shared.record_collector import RecordCollector
from trilabel.data.formats._shared.records import ID_COLUMN, Records
from trilabel.data.formats._shared.shard_files import numbered, unique_ids
from trilabel.data.formats.huggingface.metadata import find, names_images, read_metadata, root_of_path
from trilabel.data.formats.huggingface.shards import features_of, read_rows, shard_names, splits_of
from trilabel.data.formats.huggingface.writing import split_of as split_of_path
from trilabel.data.formats.huggingface.writing import write
from trilabel.data.image_paths import RootedPaths, root_of
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import track

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True
RULE = "columns of 0 and 1: 0 is absent, empty unknown; lists of labels: listed are present, others unknown"


def detect(path: Path) -> bool:
    """Whether this is such a metadata file or table, or a folder with one, itself or in its sub-folders."""
    files = find(path)
    return names_images(files[0]) if files else bool(shard_names(path))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    column: str | None = None,
    unlisted: Unlisted = "unknown",
    separator: str | None = None,
) -> Dataset:
    """Reads an image folder with metadata.

    Labels are those of `column`, or of the first existing column of labels, label, tags and objects, or else of all
    columns of 0 and 1. A `column` of 0 and 1 is one class. `unlisted` is the value of a label that is not in an
    image's list, `separator` what separates the labels of a text ("": a text is one label).
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    if not find(path) and (shards := shard_names(path)):
        return _read_shards(path, shards, images, RecordCollector(path, column, unlisted, separator))
    table = read_metadata(path)
    found = RecordCollector(path, column, unlisted, separator)
    names = _names(table)
    ids = [text or name for text, name in zip(table.columns.get(ID_COLUMN, repeat(None)), names, strict=False)]
    _refuse_repeats(table, ids)
    found.add(table)
    labels = found.labels()
    return assemble(
        path,
        ids=ids,
        paths=RootedPaths(root_of(images, [root_of_path(path)]), names),
        classes=labels.classes,
        entries=labels.entries,
        absent_in=labels.absent_in,
        split_of=_splits(table, names),
        boxes=labels.boxes,
        notes=labels.notes + found.left_out((_name_column(table), ID_COLUMN, "split")),
    )


def _read_shards(path: Path, shards: Sequence[str], images: str | Path | None, found: RecordCollector) -> Dataset:
    """Reads all but the images, which are opened in the shards when they are needed."""
    root = root_of_path(path)
    names, paths, split_of = list[Names](), list[Names](), list[str]()
    features = features_of(root / shards[0])
    found.seen |= dict.fromkeys(features.names)
    for name, split in zip(track(shards, "reading shards", len(shards)), splits_of(root, shards), strict=True):
        for rows in read_rows(root, name, found.column):
            found.declare(features.classes(found.chosen(rows.table) or ""))
            found.add(rows.table)
            names.append(Names(rows.names))
            paths.append(Names(rows.paths))
            split_of += [split] * len(rows.paths)
    if not split_of:
        raise TrilabelError(f"{path}: its tables have no rows")
    labels = found.labels()
    used = f"images are those in column {features.images[0]!r}, not {' or '.join(features.images[1:])}"
    return assemble(
        path,
        ids=unique_ids(Names.join(names), split_of, lambda: numbered(split_of)),
        paths=RootedPaths(root_of(images, [root]), Names.join(paths)),
        classes=labels.classes,
        entries=labels.entries,
        absent_in=labels.absent_in,
        split_of=split_of,
        boxes=labels.boxes,
        notes=[*labels.notes, *([used] if len(features.images) > 1 else []), *found.left_out(features.images)],
    )


# ---- images and splits


def _name_column(table: Records) -> str:
    others = [name for name in table.columns if name.endswith("_file_name")]
    for name in ("file_name", *others, "image"):
        if name in table.columns and (name not in others or len(others) == 1):
            return name
    if others:
        raise table.error_at(0, f"columns {', '.join(others)} all name files; call the images' column file_name")
    raise table.error_at(0, "no column file_name; add one with the path of each image")


def _names(table: Records) -> list[str]:
    column = _name_column(table)
    names = table.columns[column]
    for row, name in enumerate(names):
        if not isinstance(name, str):
            raise table.error_at(row, f"{column} is {short(name)}, not the path of an image")
        if "\0" in name:
            raise table.error_at(row, f"{column} {short(name)} has a zero byte; correct the path")
    return [folder + name.removeprefix("./") for folder, name in zip(table.folders, names, strict=True)]


def _refuse_repeats(table: Records, ids: list[str]) -> None:
    first: dict[str, int] = {}
    for row, name in enumerate(ids):
        if not isinstance(name, str):
            raise table.error_at(row, f"{ID_COLUMN} is {short(name)}, not a text")
        if first.setdefault(name, row) != row:
            file, line = table.places[first[name]]
            where = f"line {line}" if file == table.places[row][0] else f"{file}, line {line}"
            raise table.error_at(row, f"image {name!r} is listed twice, first in {where}; remove one")


def _splits(table: Records, names: list[str]) -> list[str]:
    if "split" not in table.columns:
        return [split_of_path(name) for name in names]
    for row, split in enumerate(table.columns["split"]):
        if not isinstance(split, str | None):
            raise table.error_at(row, f"split is {short(split)}, not a text such as train")
    return [split or "" for split in table.columns["split"]]
