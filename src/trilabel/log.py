"""What the library tells while it works: lines through `logging` (logger "trilabel"), and progress.

By itself the library says nothing. Python users turn it on as for any library (`logging.basicConfig(level="INFO")`);
the command line wraps its work in `shown()`, which writes to standard error: on a terminal progress is a bar, elsewhere
plain lines, few enough for a log file. Results go to standard output, never here.
"""

import logging
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BEFORE_FIRST = 2.0

log = logging.getLogger("trilabel")
log.addHandler(logging.NullHandler())


class Advance(Protocol):
    """Tells that `count` more are done, with a few words on how it goes."""

    def __call__(self, count: int = 1, words: str = "") -> None: ...


class _StandardError(logging.Handler):
    """Lines as a person reads them: no time, no logger's name, and "warning: " where something is doubtful."""

    def emit(self, record: logging.LogRecord) -> None:
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        print(prefix + record.getMessage(), file=sys.stderr, flush=True)


_standard_error = _StandardError()
_bars_hidden = False


def is_shown() -> bool:
    """Whether what is logged goes to standard error now; processes that are started for the work need to know."""
    return _standard_error in log.handlers


@contextmanager
def shown(really: bool = True) -> Iterator[None]:
    """Shows on standard error what is logged inside, and progress as a bar where that is a terminal."""
    if is_shown() or not really:
        yield
        return
    level = log.level
    log.addHandler(_standard_error)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(_standard_error)
        log.setLevel(level)


@contextmanager
def quiet(bars: bool = False) -> Iterator[None]:
    """Only warnings inside, with `bars` no progress either: for work of many parts of which each would report."""
    global _bars_hidden
    level, hidden = log.level, _bars_hidden
    log.setLevel(logging.WARNING)
    _bars_hidden = hidden or bars
    try:
        yield
    finally:
        log.setLevel(level)
        _bars_hidden = hidden


def truncate_list(names: Sequence[str], most: int = 3) -> str:
    """The first few names, and how many more there are.

    >>> truncate_list(["cat", "dog", "sofa", "cup"])
    "'cat', 'dog', 'sofa' and 1 more"
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


@contextmanager
def progress(what: str, total: int, shown: bool = True) -> Iterator[Advance]:
    """A bar or log lines for work of `total` parts; nothing where it is not `shown`."""
    if not shown or _bars_hidden:
        yield lambda count=1, words="": None
    elif is_shown() and sys.stderr.isatty():
        yield from _bar(what, total)
    else:
        yield from _lines(what, total)


def track(parts: Iterable[T], what: str, total: int, shown: bool = True) -> Iterator[T]:
    """Passes the parts on and shows how far along it is."""
    with progress(what, total, shown) as advance:
        for part in parts:
            yield part
            advance()


def _bar(what: str, total: int) -> Iterator[Advance]:
    # rich takes a tenth of a second to import, which `--help` should not pay.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[words]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, words="")

        def advance(count: int = 1, words: str = "") -> None:
            if words:
                bar.update(task, advance=count, words=words)
            else:
                bar.advance(task, count)

        yield advance


def _lines(what: str, total: int) -> Iterator[Advance]:
    done, spoke = 0, time.monotonic() - _SECONDS_BETWEEN_LINES + _SECONDS_BEFORE_FIRST

    def advance(count: int = 1, words: str = "") -> None:
        nonlocal done, spoke
        done += count
        if time.monotonic() - spoke >= _SECONDS_BETWEEN_LINES:
            spoke = time.monotonic()
            log.info("%s", f"{what}: {done}/{total} {words}".rstrip())

    yield advance
