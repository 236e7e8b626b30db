"""Tables that are made to fill the memory are refused while they are read."""

import gzip

import pytest

from tests.support.peak_memory import run_apart
from tests.support.strange_files import as_somebody_else, closed_file, make_pipe
from trilabel.data import read, tables
from trilabel.data.tables import longest_cell, open_table, read_rows
from trilabel.errors import TrilabelError

MEGABYTE = b"x" * (1 << 20)
BOMBS = {  # (what it unpacks to, the error)
    "cell": ([(b"image,cat\na.jpg,1\nb.jpg,", 1), (MEGABYTE, 1000)], "row 3: a cell of more than 1,048,576"),
    "quoted": ([(b'image,cat\na.jpg,"', 1), (b"a,b\n" * (1 << 18), 1000)], "row 2: a cell of more than 1,048,576"),
    "header": ([(b"image,", 1), (MEGABYTE, 1000)], "row 1: a cell of more than 1,048,576"),
    "row": ([(b"image,cat\na.jpg,1\nb.jpg", 1), (b"," * (1 << 20), 1000)], "row 3: longer than 16,777,216"),
    "rows": (
        [(b"image,cat\n", 1), (b"a.jpg,1\n" * (1 << 17), 1000)],
        "or more, more than the 67,108,864 allowed",
    ),
}


def bomb(path, *parts):
    """A gzip file of (bytes, times) each: a megabyte of equal bytes takes a thousand."""
    path.write_bytes(b"".join(gzip.compress(block) * times for block, times in parts))
    return path


def refused(path, format=None):
    with pytest.raises(TrilabelError) as caught:
        read(path, format)
    return str(caught.value)


def test_small_files_that_unpack_to_a_gigabyte(tmp_path, monkeypatch):
    monkeypatch.setenv("TRILABEL_MAX_TEXT_BYTES", str(64 << 20))
    monkeypatch.setitem(BOMBS, "row", ([(b"image,cat\na.jpg,1\nb.jpg", 1), (b"," * (1 << 20), 40)], BOMBS["row"][1]))
    paths = {name: bomb(tmp_path / f"{name}.csv.gz", *parts) for name, (parts, _) in BOMBS.items()}
    assert all(path.stat().st_size < 2 << 20 for path in paths.values())
    messages, megabytes = run_apart(lambda: {name: refused(path) for name, path in paths.items()})
    for name, path in paths.items():
        message = messages[name]
        assert message.startswith(f"{path}") and BOMBS[name][1] in message and "\n" not in message
    assert megabytes < 400, "of the thousand that each unpacks to"


def test_ordinary_tables_are_far_from_these_limits(tmp_path):
    """A sparse table of 2,000 classes, which hardly any bytes describe, and a long cell."""
    header = ",".join(["image", *(f"class {number}" for number in range(2000))])
    cells = "," * 1999
    rows = "".join(f"{number:08}.jpg,{cells[: number % 1999]}1{cells[number % 1999 :]}\n" for number in range(3000))
    (tmp_path / "sparse.csv.gz").write_bytes(gzip.compress(f"{header}\n{rows}".encode()))
    assert read(tmp_path / "sparse.csv.gz").labels.known == 3000
    (tmp_path / "long.csv").write_text(f"image,note,cat\na.jpg,{'x' * (longest_cell() - 1)},1\n")
    assert read(tmp_path / "long.csv", ignore=["note"]).labels.known == 1
    (tmp_path / "quoted.csv").write_text('image,note,cat\na.jpg,"' + "x,\n" * 300_000 + '",1\n')
    assert read(tmp_path / "quoted.csv", ignore=["note"]).labels.known == 1


def test_a_cell_is_bounded_row_by_row_too(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text(f"a,b\n1,{'x' * (longest_cell() + 1)}\n")
    with pytest.raises(TrilabelError, match="row 2: a cell of more than 1,048,576 letters; correct it, or set"):
        list(read_rows(tmp_path / "table.csv", ","))
    monkeypatch.setenv("TRILABEL_MAX_CELL_LETTERS", "3000000")
    assert len(list(read_rows(tmp_path / "table.csv", ","))) == 2


def test_a_row_of_many_lines_is_bounded(tmp_path, monkeypatch):
    """Cells in quotes may have line ends, so that no line and no cell of an endless row is long."""
    monkeypatch.setattr(tables, "_LONGEST_ROW", 10_000)
    monkeypatch.setenv("TRILABEL_MAX_CELL_LETTERS", "100")
    (tmp_path / "table.csv").write_text("a,b\n" + '"x\ny",' * 2000 + "\n")
    with pytest.raises(TrilabelError, match="longer than 10,000 letters"):
        list(read_rows(tmp_path / "table.csv", ","))


def test_a_quote_inside_a_cell_does_not_make_the_rest_a_cell(tmp_path):
    notes = {10: '19" rack', 80_000: '21" rack'}
    rows = [f"{number:06}.jpg,{number % 2},{notes.get(number, 'a shelf')}" for number in range(90_000)]
    (tmp_path / "table.csv").write_text("\n".join(["image,cat,note", *rows, ""]))
    assert read(tmp_path / "table.csv", ignore=["note"]).labels.known == 90_000


def test_letters_are_counted_not_bytes(tmp_path):
    (tmp_path / "table.csv").write_text(f"image,note,cat\na.jpg,{'鳥' * 500_000},1\n", encoding="utf-8")
    assert read(tmp_path / "table.csv", ignore=["note"]).labels.known == 1


def unpacked(path):
    with open_table(path) as file:
        while file.read(1 << 20):
            pass


def test_what_unpacks_to_more_than_the_free_memory_is_refused_unless_it_is_trusted(tmp_path, monkeypatch):
    path = bomb(tmp_path / "rows.csv.gz", (b"image,cat\n", 1), (b"a.jpg,1\n" * (1 << 17), 80))
    unpacked(path)  # a table may have any ratio: that of a wide one with few labels is 700
    monkeypatch.setattr(tables, "free_host_memory", lambda: 70_000_000)
    with pytest.raises(
        TrilabelError,
        match=r"too many for the free memory, .* 70,000,000 allowed; .* TRILABEL_MAX_TEXT_BYTES",
    ):
        unpacked(path)
    monkeypatch.setenv("TRILABEL_MAX_TEXT_BYTES", "100000000")
    unpacked(path)


def test_what_is_no_file_is_no_table(tmp_path):
    pipe = make_pipe(tmp_path / "labels.csv")
    for format in (None, "csv", "list", "coco", "native", "yolo", "cvat"):
        assert refused(pipe, format) == f"{pipe}: not a regular file (a named pipe); put the file in its place"
    assert refused("/dev/zero") == "/dev/zero: not a regular file (a device); put the file in its place"


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.txt", "a.json", "a.trilabel", "annotations.xml"])
def test_a_table_that_may_not_be_read_is_not_damaged(name):
    with closed_file(b"image,cat\na.jpg,1\n", name) as path, as_somebody_else():
        for format in (None, {"json": "coco", "trilabel": "native", "xml": "cvat"}.get(name.rpartition(".")[2], "csv")):
            assert refused(path, format) == f"{path}: may not be read (permission denied)"
