"""Writing a table again with its holes filled: the same rows, columns and ways to write a value."""

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from trilabel.data.cell_text import CellText, quoted
from trilabel.data.formats._shared.table_file import TableFile
from trilabel.data.formats._shared.tag_lists import is_list, separator_of, tags_of
from trilabel.data.formats.csv_table.cells import CellReader
from trilabel.data.formats.csv_table.layout import TableLayout
from trilabel.data.tables import DELIMITERS, table_suffix
from trilabel.files import replacing
from trilabel.labels import Labels
from trilabel.labels.names import Names

Values = Callable[[NDArray[np.int64]], NDArray[np.int8]]  # n images, by row -> n×C: what the table is to say

_OPPOSITES = {"1": "0", "1.0": "0.0", "true": "false", "True": "False", "TRUE": "FALSE"}
_SAMPLED = 1000  # rows, to see how values are written


def fill_table(
    file: TableFile,
    layout: TableLayout,
    cells: CellReader,
    separator: str | None,
    labels: Labels,
    values: Values,
    out: Path,
) -> list[str]:
    """Writes a table that is open again; labels: what was read from it. Returns notes on what it cannot say."""
    with replacing(out) as temporary:
        opened: Any = gzip.open if out.suffix.lower() == ".gz" else open
        with opened(temporary, "wb") as written:
            mark = (
                DELIMITERS.get(table_suffix(out), ",")
                if table_suffix(out) != table_suffix(file.path)
                else file.delimiter
            )
            writer = _Writer(written, mark, _line_end(file))
            writer.rows([[name] for name in file.sample(1)[0]])
            if layout.label >= 0:
                return _fill_long(file, layout, cells, labels, values, writer)
            if layout.tags >= 0:
                return _fill_tags(file, layout, separator, labels, values, writer)
            return _fill_wide(file, layout, cells, labels, values, writer)


class _Chunk(NamedTuple):
    """Some rows of a table."""

    names: Names
    cells: pd.DataFrame
    rows: NDArray[np.int64]  # of the labels


class _Writer:
    """Writes rows of cells, column by column."""

    def __init__(self, file: IO[bytes], mark: str, end: str) -> None:
        self._file, self._mark, self._end = file, mark, end

    def rows(self, columns: Sequence[Sequence[str] | tuple[NDArray[Any], Sequence[str]]]) -> None:
        """Each column is its texts, or numbers of texts and these; all are of one length."""
        texts: list[str] = []
        numbers = []
        for place, column in enumerate(columns):
            codes, names = column if isinstance(column, tuple) else (np.arange(len(column)), column)
            after = self._end if place == len(columns) - 1 else self._mark
            numbers.append(codes + len(texts))
            texts += [quoted(name, self._mark) + after for name in names]
        self._file.write(CellText(texts).join(np.stack(numbers, axis=1)))


def _chunks(file: TableFile, layout: TableLayout, labels: Labels) -> Iterator[_Chunk]:
    """The rows. The table was read before, so that everything in it is as it should be."""
    longest, start = int(np.diff(labels.ids.offsets).max(initial=0)), 0
    for names, chunk in file.chunks(layout.image, longest + 1):
        # Looking all names up takes long where there are many, and most tables list each image once.
        expected = np.arange(start, min(start + len(names), len(labels)))
        same = labels.ids.take(expected) == names
        yield _Chunk(names, chunk, expected if same else labels.ids.positions(names))
        start += len(names)


def _texts(chunk: _Chunk, layout: TableLayout) -> list[tuple[NDArray[Any], Sequence[str]]]:
    """All columns of a chunk, as numbers of texts and these."""
    columns: list[tuple[NDArray[Any], Sequence[str]]] = []
    for place in range(len(layout.header)):
        if place == layout.image:
            columns.append((np.arange(len(chunk.names)), list(chunk.names)))
        else:
            codes, texts = pd.factorize(chunk.cells[place].to_numpy())
            columns.append((codes, list(texts)))
    return columns


def _fill_wide(
    file: TableFile, layout: TableLayout, cells: CellReader, labels: Labels, values: Values, writer: _Writer
) -> list[str]:
    sample = [row for row in file.sample(_SAMPLED)[1:] if len(row) == len(layout.header)]
    words = _words(cells, Counter(row[column] for row in sample for column in layout.classes))
    for chunk in _chunks(file, layout, labels):
        columns = _texts(chunk, layout)
        wanted = values(chunk.rows)
        for number, place in enumerate(layout.classes):
            codes, texts = columns[place]
            signs = np.array([cells.sign(text) for text in texts], np.int8)[codes]
            new = wanted[:, number]
            changed = (new != 0) & (new != signs)
            codes = np.where(changed, len(texts) + (new < 0), codes)
            columns[place] = codes, [*texts, words[1], words[-1]]
        writer.rows(columns)
    return []


