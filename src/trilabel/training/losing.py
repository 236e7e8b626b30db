"""When a process of a run is lost or fails, the others end too; one line says which, and how to resume."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from torch.distributed import DistError, TCPStore  # type: ignore[attr-defined]

from trilabel.errors import TrilabelError, one_line
from trilabel.printable import command_line

_SECONDS_TO_MEET = 3.0  # in which the processes that are left find out who is missing
_OF_CONNECTIONS = ("gloo", "Connection closed by peer", "Connection reset by peer", "NCCL")


def lost_error(lost: Mapping[int, int | None], count: int, then: str) -> TrilabelError:
    """The error for processes that ended without a word: by rank the exit code, or None if it is not known.

    then: what to do about it.
    """
    names = " and ".join(f"process {rank + 1} of {count} (rank {rank})" for rank in lost)
    code = next(iter(lost.values()))
    memory = ", perhaps for lack of memory (then lower --batch-size or --workers)"
    if code is None:
        reason = f"was lost{memory}"
    elif code == -getattr(signal, "SIGKILL", 9):
        reason = f"was killed{memory}"
    else:
        reason = f"crashed ({_name_of(code)})"
    return TrilabelError(f"{names} {reason}; {then}")


def how_to_resume(folder: Path) -> str:
    """What to do about a run that ended early."""
    begun = (folder / "config.json").is_file()
    return f"resume with: {command_line('trilabel', 'train', '--resume', folder)}" if begun else "start it again"


def _name_of(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"


class _Noticed(TrilabelError):
    """What the processes that are left agreed to tell."""


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
        _outlast_torchrun()
        cause = _cause(error, folder, _meet())
        if cause is error:
            raise
        if cause is None:
            raise SystemExit(1) from None
        raise cause from error


def told_by_another(error: Exception) -> bool:
    """In a process that torchrun started: whether one of lower rank on the same machine tells the same error."""
    if isinstance(error, _Noticed) or int(os.environ["WORLD_SIZE"]) == 1:
        return False
    _outlast_torchrun()
    meeting = _meet()
    return meeting is not None and _is_told(error, meeting)


def _outlast_torchrun() -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # torchrun ends all of them meanwhile


@dataclass(frozen=True)
class _Meeting:
    """Where processes say how they end: that they failed, with the error, or that they are left without others."""

    store: TCPStore
    rank: int
    count: int
    machine: int
    first_here: int  # the lowest rank on this machine
    attempt: str = "0"

    def say(self, how: str, why: str = "") -> None:
        self.store.set(self._key(self.rank), f"{how} {self.machine} {why}")

    def words(self) -> dict[int, list[str]]:
        """By rank what each process said so far: how it ends, its machine, and why."""
        said = [rank for rank in range(self.count) if self.store.check([self._key(rank)])]
        return {rank: self.store.get(self._key(rank)).decode().split(" ", 2) for rank in said}

    def wait(self, enough: Callable[[dict[int, list[str]]], bool]) -> dict[int, list[str]]:
        """What was said once that is enough, or nobody can be expected to say more."""
        end = time.monotonic() + _SECONDS_TO_MEET
        while not enough(words := self.words()) and time.monotonic() < end:
            time.sleep(0.05)
        return words

    def _key(self, rank: int) -> str:
        return f"trilabel/{self.attempt}/{rank}"


def _meet() -> _Meeting | None:
    """None if the machine with the store is the one that is lost."""
    rank, count, machine, local = (
        int(os.environ.get(name, 0)) for name in ("RANK", "WORLD_SIZE", "GROUP_RANK", "LOCAL_RANK")
    )
    with suppress(RuntimeError):
        address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
        store = TCPStore(*address, is_master=False, timeout=timedelta(seconds=_SECONDS_TO_MEET), wait_for_workers=False)
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        return _Meeting(store, rank, count, machine, rank - local, attempt)
    return None


def _is_told(error: Exception, meeting: _Meeting) -> bool:
    lower, mine = range(meeting.first_here, meeting.rank), one_line(error)

    def same(words: dict[int, list[str]]) -> bool:
        return any(rank in words and words[rank][0] == "failed" and words[rank][2] == mine for rank in lower)

    with suppress(RuntimeError):  # the store is gone
        meeting.say("failed", mine)
        return same(meeting.wait(lambda words: same(words) or all(rank in words for rank in lower)))
    return False


def _cause(error: Exception, folder: Path, meeting: _Meeting | None) -> Exception | None:
    """What to tell about an error: itself, the loss of other processes, or nothing if another process tells it."""
    of_connection = _of_connection(error)
    with suppress(RuntimeError):  # the store is gone
        if meeting is not None and of_connection:
            return _noticed(folder, meeting)
        if meeting is not None:
            meeting.say("failed", one_line(error))
    if not of_connection:
        return error
    return _Noticed(f"the connection to other processes was lost; {how_to_resume(folder)}")


def _noticed(folder: Path, meeting: _Meeting) -> Exception | None:
    """What to tell in a process that cannot reach the others; nothing if another one on its machine tells it."""
    meeting.say("left")
    words = meeting.wait(
        lambda words: len(words) == meeting.count or any(how == "failed" for how, *_ in words.values())
    )
    failed = {rank: machine for rank, (how, machine, _) in words.items() if how == "failed"}
    speaks = min(r for r, (how, machine, _) in words.items() if how == "left" and machine == str(meeting.machine))
    if meeting.rank != speaks or str(meeting.machine) in failed.values():
        return None
    if failed:
        others = ", ".join(map(str, failed))
        return _Noticed(f"rank {others} of {meeting.count} processes failed, see there; {how_to_resume(folder)}")
    if lost := [rank for rank in range(meeting.count) if rank not in words]:
        return _Noticed(str(lost_error(dict.fromkeys(lost), meeting.count, how_to_resume(folder))))
    return _Noticed(f"the connection between processes was lost; {how_to_resume(folder)}")


def _of_connection(error: Exception) -> bool:
    """Whether the error is that another process could not be reached."""
    return isinstance(error, DistError) or (
        isinstance(error, RuntimeError) and any(word in str(error) for word in _OF_CONNECTIONS)
    )
