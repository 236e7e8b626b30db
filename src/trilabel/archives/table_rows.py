"""Images in the cells of Parquet and Arrow files, such as the shards of Hugging Face's data sets.

train.parquet/image/3/17.jpg is the image in row 17 of row group 3, in column image; in an Arrow file 3 is a batch. To
read one cell of a Parquet file its row group is unpacked, so the last ones are kept. Arrow files are mapped to memory.
"""

import io
import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, BinaryIO
from urllib.parse import quote, unquote

from trilabel.archives.zip_members import version
from trilabel.errors import TrilabelError

KEPT_BYTES = 256 << 20  # of unpacked row groups, in each process
_MOST_BYTES = 4 << 30  # of one row group
_ROWS_AT_ONCE = 64
_loading = threading.Lock()
_kept: OrderedDict[tuple[Any, ...], Any] = OrderedDict()


def address(column: str, group: int) -> str:
    """Where the images of a column and row group are: image/3."""
    return f"{quote(column, safe='')}/{group}"


def size_of(archive: str, name: str) -> int:
    """The size of an image; FileNotFoundError if there is none."""
    return len(_cell(archive, name))


def open_member(archive: str, name: str) -> BinaryIO:
    """The bytes of an image."""
    return io.BytesIO(_cell(archive, name))


def exists(archive: str, name: str) -> bool:
    """Whether a row is there, by the number of rows alone."""
    try:
        _, group, row = _parse(archive, name)
        rows = _row_counts(*version(archive))
        return group < len(rows) and row < rows[group]
    except (OSError, TrilabelError):
        return False


def names_in(archive: str, folder: str) -> set[str]:
    """The names of the images of a row group; empty if there is none."""
    if not exists(archive, f"{folder}0.jpg"):
        return set()
    return {f"{row}.jpg" for row in range(_row_counts(*version(archive))[int(folder.split("/")[-2])])}


def group_bytes(archive: str, folder: str) -> int:
    """About how many bytes a row group of a Parquet file is unpacked; `folder` is that of `address`."""
    column, group, _ = _parse(archive, f"{folder}/0.jpg")
    with damage_named(archive), import_module("pyarrow.parquet").ParquetFile(archive) as file:
        about = file.metadata.row_group(group)
        chunks = (about.column(place) for place in range(about.num_columns))
        return sum(one.total_uncompressed_size for one in chunks if one.path_in_schema.split(".")[0] == column)


@contextmanager
def damage_named(archive: str) -> Iterator[None]:
    """Names the file in the errors of pyarrow, which raises a dozen kinds for damaged bytes."""
    try:
        yield
    except (TrilabelError, FileNotFoundError):
        raise
    except ImportError:
        raise TrilabelError(
            f"{archive}: needs pyarrow to be read; install it (pip install 'trilabel[parquet]')"
        ) from None
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise TrilabelError(f"{archive}: cannot be read as a table ({reason})") from None


def batches_of(archive: str, file: Any) -> list[Any]:
    """The batches of an Arrow file (of either kind) that is mapped into memory; these are not copied."""
    pa: Any = import_module("pyarrow")
    file.seek(0)
    is_file = file.read(6) == b"ARROW1"
    file.seek(0)
    if is_file:
        reader = pa.ipc.open_file(file)
        batches = (reader.get_batch(number) for number in range(reader.num_record_batches))
    else:
        batches = pa.ipc.open_stream(file)
    before, found = pa.total_allocated_bytes(), []
    for batch in batches:
        found.append(batch)
        if pa.total_allocated_bytes() - before > _MOST_BYTES:
            raise TrilabelError(f"{archive}: is compressed, and does not fit into memory; save it without compression")
    return found


def _parse(archive: str, name: str) -> tuple[str, int, int]:
    """Column, group and row of a name."""
    parts = name.removesuffix(".jpg").split("/")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 16 for part in parts[1:]):
        raise FileNotFoundError(f"{archive}/{name}")
    return unquote(parts[0]), int(parts[1]), int(parts[2])


def _cell(archive: str, name: str) -> bytes:
    column, group, row = _parse(archive, name)
    with damage_named(archive):
        cells = _cells(archive, column, group)
        if row >= len(cells) or (found := cells[row].as_py()) is None:
            raise FileNotFoundError(f"{archive}/{name}")
        return bytes(found)


def _cells(archive: str, column: str, group: int) -> Any:
    """The images of a column and group, as an array of pyarrow."""
    key = (*version(archive), column, group)
    with _loading:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
        if archive.lower().endswith(".arrow"):
            return _binary(_mapped(*key[:3]), column, group)
        _kept[key] = _unpacked(archive, column, group)
        while len(_kept) > 1 and sum(cells.nbytes for cells in _kept.values()) > KEPT_BYTES:
            _kept.popitem(last=False)
        return _kept[key]


def _unpacked(archive: str, column: str, group: int) -> Any:
    """The cells of a row group; a forged one is refused before it fills the memory."""
    pa: Any = import_module("pyarrow")
    with import_module("pyarrow.parquet").ParquetFile(archive) as file:
        names = file.schema_arrow.names
        if group >= file.metadata.num_row_groups or column not in names:
            raise FileNotFoundError(f"{archive}/{address(column, group)}")
        is_struct = pa.types.is_struct(file.schema_arrow.field(column).type)
        parts, size = [], 0
        columns = [f"{column}.bytes" if is_struct else column]
        for batch in file.iter_batches(_ROWS_AT_ONCE, row_groups=[group], columns=columns, use_threads=False):
            parts.append(_bytes_in(batch.column(0)))
            size += parts[-1].nbytes
            if size > _MOST_BYTES:
                raise TrilabelError(
                    f"{archive}: row group {group} unpacks to more than {_MOST_BYTES >> 30} GB; write it with fewer "
                    "rows in a group"
                )
        return pa.chunked_array(parts, pa.large_binary())


def _binary(batches: list[Any], column: str, group: int) -> Any:
    if group >= len(batches) or column not in batches[group].schema.names:
        raise FileNotFoundError(address(column, group))
    cells = batches[group].column(column)
    cells.validate(full=True)  # offsets that lead out of the file would crash the process
    return _bytes_in(cells)


def _bytes_in(cells: Any) -> Any:
    """The bytes of a column of images, which is a struct of bytes and path, or bytes alone."""
    pa: Any = import_module("pyarrow")
    inside = cells.field("bytes") if pa.types.is_struct(cells.type) else cells
    return inside.cast(pa.large_binary())


@lru_cache(maxsize=8)
def _mapped(archive: str, changed: int, process: int) -> list[Any]:
    return batches_of(archive, import_module("pyarrow").memory_map(archive))


@lru_cache(maxsize=64)
def _row_counts(archive: str, changed: int, process: int) -> list[int]:
    with damage_named(archive):
        if archive.lower().endswith(".arrow"):
            return [batch.num_rows for batch in _mapped(archive, changed, process)]
        about = import_module("pyarrow.parquet").read_metadata(archive)
        return [about.row_group(number).num_rows for number in range(about.num_row_groups)]
