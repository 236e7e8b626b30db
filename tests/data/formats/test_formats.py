"""Every format at once: each is told from the others, survives broken bytes, and can be converted and inspected."""

import random
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from tests.data.formats import layouts
from trilabel.data import Dataset, read, write
from trilabel.data.formats import FORMATS, describe_formats, format_of, options_from_text
from trilabel.data.inspect import inspect
from trilabel.errors import TrilabelError

LAYOUTS = [module.name for module in iter_modules(layouts.__path__)]
BREAKABLE = [name for name in LAYOUTS if name != "folder"]  # where names of folders say everything
OTHER_NAMES = {
    "csv_wide": "csv",
    "csv_long": "csv",
    "csv_tags": "csv",
    "openimages": "open-images",
    "nuswide": "nus-wide",
    "nuswide_table": "nus-wide",
    "index_list": "list",
}
JUNK = (b"\xff", b"\0", b'"', b",", b"\n", b"\r\n", b"[", b"}", b"<", b"-1", b"1e999", b"NaN", b"9" * 23,
        b"\xed\xa0\x80", b"null", b"true", b"\\ud800", b"../", b" ", "é鳥".encode())  # fmt: skip


def written(name: str, root: Path) -> Path:
    path: Path = import_module(f"tests.data.formats.layouts.{name}").write(root)
    return path


def format_named(layout: str) -> str:
    known = [OTHER_NAMES.get(layout, ""), layout.replace("_", "-"), layout.partition("_")[0]]
    return next(name for name in known if name in FORMATS)


def broken(content: bytes, draw: random.Random) -> bytes:
    """The content with something wrong with it."""
    place = draw.randrange(len(content) + 1)
    end = min(len(content), place + draw.choice((1, 1, 2, 7, 40)))
    kind = draw.randrange(6)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + content[end:]
    if kind == 2:
        return content[:end] + content[place:]
    if kind == 3:
        return content[:place] + draw.choice(JUNK) + content[place:]
    if kind == 4:
        return content[:place] + draw.choice(JUNK) + content[end:]
    return content[:place] + bytes([draw.randrange(256)]) + content[place + 1 :]


def check_broken_bytes(layout: str, root: Path, rounds: int, seed: int) -> int:
    """Breaks files of a layout one at a time; how many of the readings were refused."""
    path = written(layout, root)
    reader = FORMATS[format_named(layout)].read
    files = [file for file in sorted(root.rglob("*")) if file.is_file() and file.stat().st_size]
    draw, refused = random.Random(f"{layout} {seed}"), 0
    for _ in range(rounds):
        file = draw.choice(files)
        content = file.read_bytes()
        file.write_bytes(broken(content, draw))
        try:
            dataset = reader(path)
            assert isinstance(dataset, Dataset)
            dataset.labels.csr.check_format(full_check=True)
            inspect(dataset)
        except TrilabelError as error:
            assert "\n" not in str(error) and str(root) in str(error)
            refused += 1
        file.write_bytes(content)
    return refused


@pytest.mark.parametrize("layout", BREAKABLE)
def test_broken_bytes_are_refused_in_one_line_or_read(layout, tmp_path):
    assert check_broken_bytes(layout, tmp_path, 120, 0) > 0


@pytest.mark.slow
@pytest.mark.parametrize("layout", BREAKABLE)
def test_many_broken_bytes(layout, tmp_path):
    assert check_broken_bytes(layout, tmp_path, 5000, 1) > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_that_are_missing_or_folders(layout, tmp_path):
    path = written(layout, tmp_path)
    whole = FORMATS[format_named(layout)].read(path)
    for file in sorted(file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size):
        content = file.read_bytes()
        file.unlink()
        for _ in range(2):
            if path.exists():
                try:
                    part = FORMATS[format_named(layout)].read(path)
                    assert len(part) <= len(whole) and part.labels.known <= whole.labels.known, file
                except TrilabelError as error:
                    assert "\n" not in str(error) and str(tmp_path) in str(error)
            file.mkdir(exist_ok=True)
        file.rmdir()
        file.write_bytes(content)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_told_from_the_others(layout, tmp_path):
    assert format_of(written(layout, tmp_path), None) == format_named(layout)


def test_detecting_never_fails(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("a.json", "b.csv", "c.xml", "d.txt", "e.trilabel", "f", "data.yaml", "labels.json", "annotations.xml"):
        (tmp_path / name).write_bytes(b"\xff\0{[<")
    for path in tmp_path.iterdir():
        for reader in FORMATS.values():
            assert reader.detect(path) in (True, False)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_converts_and_is_inspected(layout, tmp_path):
    (tmp_path / "data").mkdir()
    before = read(written(layout, tmp_path / "data"))
    assert before.notes
    for name in ("out.trilabel", "out.csv"):
        write(before, tmp_path / name)
        after = read(tmp_path / name)
        assert after.labels == before.labels
        assert list(map(Path.absolute, map(Path, after.paths))) == list(map(Path.absolute, map(Path, before.paths)))
        some = {name: rows.tolist() for name, rows in before.splits.items() if len(rows)}
        assert {name: rows.tolist() for name, rows in after.splits.items() if len(rows)} == some
    found = inspect(before)
    assert found["images"] == len(before) and found["known"] == before.labels.known


@pytest.mark.parametrize("name", [name for name, entry in describe_formats().items() if entry["written"]])
def test_what_is_written_is_read_again(name, tmp_path):
    before = read(written("native", tmp_path))
    out = tmp_path / {
        "native": "o.trilabel",
        "csv": "o.csv",
        "list": "o.txt",
        "coco": "o.json",
        "label-studio": "o.json",
    }.get(name, "out")
    notes = write(before, out, name)
    after = read(out, name)
    assert after.classes == before.classes and (after.ids == before.ids or name == "list")  # its ids are paths
    positives = before.labels.to_signed() > 0
    assert ((after.labels.to_signed() > 0) == positives).all()
    if not any("absent" in note for note in notes):
        assert (after.labels.to_signed() == before.labels.to_signed()).all()


def test_formats_are_described(tmp_path):
    for name, entry in describe_formats().items():
        assert len(entry["summary"]) > 20 and len(entry["rule"]) > 20, name
    with pytest.raises(TrilabelError, match="or name one of native, coco"):
        write(read(written("native", tmp_path)), tmp_path / "out")
    with pytest.raises(TrilabelError, match="no format to write named 'voc'"):
        write(read(written("native", tmp_path)), tmp_path / "out", "voc")


def test_options_given_as_text(tmp_path):
    reader = FORMATS["open-images"].read
    texts = {"machine": "0.5", "classes": "trainable"}
    assert options_from_text(tmp_path, reader, texts) == {"machine": 0.5, "classes": "trainable"}
    assert options_from_text(tmp_path, reader, {"machine": "none"}) == {"machine": None}
    assert options_from_text(tmp_path, FORMATS["csv"].read, {"ignore": "a,b"}) == {"ignore": ["a", "b"]}
    assert options_from_text(tmp_path, FORMATS["voc"].read, {"boxes": "false"}) == {"boxes": False}
    for texts, message in (
        ({"machine": "much"}, "finite number"),
        ({"classes": "x"}, "trainable"),
        ({"x": "1"}, "no option 'x'"),
    ):
        with pytest.raises(TrilabelError, match=message):
            options_from_text(tmp_path, reader, texts)
