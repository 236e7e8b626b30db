"""Locks: one process at a time in a folder, free again however the process ends."""

import os
import re
import signal
import subprocess
import sys

import pytest

from trilabel.locks import lock_file, owner, try_lock

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
    assert re.fullmatch(rf"process {process.pid} on \S+, since \d{{4}}-\d\d-\d\d \d\d:\d\d", owner(folder, "compare"))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with try_lock(folder) as locked:
        assert locked
    assert owner(folder, "compare") == ""


def test_what_left_its_name_and_died_is_not_named(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "True\n"
    process.kill()
    process.communicate()
    assert lock_file(tmp_path / "a", "compare").with_suffix(".owner").is_file()
    assert owner(tmp_path / "a", "compare") == ""
    for text in ("", "[]", "{}", '{"process": "x", "host": 1, "since": 2}', "[" * 9000):
        lock_file(tmp_path / "a", "compare").with_suffix(".owner").write_text(text)
        assert owner(tmp_path / "a", "compare") in ("", "process x on 1, since 2")
    if hasattr(os, "mkfifo"):
        lock_file(tmp_path / "a", "compare").with_suffix(".owner").unlink()
        os.mkfifo(lock_file(tmp_path / "a", "compare").with_suffix(".owner"))
        assert owner(tmp_path / "a", "compare") == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_children_that_outlive_their_parent_do_not_hold_its_lock(tmp_path):
    """As processes that decode images, which notice only after seconds that the run was killed."""
    script = (
        "import os, signal, sys, time\n"
        "from pathlib import Path\n"
        "from trilabel.locks import try_lock\n"
        "with try_lock(Path(sys.argv[1])):\n"
        "    heard, said = os.pipe()\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        os.write(said, b'.')  # that it has begun, and let go of the lock\n"
        "        time.sleep(600)\n"
        "    os.read(heard, 1)\n"
        "    print(child, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, str(tmp_path / "a")], stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    try:
        process.wait()
        with try_lock(tmp_path / "a") as locked:
            assert locked
    finally:
        os.kill(child, signal.SIGKILL)
        process.communicate()
