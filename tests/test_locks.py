"""Locks: one process at a time in a folder, free again however the process ends."""

import signal
import subprocess
import sys

import pytest

from trilabel.locks import try_lock

HOLDS = """
import sys, time
from pathlib import Path
from trilabel.locks import try_lock

with try_lock(Path(sys.argv[1])) as locked:
    print(locked, flush=True)
    time.sleep(600)
"""


def test_one_at_a_time(tmp_path):
    folder = tmp_path / "runs" / "a"
    with try_lock(folder) as first, try_lock(folder) as second, try_lock(tmp_path / "runs" / "b") as other:
        assert (first, second, other) == (True, False, True)
    with pytest.raises(KeyboardInterrupt), try_lock(folder) as again:
        assert again
        raise KeyboardInterrupt
    with try_lock(folder) as again:
        assert again
    assert not folder.exists(), "the lock is beside the folder"


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    folder = tmp_path / "a"
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "True\n"
    with try_lock(folder) as locked:
        assert not locked
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with try_lock(folder) as locked:
        assert locked
