"""Names: millions of image ids (or a few class names) in one buffer.

Nine million Python strings cost more memory than the labels they name. `Names` keeps them as UTF-8 bytes end to end
with offsets, behaves like a read-only list of strings, and saves as two plain arrays.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from trilabel.errors import TrilabelError

_ROWS_AT_ONCE = 1 << 14  # small enough for the working set of a step to stay in the processor's cache
_SPREAD = np.array([0x9E3779B97F4A7C15], np.uint64)  # an array, because those wrap around silently


class Names(Sequence[str]):
    """A read-only sequence of strings that compares equal to a list or tuple of the same strings."""

    __slots__ = ("_distinct", "buffer", "offsets")

    def __init__(self, names: Iterable[str]) -> None:
        names = list(names)
        try:
            text = "".join(names)
            encoded = text.encode()
        except (TypeError, UnicodeEncodeError):
            raise TrilabelError(_error_of(names)) from None
        self.buffer: NDArray[np.uint8] = np.frombuffer(encoded, np.uint8)
        self.offsets: NDArray[np.int64] = np.zeros(len(names) + 1, np.int64)
        sizes = map(len, names) if text.isascii() else (len(name.encode()) for name in names)
        np.cumsum(np.fromiter(sizes, np.int64, len(names)), out=self.offsets[1:])
        self._distinct = False  # True: the names are known to be unique and need not be checked again

    @classmethod
    def from_buffer(cls, buffer: NDArray[np.uint8], offsets: NDArray[np.int64], distinct: bool = False) -> "Names":
        """Name i is the UTF-8 text buffer[offsets[i]:offsets[i + 1]]; `distinct`: all are known to differ."""
        names = cls.__new__(cls)
        names.buffer, names.offsets, names._distinct = buffer, offsets, distinct
        return names

    @classmethod
    def from_stored(cls, buffer: NDArray[np.uint8], offsets: NDArray[np.int64]) -> "Names":
        """The same for arrays from a file, which may be damaged: raises an error if they do not encode names."""
        plain = buffer.ndim == offsets.ndim == 1 and buffer.dtype == np.uint8 and offsets.dtype == np.int64
        fits = plain and len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(buffer)
        if not fits or (offsets[1:] < offsets[:-1]).any():
            raise TrilabelError("stored names are damaged: text and ends do not fit together")
        if not _is_text(buffer, offsets):
            raise TrilabelError("stored names are damaged: not UTF-8 text")
        return cls.from_buffer(buffer, offsets)

    @classmethod
    def from_fixed(cls, array: NDArray[np.bytes_]) -> "Names":
        """From UTF-8 texts in cells of one size, filled up with zero bytes (dtype S…)."""
        lengths = np.strings.str_len(array).astype(np.int64)
        longest = int(lengths.max(initial=0))
        offsets = np.zeros(len(array) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        letters = np.ascontiguousarray(array).view(np.uint8).reshape(len(array), array.itemsize)[:, :longest]
        if offsets[-1] < letters.size:
            letters = letters[np.arange(longest) < lengths[:, None]]
        return cls.from_buffer(letters.ravel(), offsets)

    @classmethod
    def numbered(cls, count: int, prefix: str = "") -> "Names":
        """Default names: prefix0, prefix1, …"""
        return cls(f"{prefix}{i}" for i in range(count))

    @classmethod
    def join(cls, parts: Sequence["Names"]) -> "Names":
        """All names of all parts, in order."""
        lengths = [np.diff(part.offsets) for part in parts]
        offsets = np.zeros(1 + sum(map(len, lengths)), np.int64)
        if lengths:
            np.cumsum(np.concatenate(lengths), out=offsets[1:])
        used = [part.buffer[part.offsets[0] : part.offsets[-1]] for part in parts]
        return cls.from_buffer(np.concatenate(used) if used else np.zeros(0, np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> "Names": ...
    def __getitem__(self, index: int | slice) -> "str | Names":
        if isinstance(index, slice):
            return self.take(np.arange(len(self))[index])
        index = range(len(self))[index]
        return self.buffer[self.offsets[index] : self.offsets[index + 1]].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        for row in range(0, len(self), _ROWS_AT_ONCE):
            ends = self.offsets[row : row + _ROWS_AT_ONCE + 1]
            text = self.buffer[ends[0] : ends[-1]].tobytes()
            for start, end in pairwise((ends - ends[0]).tolist()):
                yield text[start:end].decode()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Names):
            return np.array_equal(np.diff(self.offsets), np.diff(other.offsets)) and np.array_equal(
                self.buffer[self.offsets[0] : self.offsets[-1]],
                other.buffer[other.offsets[0] : other.offsets[-1]],
            )
        if isinstance(other, list | tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3])) + (", …" if len(self) > 3 else "")
        return f"Names([{shown}], {len(self)} in all)"

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the names take."""
        return int(self.buffer.nbytes + self.offsets.nbytes)

    def take(self, index: NDArray[Any]) -> "Names":
        """The names at these positions, in this order."""
        offsets = np.zeros(len(index) + 1, np.int64)
        np.cumsum(np.diff(self.offsets)[index], out=offsets[1:])
        buffer = np.empty(offsets[-1], np.uint8)
        for row in range(0, len(index), _ROWS_AT_ONCE):  # at once would need a position, eight bytes, for each byte
            ends = offsets[row : row + _ROWS_AT_ONCE + 1]
            source = np.repeat(self.offsets[index[row : row + _ROWS_AT_ONCE]] - ends[:-1], np.diff(ends))
            source += np.arange(ends[0], ends[-1])
            buffer[ends[0] : ends[-1]] = self.buffer[source]
        return Names.from_buffer(buffer, offsets)

    def hashes(self) -> NDArray[np.uint64]:
        """A 64-bit hash of every name, computed a few machine words at a time for names of equal length."""
        lengths = np.diff(self.offsets)
        result = np.empty(len(self), np.uint64)
        for length in np.flatnonzero(np.bincount(lengths)):
            rows = np.flatnonzero(lengths == length)
            for start in range(0, len(rows), _ROWS_AT_ONCE):
                part = rows[start : start + _ROWS_AT_ONCE]
                padded = np.zeros((len(part), -(-int(length) // 8) * 8), np.uint8)
                begin, size = int(self.offsets[part[0]]), int(length) * len(part)
                if self.offsets[part[-1] + 1] - begin == size:  # side by side, as they are in most sets of ids
                    padded[:, :length] = self.buffer[begin : begin + size].reshape(len(part), int(length))
                else:
                    padded[:, :length] = self.buffer[self.offsets[part, None] + np.arange(length)]
                result[part] = _mix(padded.view(np.uint64), int(length))
        return result

    def factorize(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(codes, first): equal names get equal codes, numbered by first appearance; first[code] is where that was."""
        if not len(self):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        first = _first_of_equals(self.hashes())
        again = np.flatnonzero(first != np.arange(len(self)))
        if self.take(again) != self.take(first[again]):  # two names with the same hash: never observed, but possible
            return self._factorize_slowly()
        is_first = np.ones(len(self), bool)
        is_first[again] = False
        numbers = np.cumsum(is_first)
        numbers -= 1
        return numbers[first], np.flatnonzero(is_first)

    def _factorize_slowly(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        seen: dict[str, int] = {}
        codes = np.array([seen.setdefault(name, len(seen)) for name in self], np.int64)
        return codes, np.unique(codes, return_index=True)[1].astype(np.int64)

    def distinct(self) -> tuple[NDArray[np.int64], "Names"]:
        """(codes, names): every name once, by first appearance; names[codes[i]] is the name at position i."""
        codes, first = self.factorize()
        names = self.take(first) if len(first) < len(self) else self
        names._distinct = True
        return codes, names

    def positions(self, names: "Names") -> NDArray[np.int64]:
        """The position of each of `names` in this sequence, whose names must be unique; −1 for unknown names."""
        codes, _ = Names.join([self, names]).factorize()
        found = codes[len(self) :]
        return np.where(found < len(self), found, -1)

    def require_unique(self, what: str) -> None:
        """Raises an error naming the first name that is listed twice; `what` is the kind of name, such as "image"."""
        if self._distinct:
            return
        codes, first = self.factorize()
        if len(first) < len(self):
            later = int(np.flatnonzero(first[codes] != np.arange(len(self)))[0])
            raise TrilabelError(
                f"{what} {self[later]!r} is listed twice, at positions {int(first[codes[later]])} and {later}; "
                "rename or remove one"
            )


def _first_of_equals(hashes: NDArray[np.uint64]) -> NDArray[np.int32]:
    """For every position the first position with the same hash.

    A hash table filled in rounds: each round puts the remaining positions into slots, where the earliest of a slot
    stays. Positions equal to it are done; the few others get other slots in the next round. The cost is linear.
    """
    bits = max(1, len(hashes).bit_length())
    first = np.arange(len(hashes), dtype=np.int32)
    table = np.empty(1 << bits, np.int32)
    left, own, spread = first.copy(), hashes, _SPREAD
    while len(left):
        slots = ((own * spread) >> np.uint64(64 - bits)).astype(np.int32)
        table[slots[::-1]] = left[::-1]  # the last of several writes to one slot stays
        winners = table[slots]
        settled = hashes[winners] == own
        first[left[settled]] = winners[settled]
        left, own, spread = left[~settled], own[~settled], spread * _SPREAD
    return first


def _error_of(names: list[str]) -> str:
    """The error message for the first name that is not a valid string."""
    for position, name in enumerate(names):
        if not isinstance(name, str):
            return f"a name is a string; position {position} contains {name!r} ({type(name).__name__})"
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            break
    return f"the name {name!r} at position {position} contains bytes that are not text; rename it"


def _is_text(buffer: NDArray[np.uint8], offsets: NDArray[np.int64]) -> bool:
    """Whether the buffer is UTF-8 and no offset splits a character."""
    if (buffer < 0x80).all():
        return True
    try:
        buffer.tobytes().decode()
    except UnicodeDecodeError:
        return False
    starts = offsets[:-1][np.diff(offsets) > 0]
    return not bool((buffer[starts] & 0xC0 == 0x80).any())  # a byte 10xxxxxx continues a character


def _mix(words: NDArray[np.uint64], length: int) -> NDArray[np.uint64]:
    """Multiply-xorshift over the columns of `words` (rows × words a row)."""
    value = np.full(len(words), 0x9E3779B97F4A7C15 ^ length, np.uint64)
    for column in words.T:
        value = (value ^ column) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
        value *= np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(32)
    return value
