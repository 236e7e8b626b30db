"""Files are replaced whole or not at all."""

import subprocess
import sys

import pytest

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
