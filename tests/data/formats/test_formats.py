"""Every format at once: each is told from the others, survives broken bytes, and can be converted and inspected."""

import re
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest

from tests.data.formats import layouts
from trilabel.data import read, write
from trilabel.data.formats import FORMATS, describe_formats, format_of
from trilabel.errors import TrilabelError
from trilabel.testing import FORMAT_CHECKS, FormatCase
from trilabel.testing.formats import readings_without, survives_broken_bytes, survives_missing_files

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


def written(name: str, root: Path) -> Path:
    path: Path = import_module(f"tests.data.formats.layouts.{name}").write(root)
    return path


def format_named(layout: str) -> str:
    known = [OTHER_NAMES.get(layout, ""), layout.replace("_", "-"), layout.partition("_")[0]]
    return next(name for name in known if name in FORMATS)


def case_of(layout: str) -> FormatCase:
    name = format_named(layout)
    return FormatCase(FORMATS[name], partial(written, layout), WRITTEN_AS.get(name, "out"))


WRITTEN_AS = {
    "native": "out.trilabel",
    "csv": "out.csv",
    "list": "out.txt",
    "coco": "out.json",
    "label-studio": "out.json",
    "cvat": "out.xml",
}
OF_EVERY = [check for check in FORMAT_CHECKS if check not in (survives_broken_bytes, survives_missing_files)]


@pytest.mark.parametrize("check", OF_EVERY, ids=lambda check: check.__name__)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_holds_for_every_format(layout, check, tmp_path):
    check(case_of(layout), tmp_path)


@pytest.mark.parametrize("layout", BREAKABLE)
def test_broken_bytes_are_refused_in_one_line_or_read(layout, tmp_path):
    assert survives_broken_bytes(case_of(layout), tmp_path) > 0


@pytest.mark.slow
@pytest.mark.parametrize("layout", BREAKABLE)
def test_many_broken_bytes(layout, tmp_path):
    assert survives_broken_bytes(case_of(layout), tmp_path, 5000, 1) > 0


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
    (tmp_path / "whole").mkdir()
    (tmp_path / "parts").mkdir()
    path = written(layout, tmp_path / "whole")
    whole = FORMATS[format_named(layout)].read(path)
    for file, is_folder, dataset, _ in readings_without(case_of(layout), tmp_path / "parts"):
        is_path = file.relative_to(tmp_path / "parts") == path.relative_to(tmp_path / "whole")
        needed = is_path or re.fullmatch(NEEDED.get(layout, ""), file.name)
        not_read = re.fullmatch(NOT_READ.get(layout, ""), file.name)
        if dataset is None:
            assert is_folder or not not_read, file
        else:
            assert not needed, file
            assert not_read or dataset.labels != whole.labels or dataset.notes != whole.notes, file
            assert not not_read or dataset.labels == whole.labels, file


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_told_from_the_others(layout, tmp_path):
    assert format_of(written(layout, tmp_path), None) == format_named(layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_read_with_notes(layout, tmp_path):
    assert read(written(layout, tmp_path)).notes


BY_PATH = ("list", "openmmlab", "yolo", "voc", "cvat")  # ids are the paths of files, or parts of these


@pytest.mark.parametrize("name", [name for name, entry in describe_formats().items() if entry["written"]])
def test_what_is_written_is_read_again(name, tmp_path):
    before = read(written("native", tmp_path))
    if name in ("openmmlab", "yolo"):  # without a file, an image of which nothing is known leaves no trace
        before = before.take(np.array([0, 2]))
    out = tmp_path / WRITTEN_AS.get(name, "out")
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
