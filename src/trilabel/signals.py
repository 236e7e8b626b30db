"""Ctrl-C and SIGTERM as a wish to stop at the next good moment."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from trilabel.console import say


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """A list that Ctrl-C and SIGTERM are added to instead of ending the process at once; a second one ends it."""
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received  # only the main thread may set handlers
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def receive(number: int, frame: object) -> None:
        received.append(number)
        say("stopping after this step; once more to stop at once")
        for signum, handler in before.items():
            signal.signal(signum, handler)

    for number in before:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
