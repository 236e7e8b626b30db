"""Where each label of a completed table comes from: known, confirmed, or predicted with a probability.

A table beside the completed one (.csv, .csv.gz or .parquet) with a row for each label. So `train` can tell predicted
labels from known ones, and learn from their probabilities.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.cell_text import CellText, quoted
from trilabel.data.tables import DELIMITERS, open_table, table_suffix
from trilabel.errors import TrilabelError, one_line
from trilabel.files import replacing
from trilabel.input_files import check_regular
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.labels.targets import LEFT_OUT, LOWEST, Targets

COLUMNS = ("image", "class", "value", "source", "probability", "run", "date")
SOURCES = ("predicted", "known", "confirmed")
PARQUET = ".parquet"
_STEPS = 10_000  # probabilities are written with four digits
_ROWS_AT_ONCE = 1 << 20
_LABELS_AT_ONCE = 1 << 22


class LabelOrigins(NamedTuple):
    """All labels of some images, n×C each."""

    values: NDArray[np.int8]  # +1, −1, 0 where it is still unknown
    sources: NDArray[np.int8]  # places in SOURCES
    probabilities: NDArray[np.float32]  # that it is present; nan for what was not scored


class ProvenanceWriter(Protocol):
    """Writes rows, some images at a time."""

    def add(self, images: Names, origins: LabelOrigins) -> None: ...


@contextmanager
def provenance_writer(path: Path, classes: Names, run: str, date: str) -> Iterator[ProvenanceWriter]:
    """Opens a table to write; it replaces an existing one completely or not at all."""
    check_name(path)
    with replacing(path) as temporary:
        if path.suffix.lower() == PARQUET:
            yield from _parquet(temporary, classes, run, date)
        else:
            opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
            with opener(temporary, "wb") as file:
                mark = DELIMITERS[table_suffix(path)]
                file.write((mark.join(COLUMNS) + "\n").encode())
                yield _TextWriter(file, classes, run, date, mark)


def beside(out: Path, what: str, kind: str) -> Path:
    """The name of another table beside a file or folder.

    >>> str(beside(Path("a/filled.csv.gz"), "audit", "csv"))
    'a/filled.audit.csv'
    """
    suffix = "".join(out.suffixes[-2:]) if out.suffix.lower() == ".gz" else out.suffix
    return out.with_name(f"{out.name.removesuffix(suffix)}.{what}.{kind}")


def check_name(path: Path) -> None:
    """Refuses a name that does not say which kind of table it is."""
    if path.suffix.lower() != PARQUET and table_suffix(path) not in DELIMITERS:
        raise TrilabelError(f"{path}: provenance is a table; use a name that ends in .csv, .csv.gz or .parquet")
    if path.suffix.lower() == PARQUET:
        _pyarrow(path)


class _TextWriter:
    """Rows of text; see `ProvenanceWriter`."""

    def __init__(self, file: IO[bytes], classes: Names, run: str, date: str, mark: str) -> None:
        self._file, self._mark = file, mark
        names = [quoted(name, mark) + mark for name in classes]
        values = ["0" + mark, mark, "1" + mark]
        sources = [source + mark for source in SOURCES]
        end = f"{mark}{quoted(run, mark)}{mark}{date}\n"
        chances = [f"{step / _STEPS:.4f}{end}" for step in range(_STEPS + 1)] + [end]
        self._texts = [*names, *values, *sources, *chances]
        self._value = len(names) + 1
        self._source = self._value + 2
        self._chance = self._source + len(sources)

    def add(self, images: Names, origins: LabelOrigins) -> None:
        """Cells are numbers of texts that repeat, joined all at once."""
        count, classes = origins.values.shape
        own = [quoted(name, self._mark) + self._mark for name in images]
        missing = np.isnan(origins.probabilities)
        step = np.where(missing, _STEPS + 1, (np.nan_to_num(origins.probabilities) * _STEPS).round())
        cells = np.empty((count, classes, 5), np.int64)
        cells[..., 0] = np.arange(count)[:, None] + len(self._texts)
        cells[..., 1] = np.arange(classes)
        cells[..., 2] = origins.values + self._value
        cells[..., 3] = origins.sources + self._source
        cells[..., 4] = step.astype(np.int64) + self._chance
        self._file.write(CellText([*self._texts, *own]).join(cells))


def _parquet(path: Path, classes: Names, run: str, date: str) -> Iterator[ProvenanceWriter]:
    arrow, parquet = _pyarrow(path)
    kinds = (arrow.dictionary(arrow.int32(), arrow.string()), arrow.int8(), arrow.float32())
    text, whole, real = kinds
    schema = arrow.schema(list(zip(COLUMNS, (text, text, whole, text, real, text, text), strict=True)))
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        yield _ParquetWriter(arrow, writer, schema, classes, run, date)


class _ParquetWriter:
    """Rows of columns; see `ProvenanceWriter`."""

    def __init__(self, arrow: Any, writer: Any, schema: Any, classes: Names, run: str, date: str) -> None:
        self._arrow, self._writer, self._schema = arrow, writer, schema
        self._classes, self._run, self._date = list(classes), run, date

    def add(self, images: Names, origins: LabelOrigins) -> None:
        """A row group, whose texts are written once."""
        arrow, (count, classes) = self._arrow, origins.values.shape

        def named(numbers: NDArray[Any], names: list[str]) -> Any:
            return arrow.DictionaryArray.from_arrays(arrow.array(numbers.astype(np.int32)), arrow.array(names))

        values, same = origins.values.ravel(), np.zeros(count * classes, np.int32)
        chances = origins.probabilities.ravel()
        columns = [
            named(np.repeat(np.arange(count), classes), list(images)),
            named(np.tile(np.arange(classes), count), self._classes),
            arrow.array((values > 0).astype(np.int8), mask=values == 0),
            named(origins.sources.ravel(), list(SOURCES)),
            arrow.array(chances, mask=np.isnan(chances)),
            named(same, [self._run]),
            named(same, [self._date]),
        ]
        self._writer.write_batch(arrow.record_batch(columns, schema=self._schema))


def _pyarrow(path: Path) -> tuple[Any, Any]:
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise TrilabelError(
            f"{path}: needs pyarrow; install it (pip install 'trilabel[parquet]'), or use a name that ends in .csv"
        ) from None


class Predicted(NamedTuple):
    """Predicted labels, one after the other, by row and column of some labels."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.int8]  # +1, −1, 0 where it was left open
    probabilities: NDArray[np.float32]  # nan where it was not scored


