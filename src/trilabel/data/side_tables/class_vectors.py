"""Word vectors of class names, from a text file such as those of GloVe or word2vec."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.errors import TrilabelError
from trilabel.input_files import open_input

_LONGEST_LINE = 1 << 20
_FIRST_TOKEN = re.compile(rb"\s*(\S+)")


def read_vectors(path: str | Path, classes: Sequence[str], size: int) -> NDArray[np.float32]:
    """C×size: the vector of each class name.

    A line of the file is a name and `size` numbers, with blanks or tabs between; a first line "count size" is skipped.
    Upper and lower case are the same, and so are underscores and blanks; if a name has several lines, the first counts.
    A class of several words that is not in the file itself gets the mean of its words' vectors. The file is read line
    by line and only as far as needed.
    """
    names = [_plain(name) for name in classes]
    found, longer = _search(path, names, size)
    rows = np.zeros((len(names), size), np.float32)
    for row, (given, name) in enumerate(zip(classes, names, strict=True)):
        words = [name] if name in found else name.split()
        missing = [word for word in words or [given] if word not in found]
        if missing:
            raise TrilabelError(longer.get(missing[0]) or _complaint(path, given, missing[0]))
        rows[row] = np.mean([found[word] for word in words], axis=0)
    return rows


def _search(path: str | Path, names: list[str], size: int) -> tuple[dict[str, NDArray[np.float64]], dict[str, str]]:
    """(vectors of the names and words found, messages about words whose line has too many numbers)."""
    left = set(names) - {""}
    wanted = left.union(*(name.split() for name in names))
    starts = {name.split()[0] for name in wanted}
    found: dict[str, NDArray[np.float64]] = {}
    longer: dict[str, str] = {}
    for number, line in _lines(path):
        first = _FIRST_TOKEN.match(line)
        # Most lines of a large file are not needed: only the first word is checked.
        if number > 1 and (first is None or _plain(_text(first[1])).partition(" ")[0] not in starts):
            continue
        tokens = line.split()
        if number == 1 and len(tokens) == 2 and tokens[0].isdigit() and tokens[1].isdigit():
            if int(tokens[1]) != size:
                raise TrilabelError(
                    f"{path}: contains vectors of {int(tokens[1])} numbers, not {size}; set head.size={int(tokens[1])}"
                )
            continue
        name = _plain(_text(b" ".join(tokens[: max(1, len(tokens) - size)])))
        if name in wanted:
            if name not in found:
                found[name] = _vector(path, number, tokens, size)
                left.discard(name)
        elif _numbers(tokens) == len(tokens) - 1 > size:
            # Either the name ends in numbers or the size is wrong; the latter, if this is the only line of the word.
            longer.setdefault(_plain(_text(tokens[0])), _wrong_size(path, number, tokens, size))
        if not left:
            break
    return found, longer


def _lines(path: str | Path) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line)."""
    try:
        with open_input(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
                if len(line) == _LONGEST_LINE:
                    raise TrilabelError(
                        f"{path}: line {number} does not end; give word vectors as text, one word per line"
                    )
                yield number, line
    except OSError as error:
        raise TrilabelError(f"{path}: cannot be read as a file of word vectors ({error.strerror or error})") from None


def _plain(name: str) -> str:
    return " ".join(name.replace("_", " ").split()).casefold()


def _text(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _vector(path: str | Path, number: int, tokens: list[bytes], size: int) -> NDArray[np.float64]:
    if _numbers(tokens) < size:
        raise TrilabelError(_wrong_size(path, number, tokens, size))
    vector = np.array([float(token) for token in tokens[-size:]])
    if not (np.abs(vector) <= np.finfo(np.float32).max).all():
        raise TrilabelError(f"{path}: line {number} contains a number that is not finite; correct or remove the line")
    return vector


def _numbers(tokens: list[bytes]) -> int:
    """How many numbers are at the end of a line, after a name of at least one word."""
    count = 0
    for token in reversed(tokens[1:]):
        try:
            float(token)
        except ValueError:
            break
        count += 1
    return count


def _wrong_size(path: str | Path, number: int, tokens: list[bytes], size: int) -> str:
    count = _numbers(tokens)
    advice = f"set head.size={count}" if count else "correct or remove the line"
    return f"{path}: the vector of line {number} has {count} numbers, not {size}; {advice}"


def _complaint(path: str | Path, given: str, word: str) -> str:
    of_it = "" if word == _plain(given) else f" (or its word {word!r})"
    return (
        f"{path}: no vector for class {given!r}{of_it}; add a line for it or rename the class after words in the file"
    )
