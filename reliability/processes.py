"""The command line in child processes that need no time to start.

Importing torch takes seconds, so one process imports everything once, and each child is a fork of it (the fork server
of `multiprocessing`). Nothing is computed before the fork.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from reliability.faults import Call, Fault, Trap, watch

ROOT = Path(__file__).resolve().parent.parent
SECONDS_UNTIL_HUNG = 300.0
SECONDS_BETWEEN_LINES = 30.0  # of progress
_PRELOADED = [
    "trilabel.cli.main", "trilabel.training.api", "trilabel.report.comparison", "trilabel.cli.compare_progress",
    "trilabel.inference.loading", "trilabel.data.merge", "matplotlib.pyplot", "torch.optim", "torch._dynamo",
    "pandas", "sklearn.metrics", "reliability.faults",
]  # fmt: skip


class Ended(NamedTuple):
    """How a process ended: its exit code, negative if a signal ended it."""

    code: int
    seconds: float
    output: str

    @property
    def killed(self) -> bool:
        """Whether it was ended as nothing can be that still cleans up."""
        return self.code in (-signal.SIGKILL, -signal.SIGXFSZ)

    @property
    def last_line(self) -> str:
        """The last line that it printed."""
        return (self.output.strip().splitlines() or [""])[-1]


def command(
    arguments: Sequence[str],
    fault: Fault | None = None,
    kill_after: float | None = None,
    record: Path | None = None,
    below: Path | None = None,
    kill_one_child: int | None = None,
) -> Ended:
    """Runs `trilabel ARGUMENTS` to its end, or kills it.

    fault: at an exact call that changes files `below` a folder. kill_after: all its processes, after these seconds;
    kill_one_child: only its child of this number. record: a file for the list of the calls it made.
    """
    given = (list(map(str, arguments)), fault, str(record or ""), str(below or ""))
    return call(_run_command, given, kill_after, kill_one_child)


def call(
    work: Callable[..., Any],
    arguments: tuple[Any, ...],
    kill_after: float | None = None,
    kill_one_child: int | None = None,
    limit: float = SECONDS_UNTIL_HUNG,
) -> Ended:
    """Runs a function in a fork of the process that has everything imported; after `limit` seconds it hangs."""
    context = fork_context()
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(work, arguments, theirs))
    began = time.monotonic()
    process.start()
    theirs.close()
    parts: list[bytes] = []
    reader = threading.Thread(target=_drain, args=(ours, parts))
    reader.start()
    process.join(limit if kill_after is None else kill_after)
    hung = kill_after is None and process.is_alive()
    if process.is_alive():
        _kill(process.pid or 0, None if hung else kill_one_child)
        process.join(SECONDS_UNTIL_HUNG)
        if process.is_alive():
            hung = True
            _kill(process.pid or 0, None)
            process.join()
    seconds = time.monotonic() - began
    _wait_for_group(process.pid or 0)
    reader.join(10.0)
    output = b"".join(parts).decode(errors="replace") + ("\n(hung)" if hung else "")
    return Ended(process.exitcode or 0, seconds, output)


def fork_context() -> Any:
    """Its processes are forks of one that has everything imported."""
    context = multiprocessing.get_context("forkserver")
    paths = [str(ROOT), str(ROOT / "src")]
    before = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path not in paths]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *before])
    hide_gpus()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # threads do not survive a fork
        os.environ.setdefault(name, "1")
    context.set_forkserver_preload(_PRELOADED)
    return context


def hide_gpus() -> None:
    """Of this process, if it has not used one yet, and of those that it starts.

    On a GPU two runs do not agree to the bit, and where memory is limited torch cannot even count GPUs.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""


def _child(work: Callable[..., Any], arguments: tuple[Any, ...], output: Any) -> None:
    os.setsid()
    sys.stdout.flush()
    os.dup2(output.fileno(), 1)
    os.dup2(output.fileno(), 2)
    output.close()
    multiprocessing.set_start_method(None, force=True)  # it starts processes as one that a person started does
    sys.exit(work(*arguments))


def _run_command(arguments: list[str], fault: Fault | None, record: str, below: str) -> int:
    import torch

    from trilabel.cli.main import main
    from trilabel.inference import serving

    torch.set_num_threads(1)
    serving.IMAGES_PER_PART = 8  # several parts of few images
    if record:
        descriptor = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def note(made: Call, before: bool) -> None:
            if before:
                os.write(descriptor, f"{made.kind}\t{made.path}\n".encode())

        watch(note, below)
    elif fault is not None:
        watch(Trap(fault), below)
    return main(arguments)


def _drain(pipe: Any, parts: list[bytes]) -> None:
    with contextlib.suppress(OSError):
        while part := os.read(pipe.fileno(), 1 << 16):
            parts.append(part)


def _kill(pid: int, child: int | None) -> None:
    with contextlib.suppress(ProcessLookupError, psutil.NoSuchProcess):
        if child is None:
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:  # it has not made its own group yet
                os.kill(pid, signal.SIGKILL)
            return
        children = psutil.Process(pid).children()
        os.kill(children[child % len(children)].pid if children else pid, signal.SIGKILL)


def _wait_for_group(pid: int) -> None:
    """Waits until all that a process started is gone, as a person would before trying again."""
    until = time.monotonic() + SECONDS_UNTIL_HUNG
    while time.monotonic() < until:
        try:
            os.killpg(pid, 0)
        except (ProcessLookupError, PermissionError):
            return
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
