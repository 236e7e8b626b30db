"""The bytes of a table, checked while pandas reads them, so that a table is read from disk once."""

import io
from codecs import getincrementaldecoder
from pathlib import Path
from typing import IO, Any

import numpy as np

from trilabel.data.tables import LONGEST_CELL, LONGEST_ROW, too_long

_BLOCK = 1 << 20


class CheckedBytes(io.RawIOBase):
    """Passes on the bytes of a file, and records errors that pandas does not report.

    Pandas pads rows that are too short, and reads other encodings into names of images, without an error. It keeps a
    cell in memory until it ends, so a cell or a row without end is refused here.
    """

    def __init__(self, file: IO[bytes], path: Path, delimiter: str) -> None:
        self._file, self._path, self._delimiter = file, path, delimiter.encode()
        self._decode = getincrementaldecoder("utf-8")().decode
        self._delimiters, self._in_quotes = 0, 0
        self._is_text = True  # UTF-8 without zero bytes, so far
        self._in_cell, self._in_row, self._row = 0, 0, 1  # bytes of the cell and row that are not over; its line

    def readable(self) -> bool:
        """True; pandas requires it."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills a buffer with the next bytes; returns how many, 0 at the end of the file."""
        block = self._file.read(len(buffer))
        self._check(block)
        buffer[: len(block)] = block
        return len(block)

    def is_whole(self, rows: int, columns: int) -> bool:
        """Whether all of the file is UTF-8 without zero bytes, and has the delimiters that this many rows need."""
        while self.read(_BLOCK):
            pass
        return self._is_text and self._delimiters == rows * (columns - 1)

    def _check(self, block: bytes) -> None:
        """Checks a block; the last one is empty."""
        try:
            self._decode(block, not block)
        except UnicodeDecodeError:
            self._is_text = False
        self._is_text = self._is_text and b"\0" not in block
        if not self._in_quotes and b'"' not in block:
            self._delimiters += block.count(self._delimiter)
            end_of_row = max(block.rfind(b"\n"), block.rfind(b"\r"))
            self._measure(block, max(end_of_row, block.rfind(self._delimiter)), end_of_row)
            return
        letters = np.frombuffer(block, np.uint8)
        inside = (np.cumsum(letters == ord('"'), dtype=np.uint8) + np.uint8(self._in_quotes)) % 2
        ends = np.flatnonzero((letters == ord(self._delimiter)) & (inside == 0))
        self._delimiters += len(ends)
        ends_of_rows = np.flatnonzero(((letters == ord("\n")) | (letters == ord("\r"))) & (inside == 0))
        end_of_row = int(ends_of_rows.max(initial=-1))
        self._measure(block, max(end_of_row, int(ends.max(initial=-1))), end_of_row)
        self._in_quotes = int(inside[-1]) if len(inside) else self._in_quotes

    def _measure(self, block: bytes, last_cell: int, last_row: int) -> None:
        """Notes where the last cell and row of a block end (−1: not in it), and refuses those that never do.

        A block is shorter than the longest cell, so only what goes on from block to block can be too long.
        """
        self._in_cell = self._in_cell + len(block) if last_cell < 0 else len(block) - last_cell - 1
        self._in_row = self._in_row + len(block) if last_row < 0 else len(block) - last_row - 1
        self._row += block.count(b"\n", 0, last_row + 1)
        if self._in_cell > LONGEST_CELL:
            raise too_long(self._path, self._row, "cell")
        if self._in_row > LONGEST_ROW:
            raise too_long(self._path, self._row, "row")
