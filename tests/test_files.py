"""Files are replaced whole or not at all."""

import errno
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.stopped import run_script
from trilabel.files import replacing, write_csv, write_text


def test_writes_a_new_file_and_the_folders_above_it(tmp_path):
    target = tmp_path / "a" / "b" / "note.txt"
    write_text(target, "grüße\n")
    assert target.read_text(encoding="utf-8") == "grüße\n"
    assert [each.name for each in target.parent.iterdir()] == ["note.txt"]


def test_replaces_what_was_there(tmp_path):
    target = tmp_path / "note.txt"
    write_text(str(target), "old and long")
    write_text(str(target), "new")
    assert target.read_text() == "new"


def test_an_error_half_way_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half-way"), replacing(target) as temporary:
        temporary.write_text("half of the n")
        raise RuntimeError("half-way")
    assert [each.read_text() for each in tmp_path.iterdir()] == ["old"]


def test_an_error_before_anything_is_written_is_passed_on(tmp_path):
    with pytest.raises(KeyError), replacing(tmp_path / "note.txt"):
        raise KeyError
    assert not list(tmp_path.iterdir())


def test_a_killed_process_leaves_the_old_file(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")
    script = (
        "import os, signal, sys\n"
        "from trilabel.files import replacing\n"
        "with replacing(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(target)], check=False)
    assert killed.returncode == -9
    assert target.read_text() == "old"


def test_the_old_file_stays_until_the_new_one_is_complete(tmp_path):
    target = tmp_path / "note.txt"
    target.write_text("old")
    reader = target.open()
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == target.parent, "a rename is atomic within one folder only"
        assert temporary.suffix == ".txt", "writers choose a format by the suffix"
    assert target.read_text() == "new"
    with reader:
        assert reader.read() == "old", "the file was written over, not replaced"


def test_names_with_several_dots_or_none(tmp_path):
    for name in ("labels.v2.npz", "README", ".hidden", "ünïcode name.txt"):
        write_text(tmp_path / name, name)
    assert sorted(each.read_text() for each in tmp_path.iterdir()) == sorted(each.name for each in tmp_path.iterdir())
    assert len(list(tmp_path.iterdir())) == 4


def test_a_table_quotes_what_needs_it(tmp_path):
    write_csv(tmp_path / "t.csv", ["image", "label"], (row for row in [["a,b.png", 'say "hi"'], ["é.png", ""]]))
    assert (tmp_path / "t.csv").read_bytes().decode() == 'image,label\n"a,b.png","say ""hi"""\né.png,\n'


# ---- what killed writers leave

KILLED = """
import os, signal, sys
from trilabel.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_writer_removes_what_dead_processes_left_and_nothing_else(tmp_path):
    target, day = tmp_path / "note.txt", 24 * 3600
    assert run_script(KILLED, [target]).returncode == -9
    (left,) = tmp_path.iterdir()
    alive = left.name.replace(left.name.split(".")[2].split("-")[0], str(os.getppid()))
    fresh, old = ".note.1-00000000.tmp.txt", ".note.2-00000000.tmp.txt"  # of another machine
    before_machines_were_named = ".note.3.tmp.txt"
    others = [".hidden", "note.tmp", ".note.tmp.txt", alive, fresh]
    for name in (*others, old, before_machines_were_named):
        (tmp_path / name).touch()
    for name in (*others[:3], old, before_machines_were_named):
        os.utime(tmp_path / name, (time.time() - 2 * day,) * 2)
    write_text(target, "whole")
    assert {each.name for each in tmp_path.iterdir()} == {*others, "note.txt"}


def test_a_folder_is_searched_once(tmp_path, monkeypatch):
    write_text(tmp_path / "1.txt", "")
    monkeypatch.setattr(Path, "iterdir", lambda folder: pytest.fail("a million files may be in it"))
    write_text(tmp_path / "2.txt", "")


# ---- on the disk


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be synced there")
def test_the_file_is_synced_by_who_may_write_it_then_its_folder(tmp_path, monkeypatch):
    import fcntl

    synced, fsync = [], os.fsync

    def note(descriptor):
        about = os.fstat(descriptor)
        writable = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
        synced.append((stat.S_ISDIR(about.st_mode), writable, (tmp_path / "note.txt").exists()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    write_text(tmp_path / "note.txt", "new")
    assert synced == [(False, True, False), (True, False, True)]


def test_folders_are_made_only_where_that_is_wanted(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "gone" / "a.txt", make_folder=False) as temporary:
        temporary.write_text("x")
    assert not list(tmp_path.iterdir())


def test_what_the_system_refuses_names_the_file_not_its_temporary_name(tmp_path):
    for refused in (OSError(errno.ENOSPC, "full"), OSError(errno.EFBIG, "large", str(tmp_path / "other"))):
        with pytest.raises(OSError, match=r"full|large") as caught, replacing(tmp_path / "a.txt"):
            raise refused
        assert caught.value.filename == str(tmp_path / ("other" if refused.errno == errno.EFBIG else "a.txt"))
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "a.txt"):
        pass  # nothing was written
    assert caught.value.filename == str(tmp_path / "a.txt")