def read_predicted(path: str | Path, labels: Labels) -> Predicted:
    """The rows of predicted labels of the images that these labels are of; other images are left out."""
    path = Path(path)
    parts = []
    try:
        check_regular(path)
        for chunk in _chunks(path):
            chunk = chunk[chunk["source"] == SOURCES[0]]
            rows = labels.ids.positions(Names(chunk["image"].astype(str)))
            columns = labels.classes.positions(Names(chunk["class"].astype(str)))
            for place in np.flatnonzero(columns < 0)[:1]:
                name = chunk["class"].iloc[int(place)]
                raise TrilabelError(
                    f"{path}: class {name!r} is none of these labels; give the provenance of this table"
                )
            here = rows >= 0
            value = chunk["value"].to_numpy(np.float64, na_value=np.nan)[here]
            chance = chunk["probability"].to_numpy(np.float32, na_value=np.nan)[here]
            if not (np.isnan(value) | np.isin(value, (0, 1))).all() or not (np.isnan(chance) | _is_share(chance)).all():
                raise TrilabelError(f"{path}: a value other than 1 and 0, or a probability that is none; restore it")
            parts.append(Predicted(rows[here], columns[here], np.nan_to_num(2 * value - 1).astype(np.int8), chance))
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such provenance table; `trilabel complete` writes one") from None
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise TrilabelError(f"{path}: not a provenance table ({one_line(error)}); restore it") from error
    found = Predicted(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    if not len(found.rows):
        raise TrilabelError(f"{path}: no predicted label of these images; give the provenance of this table")
    return found


def without_predicted(labels: Labels, path: str | Path) -> Labels:
    """Labels without those that a provenance table calls predicted: what somebody knows."""
    found = read_predicted(path, labels)
    kept = labels.csr.copy()
    own = sp.csr_array((np.ones(len(found.rows), np.int8), (found.rows, found.columns)), shape=labels.shape)
    kept = sp.csr_array(kept - kept.multiply(own))
    kept.eliminate_zeros()
    kept.sort_indices()
    return Labels(kept.astype(np.int8), labels.classes, labels.ids)


def predicted_targets(path: str | Path, labels: Labels, hard: bool) -> Targets:
    """Targets of unknown labels: their probabilities or, hard, what was decided; LEFT_OUT where nothing is told."""
    found = read_predicted(path, labels)
    chances = np.where(found.values == 0, np.nan, found.values > 0) if hard else found.probabilities
    order = np.argsort(found.rows, kind="stable")
    rows, columns = found.rows[order], found.columns[order]
    values = np.where(np.isnan(chances), LEFT_OUT, chances)[order].astype(np.float32)
    step, parts = max(1, _LABELS_AT_ONCE // labels.shape[1]), []
    for start in range(0, len(labels), step):
        known = labels.csr[start : start + step].toarray()
        first, last = np.searchsorted(rows, (start, start + step))
        block = np.full(known.shape, LEFT_OUT, np.float32)
        block[rows[first:last] - start, columns[first:last]] = values[first:last]
        parts.append(sp.csr_array(np.where((known != 0) | ((block >= 0) & (block < LOWEST)), np.float32(0), block)))
    return Targets.from_csr(sp.csr_array(sp.vstack(parts, format="csr")), labels.classes, labels.ids)


def _is_share(values: NDArray[np.float32]) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (values >= 0) & (values <= 1)
    return inside


def _chunks(path: Path) -> Iterator[pd.DataFrame]:
    used = list(COLUMNS[:5])
    if path.suffix.lower() == PARQUET:
        _, parquet = _pyarrow(path)
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=used):
                yield batch.to_pandas()
        return
    kinds = {"image": str, "class": str, "source": str}
    with (
        open_table(path) as opened,
        pd.read_csv(
            opened,
            sep=DELIMITERS.get(table_suffix(path), ","),
            usecols=used,
            dtype=kinds,
            keep_default_na=False,
            na_values={"value": [""], "probability": [""]},
            chunksize=_ROWS_AT_ONCE,
        ) as chunks,
    ):
        yield from chunks