def _words(cells: CellReader, seen: Mapping[str, int]) -> dict[int, str]:
    """How the table writes present (1) and absent (−1)."""
    often = {sign: Counter[str]() for sign in (1, -1)}
    for text, count in seen.items():
        if (sign := cells.sign(text)) in often:
            often[sign][text.strip()] += count
    given = {sign: next((text for text in cells.given if cells.signs[text] == sign), None) for sign in (1, -1)}
    found = {sign: counts.most_common(1)[0][0] if counts else given[sign] for sign, counts in often.items()}
    positive = found[1] or next((a for a, b in _OPPOSITES.items() if b == found[-1]), "1")
    negative = found[-1] or _OPPOSITES.get(positive, "0")
    return {1: positive, -1: negative if cells.sign(negative) == -1 else "-1"}


def _fill_long(
    file: TableFile, layout: TableLayout, cells: CellReader, labels: Labels, values: Values, writer: _Writer
) -> list[str]:
    """Rows without a value get one; labels that have no row get one below all others."""
    sample = [row for row in file.sample(_SAMPLED)[1:] if len(row) == len(layout.header)]
    words = _words(cells, Counter(row[layout.value] for row in sample if layout.value >= 0))
    beside = [place for place in (layout.file, layout.split) if place >= 0]
    of_image = {place: np.full(len(labels), "", object) for place in beside}
    listed = []
    for chunk in _chunks(file, layout, labels):
        columns, rows = _texts(chunk, layout), chunk.rows
        column = labels.classes.positions(Names(chunk.cells[layout.label]))
        for place in beside:
            of_image[place][rows] = chunk.cells[place].to_numpy()
        named = column >= 0
        listed.append(rows[named] * labels.shape[1] + column[named])
        if layout.value >= 0:
            distinct, back = np.unique(rows, return_inverse=True)
            new = np.where(named, values(distinct)[back, column.clip(0)], 0)
            codes, texts = columns[layout.value]
            signs = np.array([cells.sign(text) for text in texts], np.int8)[codes]
            codes = np.where((new != 0) & (new != signs), len(texts) + (new < 0), codes)
            columns[layout.value] = codes, [*texts, words[1], words[-1]]
        writer.rows(columns)
    return _add_rows(layout, labels, values, writer, np.concatenate(listed), of_image, words)


def _add_rows(
    layout: TableLayout,
    labels: Labels,
    values: Values,
    writer: _Writer,
    listed: NDArray[np.int64],
    of_image: Mapping[int, NDArray[Any]],
    words: Mapping[int, str],
) -> list[str]:
    """Rows for what is decided and listed nowhere; listed: row · C + column."""
    classes, added, unsaid = list(labels.classes), 0, 0
    listed = np.unique(listed)
    step = max(1, (1 << 20) // len(classes))
    for start in range(0, len(labels), step):
        rows = np.arange(start, min(start + step, len(labels)))
        place, column = np.nonzero(new := values(rows))
        free = ~np.isin(rows[place] * len(classes) + column, listed)
        sign = new[place, column]
        if layout.value < 0:
            unsaid += int((free & (sign < 0)).sum())
            free &= sign > 0
        place, column, sign = place[free], column[free], sign[free]
        added += len(place)
        empty = np.zeros(len(place), np.int64), [""]
        columns: list[Any] = [empty] * len(layout.header)
        columns[layout.image] = place, list(labels.ids.take(rows))
        columns[layout.label] = column, classes
        if layout.value >= 0:
            columns[layout.value] = (sign < 0).astype(np.int64), [words[1], words[-1]]
        for beside, texts in of_image.items():
            columns[beside] = place, texts[rows].tolist()
        writer.rows(columns)
    return _cannot_say(unsaid, added)


def _fill_tags(
    file: TableFile, layout: TableLayout, separator: str | None, labels: Labels, values: Values, writer: _Writer
) -> list[str]:
    """Tags are added to their cells."""
    classes, added, unsaid = list(labels.classes), 0, 0
    if separator is None:
        seen = Counter[str]()
        for chunk in _chunks(file, layout, labels):
            seen.update(chunk.cells[layout.tags])
        separator, _ = separator_of(file.path, seen)
    for chunk in _chunks(file, layout, labels):
        columns = _texts(chunk, layout)
        new, texts = values(chunk.rows), list[str]()
        unsaid += int((new < 0).sum())
        for row, text in enumerate(chunk.cells[layout.tags]):
            had = tags_of(text, separator) if text else []
            more = [classes[column] for column in np.flatnonzero(new[row] > 0) if classes[column] not in had]
            added += len(more)
            texts.append(_with_tags(text, had, more, separator or ";"))
        columns[layout.tags] = np.arange(len(texts)), texts
        writer.rows(columns)
    return _cannot_say(unsaid, added)


def _with_tags(text: str, had: list[str], more: list[str], separator: str) -> str:
    if not more:
        return text
    if is_list(text):
        return json.dumps([*had, *more], ensure_ascii=False)
    return separator.join([*([text] if text.strip() else []), *more])


def _cannot_say(count: int, added: int) -> list[str]:
    """count: labels that are absent; added: those that are present and were not in the table before."""
    if not count:
        return []
    same = "" if added else ", so that it says what the table that came in says"
    return [
        f"{count:,} labels that are absent are not in it{same}: such a table lists what is present; the provenance has "
        "them, and a wide table would (--to csv)"
    ]


def _line_end(file: TableFile) -> str:
    start: bytes = getattr(file, "_start", b"")
    return "\r\n" if b"\r\n" in start else "\n"
