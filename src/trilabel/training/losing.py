"""When a process of a run is lost or fails, the others end too; one line says which, and how to resume."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from torch.distributed import DistError, TCPStore  # type: ignore[attr-defined]

from trilabel.errors import TrilabelError

_SECONDS_TO_MEET = 3.0  # in which the processes that are left find out who is missing
_OF_CONNECTIONS = ("gloo", "Connection closed by peer", "Connection reset by peer", "NCCL")


def lost_error(lost: Mapping[int, int | None], count: int, folder: Path) -> TrilabelError:
    """The error for processes that ended without a word: by rank the exit code, or None if it is not known."""
    names = " and ".join(f"process {rank + 1} of {count} (rank {rank})" for rank in lost)
    code = next(iter(lost.values()))
    killed = code is None or code == -getattr(signal, "SIGKILL", 9)
    reason = "was killed" if killed else f"crashed ({_name_of(code)})"
    if code is None:
        reason = "was lost"
    memory = ", perhaps for lack of memory (then lower --batch-size or --workers)" if killed else ""
    return TrilabelError(f"{names} {reason}{memory}; {how_to_resume(folder)}")


def how_to_resume(folder: Path) -> str:
    """What to do about a run that ended early."""
    begun = (folder / "config.json").is_file()
    return f"resume with: trilabel train --resume {folder}" if begun else "start it again"


def _name_of(code: int | None) -> str:
    try:
        return signal.Signals(-(code or 0)).name
    except ValueError:
        return f"exit code {code}"


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """In a process that torchrun started: of all that fail together, one on each machine says why.

    The cause is told by the process that has it. The others notice only that a connection was closed; if none told a
    cause, those that are missing were lost.
    """
    try:
        yield
    except Exception as error:
        if int(os.environ["WORLD_SIZE"]) == 1:
            raise
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun ends all of them meanwhile
        cause = _cause(error, folder)
        if cause is error:
            raise
        if cause is None:
            raise SystemExit(1) from None
        raise cause from error


def _cause(error: Exception, folder: Path) -> Exception | None:
    """What to tell about an error: itself, the loss of other processes, or nothing if another process tells it."""
    rank, count, machine = (int(os.environ.get(name, 0)) for name in ("RANK", "WORLD_SIZE", "GROUP_RANK"))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    keys = [f"trilabel/{attempt}/{other}" for other in range(count)]
    store = None
    with suppress(RuntimeError):  # the machine with the store may be the one that is lost
        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = TCPStore(*address, is_master=False, timeout=timedelta(seconds=_SECONDS_TO_MEET), wait_for_workers=False)
    if not _of_connection(error):
        if store is not None:
            store.set(keys[rank], f"failed {machine}")
        return error
    if store is None:
        return TrilabelError(f"the connection to other processes was lost; {how_to_resume(folder)}")
    store.set(keys[rank], f"left {machine}")
    words = _words(store, keys)
    if any(word.startswith("failed") for word in words.values()):
        elsewhere = f"failed {machine}" not in words.values()
        others = ", ".join(str(other) for other, word in words.items() if word.startswith("failed"))
        if elsewhere and rank == min(other for other, word in words.items() if word == f"left {machine}"):
            return TrilabelError(f"rank {others} of {count} processes failed, see there; {how_to_resume(folder)}")
        return None
    if rank != min(other for other, word in words.items() if word == f"left {machine}"):
        return None
    return lost_error({other: None for other in range(count) if other not in words}, count, folder)


def _words(store: TCPStore, keys: list[str]) -> dict[int, str]:
    """By rank what each process said: that it failed, or that it is left; waits for those that still may."""
    end = time.monotonic() + _SECONDS_TO_MEET
    while True:
        words = {rank: store.get(key).decode() for rank, key in enumerate(keys) if store.check([key])}
        told = any(word.startswith("failed") for word in words.values())
        if told or len(words) >= len(keys) - 1 or time.monotonic() > end:
            return words
        time.sleep(0.05)


def _of_connection(error: Exception) -> bool:
    """Whether the error is that another process could not be reached."""
    return isinstance(error, DistError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in _OF_CONNECTIONS)
    )
