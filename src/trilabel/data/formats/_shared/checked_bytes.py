"""The bytes of a table, checked while pandas reads them, so that a table is read from disk once."""

import io
from codecs import getincrementaldecoder
from typing import IO, Any

import numpy as np

_BLOCK = 1 << 20


class CheckedBytes(io.RawIOBase):
    """Passes on the bytes of a file, and records errors that pandas does not report.

    Pandas pads rows that are too short, and reads other encodings into names of images, without an error.
    """

    def __init__(self, file: IO[bytes], delimiter: str) -> None:
        self._file, self._delimiter = file, delimiter.encode()
        self._decode = getincrementaldecoder("utf-8")().decode
        self._delimiters, self._in_quotes = 0, 0
        self._is_text = True  # UTF-8 without zero bytes, so far

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
            return
        letters = np.frombuffer(block, np.uint8)
        inside = (np.cumsum(letters == ord('"'), dtype=np.uint8) + np.uint8(self._in_quotes)) % 2
        self._delimiters += int(np.count_nonzero((letters == ord(self._delimiter)) & (inside == 0)))
        self._in_quotes = int(inside[-1]) if len(inside) else self._in_quotes
