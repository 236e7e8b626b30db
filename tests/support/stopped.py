"""Processes of their own, and such that stop themselves at an exact moment, so that no test has to guess when it comes.

`run_script` starts a new interpreter. The others are forks of a process that has everything imported (the one of
`reliability.processes`): importing torch takes seconds.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from reliability.faults import StopAt, watch
from reliability.processes import fork_context

from tests.support import SECONDS_UNTIL_HUNG

COMMAND_LINE = "import runpy; runpy.run_module('trilabel', run_name='__main__')"
Done = subprocess.CompletedProcess[str]


def run_script(script: str, arguments: Sequence[str | Path]) -> Done:
    """Runs a Python script to its end, whatever that is, in a new interpreter."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_UNTIL_HUNG)


class Forked:
    """A Python script that runs in a fork; what it prints goes to files in a folder."""

    def __init__(
        self,
        script: str,
        arguments: Sequence[str | Path],
        folder: str | Path,
        stop: StopAt | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._files = [Path(folder, name) for name in ("stdout", "stderr")]
        place = (os.environ | (environment or {}), Path.cwd(), self._files)
        self._process = fork_context().Process(target=_begin, args=(script, [*map(str, arguments)], stop, *place))
        self._process.start()
        self.pid: int = self._process.pid

    def wait(self) -> Done:
        """How it ended: with an exit code that is negative if a signal ended it."""
        self._process.join(SECONDS_UNTIL_HUNG)
        assert self._process.exitcode is not None, "it hangs"
        printed = (file.read_text() if file.exists() else "" for file in self._files)
        return Done((), self._process.exitcode, *printed)

    def kill(self) -> None:
        """Ends it, wherever it is."""
        self._process.kill()
        self._process.join()


def forked_script(script: str, arguments: Sequence[str | Path], stop: StopAt | None = None) -> Done:
    """Runs a Python script to its end, whatever that is, in a fork."""
    with TemporaryDirectory() as folder:
        forked = Forked(script, arguments, folder, stop)
        try:
            return forked.wait()
        finally:
            forked.kill()


def stopped_script(
    script: str,
    arguments: Sequence[str | Path],
    number: signal.Signals,
    file: str,
    times: int = 1,
    before: bool = False,
) -> Done:
    """Runs a Python script that sends itself a signal when it puts a file of this name in place.

    times: it does so at the n-th time.
    before: after the file was written under its temporary name and before it takes its own.
    """
    return forked_script(script, arguments, StopAt(file, times, before, int(number)))


def stopped_command(
    arguments: Sequence[str | Path], number: signal.Signals, file: str, times: int = 1, before: bool = False
) -> Done:
    """The same for the command `trilabel`."""
    return stopped_script(COMMAND_LINE, arguments, number, file, times, before)


@contextmanager
def paused_script(script: str, arguments: Sequence[str | Path], file: str, before: bool = False) -> Iterator[Forked]:
    """A Python script that pauses itself when it puts a file of this name in place; inside, it stands still.

    Continue it with SIGCONT; whatever is left of it at the end is killed.
    """
    with TemporaryDirectory() as folder:
        forked = Forked(script, arguments, folder, StopAt(file, 1, before, int(signal.SIGSTOP)))
        try:
            while psutil.Process(forked.pid).status() != psutil.STATUS_STOPPED:
                time.sleep(0.01)
            yield forked
        finally:
            forked.kill()


def _begin(
    script: str,
    arguments: list[str],
    stop: StopAt | None,
    environment: dict[str, str],
    folder: Path,
    files: Sequence[Path],
) -> None:
    """The whole life of a fork."""
    for number, file in enumerate(files, start=1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["-c", *arguments]
    multiprocessing.set_start_method(None, force=True)  # it starts processes as one that a person started does
    if stop is not None:
        watch(stop)
    exec(script, {"__name__": "__main__"})
