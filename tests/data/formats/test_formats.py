"""Every format at once: each is told from the others, survives broken bytes, and can be converted and inspected."""

import random
import re
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from tests.data.formats import layouts
from trilabel.data import Dataset, read, write
from trilabel.data.formats import FORMATS, describe_formats, format_of
from trilabel.data.inspect import inspect
from trilabel.errors import TrilabelError

LAYOUTS = [module.name for module in iter_modules(layouts.__path__)]
BREAKABLE = [name for name in LAYOUTS if name != "folder"]  # where names of folders say everything
OTHER_NAMES = {
    "csv_wide": "csv",
    "csv_long": "csv",
    "csv_tags": "csv",
    "csv_splits": "csv",
    "box_table_openimages": "box-table",
    "box_table_roboflow": "box-table",
    "box_table_vinbigdata": "box-table",
    "box_table_vott": "box-table",
    "openimages": "open-images",
    "nuswide": "nus-wide",
    "nuswide_table": "nus-wide",
    "index_list": "list",
    "label_studio_csv": "label-studio",
    "label_studio_yolo": "yolo",
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


# Files without which a layout is refused, and files that are not read; without another, labels or notes differ.
NEEDED = {
    "cub": r"images\.txt|attributes\.txt|image_attribute_labels\.txt|train_test_split\.txt",
    "cvat": r"annotations\.xml",
    "openmmlab_boxes": r"objects\.json",
    "fiftyone": r"labels\.json",
    "fiftyone_samples": r"samples\.json",
    "huggingface_wide": r"metadata\.csv",
    "label_studio_yolo": r"classes\.txt",
    "nuswide": r"Labels_[a-z]+\.txt|(Train|Test)Imagelist\.txt",
    "visual_genome": r".*_labels_index\.json",
    "voc": r"(car|train)_(train|val|test)\.txt",
    "yolo": r"data\.yaml",
}
NOT_READ = {
    "coco": r"(captions|person_keypoints)_.*",
    "createml": r"b_jpg\.rf\.2\.jpg",  # it has no boxes, so its size is not asked for
    "cub": r"certainties\.txt|bounding_boxes\.txt|classes\.txt|image_class_labels\.txt",
    "huggingface": r"\.gitattributes|README\.md",
    "huggingface_disk": r"(dataset_info|dataset_dict|state)\.json",  # without them, files are found by their names
    "huggingface_parquet": r"\.gitattributes|README\.md",
    "label_studio_yolo": r"notes\.json",
    "nuswide": r"Labels_[a-z]+_(Train|Test)\.txt|Concepts81\.txt",  # the concepts are all there, and in this order
    "openimages": r"class-descriptions-boxable\.csv|classes-trainable\.txt|.*-machine-.*",
    "voc": r"(.*_)?trainval\.txt|(train|val|test)\.txt",
    "webdataset_cls": r"nshards\.txt",
    "webdataset_json": r".*_stats\.json",
    "yolo": r"train\.cache|README\.txt",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_that_are_missing_or_folders(layout, tmp_path):
    path, reader = written(layout, tmp_path), FORMATS[format_named(layout)].read
    whole = reader(path)
    for file in sorted(file for file in tmp_path.rglob("*") if file.is_file() and file.stat().st_size):
        needed = file == path or re.fullmatch(NEEDED.get(layout, ""), file.name)
        not_read = re.fullmatch(NOT_READ.get(layout, ""), file.name)
        content = file.read_bytes()
        file.unlink()
        for is_folder in (False, True):
            if is_folder:
                file.mkdir()
            elif file == path:
                continue  # `data.read` has refused it before the reader is called
            try:
                dataset = reader(path)
            except TrilabelError as error:
                assert "\n" not in str(error) and str(tmp_path) in str(error)
                assert is_folder or not not_read, file
            else:
                assert not needed, file
                assert not_read or dataset.labels != whole.labels or dataset.notes != whole.notes, file
                assert not not_read or dataset.labels == whole.labels, file
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


WRITTEN_TO = {
    "native": "o.trilabel",
    "csv": "o.csv",
    "list": "o.txt",
    "coco": "o.json",
    "label-studio": "o.json",
    "cvat": "o.xml",
}
BY_PATH = ("list", "openmmlab", "yolo", "voc", "cvat")  # ids are the paths of files, or parts of these


@pytest.mark.parametrize("name", [name for name, entry in describe_formats().items() if entry["written"]])
def test_what_is_written_is_read_again(name, tmp_path):
    before = read(written("native", tmp_path))
    if name in ("openmmlab", "yolo"):  # without a file, an image of which nothing is known leaves no trace
        before = before.take(np.array([0, 2]))
    out = tmp_path / WRITTEN_TO.get(name, "out")
    notes = write(before, out, name)
    after = read(out, name)
    assert set(after.classes) == set(before.classes) and (after.ids == before.ids or name in BY_PATH)
    by_stem = {Path(path).stem: row for row, path in enumerate(after.paths)}
    order = [by_stem[Path(path).stem] for path in before.paths]
    columns = [after.classes.index(cls) for cls in before.classes]
    signed = after.labels.to_signed()[np.ix_(order, columns)]
    assert ((signed > 0) == (before.labels.to_signed() > 0)).all()
    if not any("absent" in note for note in notes):
        assert (signed == before.labels.to_signed()).all()


def test_formats_are_described(tmp_path):
    for name, entry in describe_formats().items():
        assert len(entry["summary"]) > 20 and len(entry["rule"]) > 20, name
    with pytest.raises(TrilabelError, match="or give one of native, voc, coco"):
        write(read(written("native", tmp_path)), tmp_path / "out")
    with pytest.raises(TrilabelError, match="no format to write named 'cub'"):
        write(read(written("native", tmp_path)), tmp_path / "out", "cub")
