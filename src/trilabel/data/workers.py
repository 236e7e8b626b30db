"""Processes that decode images, and signals: these are for the process that started them.

Ctrl-C in a terminal, a batch system and a service manager send a signal to all processes of a run. Its first process
saves and stops; until it does, it needs the images of the step that it is in.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_SIGNALS = {getattr(signal, name) for name in _NAMES if hasattr(signal, name)}


@contextmanager
def signals_held() -> Iterator[None]:
    """Signals that arrive inside this context are handled after it; processes that start in it hold them too."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_signals(worker: int) -> None:
    """Called in each new process: only the process that started it ends it, quietly."""
    for number in _SIGNALS - {signal.SIGTERM}:
        signal.signal(number, signal.SIG_IGN)
    if hasattr(signal, "sigwaitinfo"):
        # SIGTERM stays held, and a thread looks who sent it: a handler in Python is not told.
        threading.Thread(target=_end_when_told, args=(os.getppid(),), daemon=True).start()
        held = {signal.SIGTERM}
    else:  # macOS: torch ends the process
        held = set()
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS - held)


def _end_when_told(parent: int) -> None:
    while True:
        if signal.sigwaitinfo({signal.SIGTERM}).si_pid == parent:
            os._exit(0)
