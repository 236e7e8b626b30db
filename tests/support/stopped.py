"""Processes that stop themselves by a signal at an exact moment, so that no test has to guess when that comes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reliability.processes import ROOT

from tests.support import SECONDS_UNTIL_HUNG

_PRELUDE = f"import sys; sys.path.insert(0, {str(ROOT)!r}); " + (
    "from reliability.faults import StopAt, watch; watch(StopAt({file!r}, {times}, {before}, {number}))\n"
)
_COMMAND_LINE = "import runpy; runpy.run_module('trilabel', run_name='__main__')"


def stopped_script(
    script: str,
    arguments: Sequence[str | Path],
    number: signal.Signals,
    file: str,
    times: int = 1,
    before: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Runs a Python script that sends itself a signal when it puts a file of this name in place.

    times: it does so at the n-th time.
    before: after the file was written under its temporary name and before it takes its own.
    """
    prelude = _PRELUDE.format(times=times, file=file, before=before, number=int(number))
    return run_script(prelude + script, arguments)


def stopped_command(
    arguments: Sequence[str | Path], number: signal.Signals, file: str, times: int = 1, before: bool = False
) -> subprocess.CompletedProcess[str]:
    """The same for the command `trilabel`."""
    return stopped_script(_COMMAND_LINE, arguments, number, file, times, before)


def run_script(script: str, arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Runs a Python script to its end, whatever that is."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_UNTIL_HUNG)


@contextmanager
def paused_script(
    script: str, arguments: Sequence[str | Path], file: str, before: bool = False
) -> Iterator[subprocess.Popen[str]]:
    """A Python script that pauses itself when it puts a file of this name in place; inside, it stands still.

    Continue it with SIGCONT; whatever is left of it at the end is killed.
    """
    prelude = _PRELUDE.format(times=1, file=file, before=before, number=int(signal.SIGSTOP))
    command = [sys.executable, "-c", prelude + script, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status), process.communicate()[1]
            yield process
        finally:
            process.kill()
