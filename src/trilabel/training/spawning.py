"""Several processes on this machine: started, watched, and ended together.

This process only watches. It ends all when one is lost, and they end themselves when this one is lost.
"""

import _thread
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from trilabel.config import Config
from trilabel.training.losing import how_to_resume, lost_error

_SECONDS_TO_SAVE = 60.0  # for all when they are asked to stop: to finish a step and write a checkpoint
_SECONDS_TO_END = 5.0  # for a process whose partner is lost: to finish what it writes


@dataclass(frozen=True)
class _Report:
    """How a process ended, if it could say so."""

    at: float  # by a clock that all processes of a machine share
    error: BaseException | None
    trace: str = ""


def spawn(run: Callable[[Any, Config], None], work: Any, config: Config, then: Path | str) -> None:
    """Calls run(work, config) in `config.devices` new processes; raises what went wrong first in any of them.

    then: what to do if one is lost, in words, or the folder of a run to resume.
    """
    context = torch.multiprocessing.get_context("spawn")
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # where the processes find each other
    processes, reports = [], list[Connection]()
    try:
        for rank in range(config.devices):
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_begin, args=(rank, store.port, run, work, config, sender))
            process.start()
            sender.close()
            processes.append(process)
            reports.append(receiver)
        codes = _wait_for(processes)
    except BaseException:  # Ctrl-C reaches them anyway, a signal to this process does not
        _interrupt(processes)
        raise
    finally:
        for process in processes:
            process.kill()
            process.join()
    _raise_first([_received(report) for report in reports], codes, then)


def _interrupt(processes: Sequence[Any]) -> None:
    """Asks them to stop, as Ctrl-C would, and waits for them."""
    for process in processes:
        if process.exitcode is None and os.name != "nt":  # on Windows this ends it at once, and Ctrl-C reaches it
            os.kill(process.pid, signal.SIGINT)
    deadline = time.monotonic() + _SECONDS_TO_SAVE
    for process in processes:
        process.join(max(0.0, deadline - time.monotonic()))


def _wait_for(processes: Sequence[Any]) -> list[int | None]:
    """The exit codes once all have ended, or one has failed and the others had time to notice: None if they did not."""
    deadline: float | None = None
    while running := [process.sentinel for process in processes if process.exitcode is None]:
        if deadline is None and any(process.exitcode for process in processes):
            deadline = time.monotonic() + _SECONDS_TO_END
        if deadline is not None and time.monotonic() >= deadline:
            break
        wait(running, None if deadline is None else deadline - time.monotonic())
    return [process.exitcode for process in processes]


def _received(report: Connection) -> _Report | None:
    try:
        received: _Report = pickle.loads(report.recv_bytes())  # from a process of ours
        return received
    except EOFError:
        return None


def _raise_first(reports: Sequence[_Report | None], codes: Sequence[int | None], then: Path | str) -> None:
    """Raises the failure that caused the others, if there is one."""
    failed = [report for report in reports if report is not None and report.error is not None]
    # A process that is lost says nothing. One that aborts may do so because another has failed.
    mute = {rank: code for rank, code in enumerate(codes) if code and reports[rank] is None}
    lost = {rank: code for rank, code in mute.items() if not failed or code != -signal.SIGABRT}
    if lost:
        raise lost_error(lost, len(codes), then if isinstance(then, str) else how_to_resume(then))
    if failed:
        first = min(failed, key=lambda report: report.at)
        assert first.error is not None
        first.error.add_note(first.trace)
        raise first.error


def _begin(
    rank: int, port: int, run: Callable[[Any, Config], None], work: Any, config: Config, sender: Connection
) -> None:
    """The whole life of a process."""
    count = str(config.devices)
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    os.environ.update(place | meeting)
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // config.devices))
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    report = _Report(0.0, None)
    try:
        run(work, config)
    except BaseException as error:
        report = _Report(time.monotonic(), _sendable(error), traceback.format_exc())
    with suppress(OSError):  # there may be no parent any more
        sender.send_bytes(pickle.dumps(report))
    if report.error is not None:
        raise SystemExit(1)


def _sendable(error: BaseException) -> BaseException:
    try:
        pickle.loads(pickle.dumps(error))
        return error
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")


def _stop_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    if os.name == "nt":  # where os.kill ends a process at once
        _thread.interrupt_main()
    else:
        os.kill(os.getpid(), signal.SIGINT)
