"""JSON files as other programs write them, with errors that name the file, the line and the place."""

import gc
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from trilabel.data.text_files import peek, read_text
from trilabel.errors import TrilabelError
from trilabel.log import log

T = TypeVar("T")
_LARGE = 64 << 20  # bytes of JSON that take seconds to read
_REQUIRED: Any = object()
_KINDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    bool: "true/false",
}


def first_key(file: Path) -> str | None:
    """The first key of a JSON object, "[" for a list, None for anything else: enough to distinguish formats."""
    start = peek(file)[: 1 << 16].decode("utf-8-sig", errors="replace")
    found = re.match(r'\s*(\[|\{\s*"((?:[^"\\]|\\.)*)")', start)
    return None if not found else "[" if found[1] == "[" else found[2]


class Json:
    """A value in a JSON file that knows its place, so that an error can name the line.

    >>> document = Json.read(Path("instances.json"))                          # doctest: +SKIP
    >>> names = document.item("images").column("file_name", str)              # doctest: +SKIP
    """

    __slots__ = ("file", "path", "value")

    def __init__(self, file: Path, value: Any, path: tuple[str | int, ...] = ()) -> None:
        self.file, self.value, self.path = file, value, path

    @classmethod
    def read(cls, file: Path, kind: type = dict) -> "Json":
        """The whole document, which must be an object (or a list, if that is the `kind`)."""
        text = read_text(file)
        if len(text) > _LARGE:
            log.info(f"{file}: reading {len(text) >> 20:,} MB")
        document = cls(file, _parse(file, text))
        document._check(document.value, kind, ())
        return document

    def get(self, key: str | int, kind: type[T], default: T | None = _REQUIRED) -> T:
        """A plain value inside this object, checked; `default` if it is missing or null."""
        found = self.value.get(key) if isinstance(self.value, dict) else self.value[key]
        if found is None and default is not _REQUIRED:
            return cast(T, default)
        return cast(T, self._check(found, kind, (key,)))

    def item(self, key: str | int, kind: type = list, default: Any = _REQUIRED) -> Self:
        """An object or list inside this one, checked."""
        return type(self)(self.file, self.get(key, kind, default), (*self.path, key))

    def items(self, kind: type = dict) -> Iterator[tuple[Any, Self]]:
        """(key, value) of everything in this object or list, each checked."""
        pairs = self.value.items() if isinstance(self.value, dict) else enumerate(self.value)
        for key, value in pairs:
            yield key, type(self)(self.file, self._check(value, kind, (key,)), (*self.path, key))

    def column(self, key: str, kind: type[T], default: T | None = _REQUIRED) -> list[T]:
        """The value of `key` in each object of this list; fast if there is no error."""
        try:
            values = [record[key] for record in self.value]
            if set(map(type, values)) <= {kind}:
                return values
        except (KeyError, TypeError, IndexError):
            pass
        return [record.get(key, kind, default) for _, record in self.items()]

    def error_at(self, what: str, *inside: str | int) -> TrilabelError:
        """An error about this value or one inside it."""
        return error_at(self.file, (*self.path, *inside), what)

    def _check(self, value: Any, kind: type, inside: tuple[str | int, ...]) -> Any:
        if type(value) is kind or (kind is float and type(value) is int):
            return value
        if value is None:
            raise self.error_at("is missing", *inside)
        raise self.error_at(f"is {short(value)}, not {_KINDS[kind]}", *inside)


def unique_positions(records: Json, key: str, kind: type) -> dict[int | str, int]:
    """The position of each value of `key` in a list of records; an error if one is listed twice."""
    values: list[int | str] = records.column(key, kind)
    if (twice := first_repeat(values)) is not None:
        first, again = twice
        where = "".join(map(str, records.path))
        raise records.error_at(f"is {values[again]!r}, as of {where}[{first}]; ids must be unique", again, key)
    return {value: index for index, value in enumerate(values)}


def first_repeat(values: Sequence[int | str]) -> tuple[int, int] | None:
    """(first, again): the positions of the first value that is listed twice."""
    if len(set(values)) == len(values):
        return None
    seen: dict[int | str, int] = {}
    return next((seen[value], at) for at, value in enumerate(values) if seen.setdefault(value, at) != at)


def error_at(file: Path, path: tuple[str | int, ...], what: str) -> TrilabelError:
    """An error about the value at `path` in a JSON file: names the line, which is searched for only then."""
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{_key(part)}" for part in path).lstrip(".")
    return TrilabelError(f"{file}, line {line_of(read_text(file), path)}: {place or 'the document'} {what}")


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)[1:-1]  # a line end in a key must not end the line of the message


def _parse(file: Path, text: str) -> Any:
    collecting = gc.isenabled()
    gc.disable()  # it would check millions of new objects again and again and find nothing to free
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise TrilabelError(f"{file}, line 1: the file is empty; export or copy it again") from None
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated"):
            raise TrilabelError(
                f"{file}, line {error.lineno}: damaged JSON: cut short after {len(text):,} characters; export or copy "
                "it again"
            ) from None
        place = f"line {error.lineno}, column {error.colno}"
        raise TrilabelError(f"{file}, {place}: damaged JSON ({error.msg})") from None
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits; ten thousand brackets
        raise TrilabelError(f"{file}: damaged JSON ({str(error).splitlines()[0]})") from None
    finally:
        if collecting:
            gc.enable()


def short(value: Any) -> str:
    """A value as JSON, truncated if it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:39] + "…"


_BLANKS = re.compile(r"[ \t\r\n]*")


def line_of(text: str, path: tuple[str | int, ...]) -> int:
    """The line of the value at `path`; if that is missing, the line of its parent."""
    decoder, here = json.JSONDecoder(), _skip(text, 0)
    for part in path:
        if text[here : here + 1] not in ("{", "["):
            break
        found, next_ = -1, here + 1
        for number in range(len(text)):
            next_ = _skip(text, next_)
            if text[next_] in "]}":
                break
            key: str | int = number
            if text[here] == "{":
                key, next_ = decoder.raw_decode(text, next_)
                next_ = _skip(text, _skip(text, next_) + 1)
            if key == part:
                found = next_  # the last of several equal keys counts, as it does for json.loads
            _, next_ = decoder.raw_decode(text, next_)
            next_ = _skip(text, next_)
            if text[next_] != "," or (found >= 0 and isinstance(part, int)):
                break
            next_ += 1
        if found < 0:
            break
        here = found
    return text.count("\n", 0, here) + 1


def _skip(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position
