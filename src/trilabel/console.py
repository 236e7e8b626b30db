"""What a person sees while things happen: progress and remarks on standard error.

On a terminal a bar; elsewhere plain lines, few enough for a log file. Results go to standard output, never here.
"""

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_BEFORE_FIRST = 2.0


class Advance(Protocol):
    """Tells that `count` more are done, with a few words on how it goes."""

    def __call__(self, count: int = 1, words: str = "") -> None: ...


_muted = False
_barred = False


def say(message: str) -> None:
    """One line on standard error."""
    if not _muted:
        print(message, file=sys.stderr, flush=True)


def warn(message: str) -> None:
    """One line on standard error that stands out."""
    print(f"warning: {message}", file=sys.stderr, flush=True)


@contextmanager
def muted(bars: bool = False) -> Iterator[None]:
    """Keeps `say` quiet inside, with `bars` `progress` too: for a command that does much of which each would report."""
    global _muted, _barred
    before, _muted, _barred = (_muted, _barred), True, _barred or bars
    try:
        yield
    finally:
        _muted, _barred = before


def some(names: list[str], most: int = 3) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


@contextmanager
def progress(what: str, total: int, shown: bool = True) -> Iterator[Advance]:
    """A bar (terminal) or plain lines (no terminal) for work of `total` parts; nothing where it is not `shown`."""
    if not shown or _barred:
        yield lambda count=1, words="": None
    elif sys.stderr.isatty():
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
            say(f"{what}: {done}/{total} {words}".rstrip())

    yield advance
