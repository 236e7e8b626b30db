"""Text files as other programs write them, with errors that name the file and the line."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from trilabel.errors import TrilabelError
from trilabel.input_files import open_input, read_input

_PEEK = 1 << 18
_last_peek: ContextVar[dict[Path, bytes] | None] = ContextVar("last_peek", default=None)


def read_text(file: Path) -> str:
    """A UTF-8 file, without its byte-order mark."""
    try:
        content = read_input(file)
    except OSError as error:
        raise TrilabelError(f"{file}: cannot be read ({error.strerror or error})") from None
    return decoded(file, content)


def decoded(file: Path, content: bytes) -> str:
    """UTF-8 as text, without a byte-order mark; `file` is for messages."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TrilabelError(f"{file}, line {line}: not UTF-8 text; save it as UTF-8") from None


def read_lines(file: Path) -> Iterator[tuple[int, str]]:
    """(number, text) of every line that is not blank, without line ends and surrounding blanks."""
    return lines_of(file, read_text(file))


def lines_of(file: Path, content: str) -> Iterator[tuple[int, str]]:
    """The same for a text that was read already; `file` is for messages."""
    for number, line in enumerate(content.split("\n"), start=1):
        if text := line.strip():
            if "\0" in text:
                raise TrilabelError(f"{file}, line {number}: contains a zero byte, so it is not text; write it again")
            yield number, text


def shown(text: str, most: int = 40) -> str:
    """A text in quotes, for a message; truncated if it is long."""
    return repr(text if len(text) <= most else text[: most - 1] + "…")


@contextmanager
def peeking_once() -> Iterator[None]:
    """Inside this context, `peek` does not open the same file again, although every format reads its start."""
    token = _last_peek.set({})
    try:
        yield
    finally:
        _last_peek.reset(token)


def peek(file: Path) -> bytes:
    """The first 256 KB of a file; empty if it cannot be read."""
    last = _last_peek.get()
    if last is not None and file in last:
        return last[file]
    try:
        with open_input(file) as opened:
            start = opened.read(_PEEK)
    except (OSError, TrilabelError):
        start = b""
    if last is not None:
        last.clear()  # a folder may contain thousands of files: keep only one start
        last[file] = start
    return start
