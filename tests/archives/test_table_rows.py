"""Images in the cells of Parquet and Arrow files."""

import os
from pathlib import Path

import pytest

from trilabel.archives import has_row, member_size, names_in, open_member, table_rows
from trilabel.data.decode import check_image
from trilabel.errors import TrilabelError
from trilabel.input_files import open_input

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CELLS = [b"one", b"two" * 1000, None, b"", b"five"]
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def table(cells=CELLS, column="image"):
    return pa.table({"n": range(len(cells)), column: pa.array([{"bytes": cell} for cell in cells], STRUCT)})


@pytest.fixture(params=["parquet", "arrow", "file.arrow"])
def file(tmp_path, request) -> Path:
    """The cells in groups of two."""
    path = tmp_path / f"x.{request.param}"
    if request.param == "parquet":
        pq.write_table(table(), path, row_group_size=2)
        return path
    kind = pa.ipc.new_file if "file" in request.param else pa.ipc.new_stream
    with pa.OSFile(str(path), "wb") as out, kind(out, table().schema) as writer:
        writer.write_table(table(), max_chunksize=2)
    return path


def test_every_cell_is_found(file):
    for row, cell in enumerate(CELLS):
        path = f"{file}/image/{row // 2}/{row % 2}.jpg"
        if cell is None:
            with pytest.raises(FileNotFoundError):
                open_input(path)
            continue
        assert member_size(path) == len(cell)
        with open_input(path) as opened:
            assert opened.read() == cell
    assert names_in(f"{file}/image/0") == {"0.jpg", "1.jpg"} and names_in(f"{file}/image/2") == {"0.jpg"}
    assert names_in(f"{file}/image/3") == names_in(file) == set()


def test_places_that_are_not_there(file):
    for name in ("image/2/1.jpg", "image/3/0.jpg", "other/0/0.jpg", "image/0/x.jpg", "image/0.jpg", "image/-1/0.jpg"):
        with pytest.raises(FileNotFoundError):
            open_member(f"{file}/{name}")


def test_a_column_with_a_slash_and_plain_bytes(tmp_path):
    pq.write_table(pa.table({"a/b c": [b"one", b"two"]}), tmp_path / "x.parquet")
    assert open_member(f"{tmp_path}/x.parquet/{table_rows.address('a/b c', 0)}/1.jpg").read() == b"two"


def test_a_file_that_was_replaced(file):
    assert open_member(f"{file}/image/0/0.jpg").read() == b"one"
    rows = table([b"new"])
    if file.suffix == ".parquet":
        pq.write_table(rows, file)
    else:
        with pa.OSFile(f"{file}.new", "wb") as out, pa.ipc.new_stream(out, rows.schema) as writer:
            writer.write_table(rows)
        Path(f"{file}.new").replace(file)
    os.utime(file, (1, 1))
    assert open_member(f"{file}/image/0/0.jpg").read() == b"new"


def test_few_row_groups_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(table_rows, "KEPT_BYTES", 250_000)
    pq.write_table(table([bytes(100_000)] * 6), tmp_path / "x.parquet", row_group_size=1)
    for group in range(6):
        open_member(f"{tmp_path}/x.parquet/image/{group}/0.jpg")
    assert sum(cells.nbytes for cells in table_rows._kept.values()) <= 250_000
    assert table_rows.group_bytes(f"{tmp_path}/x.parquet", "image/3") > 0


def test_a_row_group_that_would_fill_the_memory(tmp_path, monkeypatch):
    """A few bytes in the file: the same image a thousand times."""
    pq.write_table(table([bytes(100_000)] * 1000), tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").stat().st_size < 100_000
    monkeypatch.setattr(table_rows, "_MOST_BYTES", 20_000_000)
    with pytest.raises(TrilabelError, match="row group 0 unpacks to more than"):
        open_member(f"{tmp_path}/x.parquet/image/0/0.jpg")


def test_what_is_checked_before_training(file):
    """Row groups are not unpacked to see whether each image is whole."""
    is_parquet = file.suffix == ".parquet"
    assert has_row(f"{file}/image/0/1.jpg") is (True if is_parquet else None)
    assert (check_image(f"{file}/image/1/1.jpg") is None) == is_parquet  # an empty cell
    assert "no such image" in (check_image(f"{file}/image/7/0.jpg") or "")
    assert has_row("x.jpg") is None


def test_offsets_that_lead_out_of_an_arrow_file(tmp_path):
    file = tmp_path / "x.arrow"
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, table().schema) as writer:
        writer.write_table(table())
    content = file.read_bytes()
    end = (3 + 3000 + 4).to_bytes(4, "little")  # where the last image ends
    assert end in content
    file.write_bytes(content.replace(end, (1 << 30).to_bytes(4, "little")))
    with pytest.raises(TrilabelError, match="cannot be read as a table"):
        open_member(f"{file}/image/0/4.jpg")
