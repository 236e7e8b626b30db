"""Faults at exact moments: a process counts its own calls that change files, and dies or fails at the n-th.

Nothing is traced from outside, so this works on any system with signals; a kill inside a write, at an exact byte, is
done by the limit of the size of files, which also reaches writes that Python does not see (those of safetensors).
"""

import builtins
import io
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

How = Literal["before", "after", "in-write", "disk-full"]


class Call(NamedTuple):
    """A call that changes files. `path` is the file that changes in the end; empty for one known by a number only."""

    kind: str
    path: str


Notice = Callable[[Call, bool], None]  # called before (True) and after (False) each call


@dataclass(frozen=True)
class Fault:
    """What happens at the `number`-th call (from 1).

    before, after: the process is killed. in-write: files may from there on not be longer than `size` bytes, and the
    write that goes beyond kills the process. disk-full: that write fails instead, as on a full disk.
    """

    number: int
    how: How
    size: int = 0

    def __str__(self) -> str:
        return f"{self.how} call {self.number}" + (
            f", byte {self.size}" if self.how in ("in-write", "disk-full") else ""
        )


class Trap:
    """Counts calls, and carries out a fault."""

    def __init__(self, fault: Fault) -> None:
        self.fault, self.count = fault, 0

    def __call__(self, call: Call, before: bool) -> None:
        self.count += before
        if self.count == self.fault.number and before == (self.fault.how != "after"):
            if self.fault.how in ("before", "after"):
                os.kill(os.getpid(), signal.SIGKILL)
            limit_file_size(self.fault.size, kill=self.fault.how == "in-write")


class StopAt:
    """Sends this process a signal when it puts a file of this name in place for the `times`-th time."""

    def __init__(self, file: str, times: int, before: bool, number: int) -> None:
        self.file, self.left, self.before, self.number = file, times, before, number

    def __call__(self, call: Call, before: bool) -> None:
        if call.kind == "replace" and Path(call.path).name == self.file and before == self.before:
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), self.number)


def limit_file_size(size: int, kill: bool) -> None:
    """Writes beyond this byte of any file kill the process, or fail."""
    import resource

    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if kill else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def watch(notice: Notice, below: str | Path = "") -> None:
    """Has all calls of this process that change files noticed; only those `below` a folder, if one is given."""
    for module, name, which in (
        (os, "replace", 1), (os, "rename", 1), (os, "mkdir", 0), (os, "rmdir", 0), (os, "unlink", 0), (os, "remove", 0),
        (os, "fsync", 0), (shutil, "rmtree", 0),
    ):  # fmt: skip
        setattr(module, name, _noticed(getattr(module, name), name, which, notice, str(below)))
    opened = _noticed(io.open, "open", 0, notice, str(below), _writes)
    io.open = builtins.open = opened
    os.open = _noticed(os.open, "open", 0, notice, str(below), _writes_by_flags)


def _noticed(
    function: Callable[..., Any],
    kind: str,
    which: int,
    notice: Notice,
    below: str,
    counts: Callable[..., bool] = lambda *given, **more: True,
) -> Callable[..., Any]:
    def call(*given: Any, **more: Any) -> Any:
        target = given[which] if len(given) > which else ""
        path = "" if isinstance(target, int) else os.fspath(target)
        path = path.decode(errors="replace") if isinstance(path, bytes) else path
        if not counts(*given, **more) or (below and path and os.path.isabs(path) and not path.startswith(below)):  # noqa: PTH117
            return function(*given, **more)
        found = Call(kind, path)
        notice(found, True)
        result = function(*given, **more)
        notice(found, False)
        return result

    return call


def _writes(file: Any, mode: str = "r", *given: Any, **more: Any) -> bool:
    return not isinstance(file, int) and any(letter in mode for letter in "wax+")


def _writes_by_flags(path: Any, flags: int, *given: Any, **more: Any) -> bool:
    return bool(flags & (os.O_WRONLY | os.O_RDWR))
