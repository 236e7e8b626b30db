"""What the library reports while it works: lines through `logging` (logger "trilabel"), and progress.

By default nothing is shown. Python users turn it on as for any library (`logging.basicConfig(level="INFO")`); the
command line wraps its work in `shown()`, which writes to standard error: on a terminal progress is a bar, elsewhere
lines, few enough for a log file. Results go to standard output, never through here.
"""

import io
import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol, TextIO, TypeVar, cast

from trilabel.printable import message

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BEFORE_FIRST = 2.0

log = logging.getLogger("trilabel")
log.addHandler(logging.NullHandler())


def _make_printable(record: logging.LogRecord) -> bool:
    """Names that others chose stand in most lines: no handler, terminal or log file gets control characters."""
    record.msg, record.args = message(record.getMessage()), None
    return True


log.addFilter(_make_printable)


class Advance(Protocol):
    """Reports that `count` more items are done; `words` describes the progress, such as the loss."""

    def __call__(self, count: int = 1, words: str = "") -> None: ...


class _StandardError(logging.Handler):
    """Only the message, with the prefix "warning: " for warnings, each of which is shown once."""

    def __init__(self) -> None:
        super().__init__()
        self.warned = set[str]()

    def emit(self, record: logging.LogRecord) -> None:
        """Prints the line."""
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        if prefix and record.getMessage() in self.warned:
            return
        self.warned |= {record.getMessage()} if prefix else set()
        with suppress(OSError):  # the terminal was closed: that is no reason to lose what is being made
            print(prefix + record.getMessage(), file=sys.stderr, flush=True)


class _Terminal(io.TextIOBase):
    """Standard error for a progress bar, which goes on when the terminal was closed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Of the stream itself."""
        return self._stream.encoding

    def write(self, text: str) -> int:
        """Writes if it can."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flushes if it can."""
        with suppress(OSError):
            self._stream.flush()

    def isatty(self) -> bool:
        """Whether it was a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Of the stream itself."""
        return self._stream.fileno()


def terminal() -> TextIO:
    """Standard error, for bars and tables that change on a terminal."""
    return cast(TextIO, _Terminal(sys.stderr))


_standard_error = _StandardError()
_progress_hidden = False


def is_shown() -> bool:
    """Whether `shown()` is active; a new process does not inherit it."""
    return _standard_error in log.handlers


@contextmanager
def shown(enabled: bool = True) -> Iterator[None]:
    """Inside this context, log lines go to standard error, and progress is a bar if that is a terminal."""
    if is_shown() or not enabled:
        yield
        return
    level = log.level
    _standard_error.warned.clear()
    log.addHandler(_standard_error)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(_standard_error)
        log.setLevel(level)


@contextmanager
def quiet(bars: bool = False) -> Iterator[None]:
    """Inside this context, only warnings are logged, and with `bars` no progress is shown: for one of many runs."""
    global _progress_hidden
    level, hidden = log.level, _progress_hidden
    log.setLevel(max(logging.WARNING, log.getEffectiveLevel()))
    _progress_hidden = hidden or bars
    try:
        yield
    finally:
        log.setLevel(level)
        _progress_hidden = hidden


def truncate_list(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are.

    >>> truncate_list(["cat", "dog", "sofa", "cup"])
    "'cat', 'dog', 'sofa' and 1 more"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


@contextmanager
def progress(what: str, total: int, shown: bool = True) -> Iterator[Advance]:
    """Shows how many of `total` items are done, as a bar or as log lines; only inside `shown`.

    The total may be an estimate: once more are done, it is left out.
    """
    if not shown or _progress_hidden:
        yield lambda count=1, words="": None
    elif is_shown() and sys.stderr.isatty():
        yield from _bar(what, total)
    else:
        yield from _lines(what, total)


def track(parts: Iterable[T], what: str, total: int, shown: bool = True) -> Iterator[T]:
    """Yields the items and shows how many of `total` are done."""
    with progress(what, total, shown) as advance:
        for part in parts:
            yield part
            advance()


def _bar(what: str, total: int) -> Iterator[Advance]:
    # Importing rich takes a tenth of a second, which `--help` should not spend.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}", markup=False),
    )
    with Progress(*columns, console=Console(file=terminal()), transient=True) as bar:
        task, done = bar.add_task(message(what), total=total, words=""), 0

        def advance(count: int = 1, words: str = "") -> None:
            """Moves the bar."""
            nonlocal done
            done += count
            if done > total:  # it was an estimate
                bar.tasks[0].total = None
            if words:
                bar.update(task, advance=count, words=message(words))
            else:
                bar.advance(task, count)

        yield advance


def _lines(what: str, total: int) -> Iterator[Advance]:
    done, spoke = 0, time.monotonic() - _SECONDS_BETWEEN_LINES + _SECONDS_BEFORE_FIRST

    def advance(count: int = 1, words: str = "") -> None:
        """Says how far it is, not too often."""
        nonlocal done, spoke
        done += count
        if time.monotonic() - spoke >= _SECONDS_BETWEEN_LINES:
            spoke = time.monotonic()
            of = f"/{total}" if done <= total else ""  # it was an estimate
            log.info("%s", f"{what}: {done}{of} {words}".rstrip())

    yield advance
