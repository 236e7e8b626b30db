"""Data sets in a .zip: every layout is read as if it were unpacked, images are opened in it, and traps are refused."""

import os
import struct
import zipfile
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from PIL import Image

import trilabel as tl
from tests.data.formats import layouts
from tests.support.command_line import Capture, result
from trilabel.data import read, write
from trilabel.data.archive import mounted
from trilabel.data.decode import decode, validate_images
from trilabel.data.duplicates import find_duplicates
from trilabel.data.image_paths import existing
from trilabel.errors import TrilabelError

# One is mapped into memory; the others are archives themselves.
NOT_IN_ONE = {"native", "huggingface_parquet", "huggingface_disk", "webdataset_cls", "webdataset_json"}
LAYOUTS = [module.name for module in iter_modules(layouts.__path__) if module.name not in NOT_IN_ONE]


def zipped(folder: Path, target: Path, inside: str = "") -> Path:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, inside + str(file.relative_to(folder)))
    return target


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        read(path, **options)
    assert "\n" not in str(caught.value) and "trilabel-" not in str(caught.value)
    return str(caught.value).replace(str(path), "ZIP")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_as_if_it_were_unpacked(tmp_path, layout):
    root = tmp_path / "data"
    root.mkdir()
    path: Path = import_module(f"{layouts.__name__}.{layout}").write(root)
    whole = read(path)
    archive = zipped(root, tmp_path / "export.zip", "my export/")
    found = read(archive)
    assert found.labels == whole.labels
    assert {name: rows.tolist() for name, rows in found.splits.items()} == {
        name: rows.tolist() for name, rows in whole.splits.items()
    }
    assert (found.boxes is None) == (whole.boxes is None)
    assert whole.boxes is None or np.array_equal(found.boxes.xyxy, whole.boxes.xyxy)
    assert existing(found.paths).tolist() == existing(whole.paths).tolist()
    assert not any("trilabel-" in text for text in (*found.paths, *found.notes))


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """Three photos with a table, in an archive; two photos are equal."""
    (tmp_path / "data/photos").mkdir(parents=True)
    for number, name in enumerate(("a", "b", "c")):
        Image.new("RGB", (40, 30), (min(number, 1) * 90, 200, 10)).save(tmp_path / f"data/photos/{name}.png")
    (tmp_path / "data/labels.csv").write_text("image,cat\nphotos/a.png,1\nphotos/b.png,0\nphotos/c.png,\n")
    return zipped(tmp_path / "data", tmp_path / "export.zip")


def test_images_are_opened_in_the_archive(export):
    dataset = read(export)
    assert dataset.paths[0] == f"{export}/photos/a.png" and dataset.labels.to_signed().tolist() == [[1], [-1], [0]]
    assert decode(dataset.paths[1], 8)[:, 0, 0].tolist() == [90, 200, 10]
    assert validate_images(list(dataset.paths), shown=False) == []
    assert list(find_duplicates(dataset)["groups"]) == [["photos/b.png", "photos/c.png"]]
    assert "no such image" in validate_images([f"{export}/photos/x.png"], shown=False)[0][1]
    assert read(export, missing="drop").ids == dataset.ids


def test_a_converted_archive_names_its_images(export, tmp_path):
    write(read(export), tmp_path / "labels.trilabel")
    again = read(tmp_path / "labels.trilabel")
    assert existing(again.paths).all() and decode(again.paths[0], 4).shape == (3, 4, 4)


def test_a_changed_archive_is_read_anew(export, tmp_path):
    path = read(export).paths[0]
    assert decode(path, 2)[0, 0, 0] == 0
    Image.new("RGB", (40, 30), (250, 0, 0)).save(tmp_path / "data/photos/a.png")
    zipped(tmp_path / "data", export)
    os.utime(export, (1, 1))
    assert decode(path, 2)[0, 0, 0] == 250


