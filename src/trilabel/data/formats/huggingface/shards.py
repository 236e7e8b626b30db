"""Data sets of Hugging Face with the images inside: Parquet files as on the hub, Arrow files of `save_to_disk`."""

import json
import os
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from trilabel.archives import find_member
from trilabel.archives.table_rows import address, batches_of, damage_named
from trilabel.data.formats._shared.record_collector import LISTS
from trilabel.data.formats._shared.records import Records, plain
from trilabel.data.formats._shared.shard_files import files_called, split_of_shard
from trilabel.data.formats.huggingface.features import Features
from trilabel.data.image_paths import split_name
from trilabel.errors import TrilabelError
from trilabel.input_files import check_regular

_ENDS = (".parquet", ".arrow")
_SIZES = ("width", "height")


class Rows(NamedTuple):
    """Rows of a shard that are stored together, without their images."""

    table: Records
    names: list[str]  # of the files that the images were, "" where that is not known
    paths: list[str]  # below the root


def shard_names(path: Path) -> list[str]:
    """The shards at a path, relative to it (or to its folder); none if no images are inside."""
    if os.path.isfile(path):  # noqa: PTH113 (pathlib raises for some names)
        return [path.name] if path.suffix.lower() in _ENDS and _has_images(path) else []
    found = _listed(path) or files_called(path, _ENDS)
    return found if found and _has_images(path / found[0]) else []


def _listed(path: Path) -> list[str]:
    """The files that state.json names, as `save_to_disk` writes it, for each split of dataset_dict.json."""
    try:
        splits = json.loads((path / "dataset_dict.json").read_bytes())["splits"] if _has_splits(path) else [""]
        states = {split: json.loads((path / split / "state.json").read_bytes()) for split in splits}
        named = [(split, str(file["filename"])) for split in splits for file in states[split]["_data_files"]]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []
    inside = [f"{split}/{name}".lstrip("/") for split, name in named]
    return inside if not any(".." in name.split("/") for name in inside) else []


def _has_splits(path: Path) -> bool:
    return (path / "dataset_dict.json").is_file()


def _has_images(file: Path) -> bool:
    try:
        return bool(features_of(file).images)
    except TrilabelError:
        return False


def features_of(file: Path) -> Features:
    """The columns of a shard."""
    try:
        check_regular(file)
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror}); copy it here") from None
    with damage_named(str(file)):
        if file.suffix.lower() == ".arrow":
            pa: Any = import_module("pyarrow")
            with pa.memory_map(str(file)) as mapped:
                is_file = mapped.read(6) == b"ARROW1"
                mapped.seek(0)
                return Features((pa.ipc.open_file if is_file else pa.ipc.open_stream)(mapped).schema)
        return Features(import_module("pyarrow.parquet").read_schema(str(file)))


def splits_of(path: Path, names: Sequence[str]) -> list[str]:
    """The split of each shard; refuses several configurations, which are data sets of their own."""
    splits = [split_name(name.split("/")[0]) if _has_splits(path) else split_of_shard(name) for name in names]
    around = {name.rpartition("/")[0] for name in names}
    configurations = sorted({_configuration(folder) for folder in around} - {""})
    if len(configurations) > 1:
        raise TrilabelError(
            f"{path}: has several configurations ({', '.join(configurations[:8])}); give the folder of one of them"
        )
    return splits


def _configuration(folder: str) -> str:
    return "/".join(part for part in folder.split("/") if part != "data" and not split_of_shard(part))


def read_rows(root: Path, name: str, column: str | None) -> Iterator[Rows]:
    """The rows of a shard, a row group or batch at a time; only columns that may be labels are read."""
    file = root / name
    if find_member(file) is not None:
        raise TrilabelError(f"{file}: images in a table in a .zip are not read; unpack it, and give the folder")
    features = features_of(file)
    image = features.images[0] if features.images else None
    if image is None:
        raise TrilabelError(f"{file}: has no column of images, unlike the other shards")
    if column is not None and column not in features.names:
        raise TrilabelError(f"{file}: no column {column!r} here, only {', '.join(features.names)}")
    wanted = _wanted(features, column)
    start = 1
    with damage_named(str(file)):
        for number, (batch, in_files) in enumerate(_batches(file, wanted, features, image)):
            columns = {
                each: [features.named(each, plain(cell)) for cell in batch.column(each).to_pylist()] for each in wanted
            }
            places = [(file, start + row) for row in range(batch.num_rows)]
            files = [cell["path"] or "" if cell else "" for cell in _paths_in(batch, image, features)]
            inside = f"{name}/{address(image, number)}"
            paths = files if in_files else [f"{inside}/{row}.jpg" for row in range(batch.num_rows)]
            yield Rows(Records(columns, [], places, "row"), files, paths)
            start += batch.num_rows


def _wanted(features: Features, column: str | None) -> list[str]:
    lists = [column] if column else [name for name in (*LISTS, "objects") if name in features.names][:1]
    sizes = [name for name in _SIZES if name in features.names]
    return list(dict.fromkeys([*lists, *sizes])) if lists else features.plain_columns()


def _paths_in(batch: Any, image: str, features: Features) -> list[Any]:
    return batch.column(image).to_pylist() if features.has_paths(image) else [None] * batch.num_rows


def _batches(file: Path, wanted: list[str], features: Features, image: str) -> Iterator[tuple[Any, bool]]:
    """Each row group or batch with these columns and the paths of images; and whether the images are files."""
    pa: Any = import_module("pyarrow")
    if file.suffix.lower() == ".arrow":
        for batch in batches_of(str(file), pa.memory_map(str(file))):
            cells = batch.column(image)
            cells.validate(full=True)  # offsets that lead out of the file would crash the process
            table = batch.select(wanted)
            table.validate(full=True)
            if features.has_paths(image):
                paths = pa.StructArray.from_arrays([cells.field("path")], ["path"])
                table = table.append_column(image, paths)
                yield table, cells.field("bytes").null_count == len(cells)
            else:
                yield table, False
        return
    with import_module("pyarrow.parquet").ParquetFile(file) as opened:
        columns = [*wanted, *([f"{image}.path"] if features.has_paths(image) else [])]
        for number in range(opened.num_row_groups):
            about = opened.metadata.row_group(number)
            chunks = [about.column(place) for place in range(about.num_columns)]
            stored = [one.statistics for one in chunks if one.path_in_schema == f"{image}.bytes"]
            empty = bool(stored) and stored[0] is not None and stored[0].null_count == about.num_rows
            table = opened.read_row_group(number, columns=columns, use_threads=False)
            yield table.combine_chunks(), empty
