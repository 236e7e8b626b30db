"""Handling of signals: training stops after a step, everything else at once but cleanly."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from trilabel.log import log

_SAME_REQUEST = 1.0  # seconds in which a second signal is the same request, received another way


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """A list that Ctrl-C, SIGTERM and SIGHUP are added to instead of ending the process at once; a second one ends it.

    SIGHUP comes when the terminal is closed or the connection to it is lost; under nohup it stays ignored.
    """
    received: list[int] = []
    first = 0.0
    if threading.current_thread() is not threading.main_thread():
        yield received  # only the main thread may set handlers
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # Windows has none
        before[signal.SIGHUP] = signal.getsignal(signal.SIGHUP)

    def receive(number: int, frame: object) -> None:
        """Notes the signal; a second one stops at once."""
        nonlocal first
        if not received:
            received.append(number)
            first = time.monotonic()
            log.info("stopping after this step; interrupt again to stop at once")
        elif time.monotonic() - first > _SAME_REQUEST:
            raise KeyboardInterrupt

    for number in before:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def graceful_termination() -> Iterator[None]:
    """SIGTERM and SIGHUP end the process as an exit would, so that half-written files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]  # Windows has no SIGHUP
    before = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}
    # A signal that was ignored before, as under nohup, stays ignored.
    caught = [number for number, handler in before.items() if handler == signal.SIG_DFL]

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for number in caught:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])