def test_images_beside_an_archive_of_labels(export, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/a.png").touch()
    with zipfile.ZipFile(tmp_path / "labels.zip", "w") as archive:
        archive.write(tmp_path / "data/labels.csv", "labels.csv")
    assert existing(read(tmp_path / "labels.zip").paths).tolist() == [True, False, False]


def test_from_the_command_line(export, capsys: Capture):
    found = result(capsys, "data", "inspect", export, "--duplicates", "--values", "binary")
    assert found["images"] == 3 and found["images_without_file"] == 0


def test_faults_are_named_as_in_the_archive(export, tmp_path):
    (tmp_path / "data/labels.csv").write_text("image,cat\nphotos/a.png,7\n")
    assert refusal(zipped(tmp_path / "data", export)).startswith("ZIP/labels.csv, row 2: value '7' for image")
    assert "no option 'x' here" in refusal(export, x=1)
    assert "no format called 'x'" in refusal(export, format="x")


# ---- traps


def made(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["../up.csv", "a/../../up.csv", "/etc/up.csv", "..\\up.csv", "C:/up.csv"])
def test_no_path_escapes(tmp_path, name):
    told = refusal(made(tmp_path / "x.zip", {"labels.csv": b"image,cat\n1.jpg,1\n", name: b"image,cat\n1.jpg,1\n"}))
    assert told == f"ZIP: its file {name!r} leads out of the archive; do not trust it"
    assert [file.name for file in tmp_path.iterdir()] == ["x.zip"] and not (tmp_path.parent / "up.csv").exists()


def test_bombs(tmp_path, monkeypatch):
    path = made(tmp_path / "x.zip", {"labels.csv": b"image,cat\n" + b"0" * 3_000_000})
    monkeypatch.setattr("trilabel.data.archive._SMALL", 1_000_000)
    assert "bytes unpack to 3,000,010, as in a file that is made to fill disks; if you trust it" in refusal(path)
    monkeypatch.setenv("TRILABEL_MAX_TEXT_BYTES", "2000000")
    assert refusal(path).startswith("ZIP: its labels unpack to 3,000,010 bytes, more than the 2,000,000 allowed")
    monkeypatch.setattr("trilabel.data.archive._MOST_MEMBERS", 3)
    many = made(tmp_path / "y.zip", {f"{number}.jpg": b"" for number in range(4)})
    assert refusal(many) == "ZIP: has 4 files, more than the 3 allowed; unpack it"


def test_a_size_that_lies(tmp_path):
    """More bytes than the archive says are never unpacked."""
    path = made(tmp_path / "x.zip", {"labels.csv": b"image,cat\n1.jpg,1\n" + b"\n" * 2_000_000})
    content = path.read_bytes()
    path.write_bytes(content.replace(struct.pack("<L", 2_000_018), struct.pack("<L", 18)))
    assert "cannot be read as an archive (Bad CRC-32" in refusal(path)


def test_what_is_no_archive(tmp_path):
    path = tmp_path / "x.zip"
    path.write_bytes(b"PK\x03\x04 but no more")
    assert refusal(path) == "ZIP: cannot be read as an archive (File is not a zip file)"
    assert refusal(made(path, {"readme.md": b"x", "__MACOSX/labels.csv": b""})).endswith("neither labels nor images")
    both = refusal(made(path, {"a.csv": b"x", "a.csv/b.csv": b"x"}))
    assert both.startswith("ZIP: cannot be unpacked (")
    path = made(path, {"labels.csv": b"image,cat\n1.jpg,1\n"})
    content = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + at] |= 1
    path.write_bytes(bytes(content))
    assert refusal(path) == "ZIP: its file 'labels.csv' is encrypted; unpack it, and give the folder"


def test_a_file_without_a_name(tmp_path):
    path = made(tmp_path / "x.zip", {"labels.csv": b"image,cat\n1.jpg,1\n", "x": b""})
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 28] = 0  # the length of the name; what follows is a comment
    path.write_bytes(bytes(content))
    assert refusal(path).startswith("ZIP: cannot be read as an archive (")


def test_broken_bytes_of_an_archive(export, tmp_path):
    content, draw = export.read_bytes(), np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(content)
        for place in draw.integers(len(content), size=draw.integers(1, 4)):
            broken[place] = draw.integers(256)
        export.write_bytes(bytes(broken))
        try:
            dataset = read(export)
            validate_images(list(dataset.paths), shown=False)
        except TrilabelError as error:
            assert "\n" not in str(error)


def test_nothing_is_left_behind(export):
    with mounted(export) as inside:
        folder = inside.folder
        assert (folder / "photos/a.png").stat().st_size == 0 and (folder / "labels.csv").stat().st_size
    assert not folder.exists() and tl.data.read(export).labels.known == 2
