"""trilabel's own file: what was written comes back, mapped into memory; damage is noticed; killing does no harm."""

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from tests.data.formats.layouts import native as layout
from tests.support.stopped import stopped_script
from trilabel.data import Dataset, read
from trilabel.data.formats import native
from trilabel.data.image_paths import RootedPaths
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.names import Names


def same(one: Dataset, two: Dataset) -> bool:
    splits = {name: rows.tolist() for name, rows in one.splits.items()}
    return (
        one.labels == two.labels
        and list(one.paths) == list(two.paths)
        and splits == {name: rows.tolist() for name, rows in two.splits.items()}
        and one.notes == two.notes
    )


def refusal(path: Path, **options) -> str:
    with pytest.raises(TrilabelError) as caught:
        native.read(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(path), "FILE")


def test_comes_back_as_it_was(tmp_path):
    path, before = layout.write(tmp_path), layout.dataset(tmp_path)
    for after in (read(path), native.read(path, verify=True)):
        assert same(after, before)
        assert np.array_equal(after.boxes.xyxy, before.boxes.xyxy) and after.boxes.cls.tolist() == [0, 2]
    assert native.detect(path) and not native.detect(tmp_path)


@st.composite
def some_labels(draw):
    images, classes = draw(st.integers(0, 6)), draw(st.integers(0, 5))
    signed = draw(st.lists(st.lists(st.sampled_from([-1, 0, 1]), min_size=classes, max_size=classes),
                           min_size=images, max_size=images))  # fmt: skip
    names = st.text(st.characters(codec="utf-8"), max_size=5)
    ids = draw(st.lists(names, min_size=images, max_size=images, unique=True))
    return Labels.from_signed(np.array(signed, np.int8).reshape(images, classes), None, ids)


@settings(max_examples=60)
@given(some_labels())
def test_any_labels(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("native") / "any.trilabel"
    dataset = Dataset(labels.ids, RootedPaths("/photos", labels.ids), labels, {"odd name": np.arange(len(labels))})
    native.write(dataset, path)
    assert same(native.read(path), dataset)


def test_nothing_is_read_before_it_is_used(tmp_path):
    after = native.read(layout.write(tmp_path))
    for array in (after.labels.csr.indices, after.labels.csr.data, after.labels.ids.buffer, after.splits["train"]):
        assert not array.flags.owndata and not array.flags.writeable


def test_other_programs_can_look_inside(tmp_path):
    arrays = load_file(layout.write(tmp_path))
    assert arrays["values"].tolist() == [1, -1, -1, 1, 1, 1] and arrays["row_ends"].tolist() == [0, 2, 2, 5, 6]


def test_images_are_found_after_the_folder_moved(tmp_path):
    (tmp_path / "old/photos").mkdir(parents=True)
    layout.write(tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    assert read(tmp_path / "new/labels.trilabel").paths[2] == str(tmp_path / "new/photos/drei.jpg")
    (tmp_path / "elsewhere").mkdir()
    moved = read(tmp_path / "new/labels.trilabel", images=tmp_path / "elsewhere")
    assert moved.paths[2] == str(tmp_path / "elsewhere/drei.jpg")
    with pytest.raises(TrilabelError, match="nowhere: no such folder of images"):
        read(tmp_path / "new/labels.trilabel", images=tmp_path / "nowhere")


def test_ids_that_are_paths_are_stored_once(tmp_path):
    labels = Labels.from_signed([[1]], ["cat"], ["a.jpg"])
    native.write(Dataset(labels.ids, RootedPaths(tmp_path, labels.ids), labels), tmp_path / "a.trilabel")
    assert "paths" not in load_file(tmp_path / "a.trilabel")
    native.write(Dataset(labels.ids, [str(tmp_path / "sub/b.jpg")], labels), tmp_path / "a.trilabel")
    assert list(read(tmp_path / "a.trilabel").paths) == [str(tmp_path / "sub/b.jpg")]


def test_every_damaged_byte_is_noticed(tmp_path):
    path = layout.write(tmp_path)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :])
        assert refusal(path).startswith("FILE: ")


def test_damage_is_told(tmp_path):
    path = layout.write(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[:-3])
    size = len(content)
    assert refusal(path) == f"FILE: has {size - 3:,} of {size:,} bytes: cut short or extended; write it again"
    path.write_bytes(content[:-1] + b"\0")
    assert refusal(path) == "FILE: damaged: the bytes of 'paths' are not what was written; write it again"
    path.write_bytes(content.replace(b'"trilabel": "1"', b'"trilabel": "7"'))
    assert refusal(path) == "FILE: has format version 7, but this trilabel reads 1; upgrade it"
    path.write_bytes(content.replace(b'\\"images\\": 4', b'\\"images\\": 5'))
    assert refusal(path) == "FILE: damaged: the header is not what was written; write it again"
    path.write_bytes(content.replace(b'\\"root\\"', b'\\"\\ud800\\"'))
    assert refusal(path).startswith("FILE: ")
    path.write_bytes(content + b"more")
    assert refusal(path) == f"FILE: has {size + 4:,} of {size:,} bytes: cut short or extended; write it again"
    for junk in (b"PK", b"\xff" * 100, (5).to_bytes(8, "little") + b"[[[[[", content[:100]):
        path.write_bytes(junk)
        assert refusal(path) == "FILE: not a trilabel file, or cut short; write it again"
    path.write_bytes(b"")
    assert refusal(path) == "FILE: empty; write it again"


def test_large_files_are_checked_on_request(tmp_path, monkeypatch):
    path = layout.write(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
    monkeypatch.setattr(native, "_ALWAYS_CHECKED", 0)
    assert len(native.read(path)) == 4
    assert "damaged" in refusal(path, verify=True)
    ends = load_file(layout.write(tmp_path))["row_ends"].tobytes()
    path.write_bytes(path.read_bytes().replace(ends, bytes(len(ends))))
    assert refusal(path) == "FILE: damaged: the bytes of 'row_ends' are not what was written; write it again"


def test_parts_of_other_data_sets(tmp_path):
    """Labels with unsorted columns, and names that are a part of a longer buffer."""
    whole = layout.dataset(tmp_path).labels
    csr = whole.csr.copy()
    csr.indices[:2], csr.data[:2] = csr.indices[:2][::-1].copy(), csr.data[:2][::-1].copy()
    csr.has_sorted_indices = csr.has_canonical_format = False
    ids = Names.from_buffer(Names(["none", *whole.ids]).buffer, Names(["none", *whole.ids]).offsets[1:])
    labels = Labels(csr, whole.classes, ids)
    native.write(Dataset(ids, RootedPaths(tmp_path, ids), labels), tmp_path / "part.trilabel")
    assert read(tmp_path / "part.trilabel").labels == whole
    assert read(tmp_path / "part.trilabel").labels.csr.indices[:2].tolist() == [0, 1]


def test_a_link_to_the_file(tmp_path):
    (tmp_path / "real/photos").mkdir(parents=True)
    layout.write(tmp_path / "real")
    (tmp_path / "link.trilabel").symlink_to(tmp_path / "real/labels.trilabel")
    assert read(tmp_path / "link.trilabel").paths[0] == str(tmp_path / "real/photos/1.jpg")


def test_pictures_without_files_are_refused(tmp_path, small_scenes):
    with pytest.raises(TrilabelError, match=r"x.trilabel: these images were drawn in memory"):
        native.write(small_scenes, tmp_path / "x.trilabel")
    assert not list(tmp_path.iterdir())


KILLED = """
import sys
from pathlib import Path
import numpy as np
from trilabel.data import Dataset
from trilabel.data.formats import native
from trilabel.data.image_paths import RootedPaths
from trilabel.labels import Labels
folder = Path(sys.argv[1])
labels = Labels.from_signed(np.ones((50, 5), np.int8))
dataset = Dataset(labels.ids, RootedPaths(folder, labels.ids), labels)
native.write(dataset, folder / "labels.trilabel")
"""


def test_a_killed_writer_leaves_the_old_file_or_the_new_one(tmp_path):
    for before, shape in ((True, (4, 3)), (False, (50, 5))):
        layout.write(tmp_path)
        done = stopped_script(KILLED, [tmp_path], signal.SIGKILL, "labels.trilabel", before=before)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert read(tmp_path / "labels.trilabel").labels.shape == shape


def test_a_failed_write_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "_header", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        layout.write(tmp_path)
    assert not list(tmp_path.iterdir())


def test_header_is_plain_json(tmp_path):
    content = layout.write(tmp_path).read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert (8 + length) % 64 == 0
    about = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["about"])
    assert about["root"] == "photos" and about["notes"] == ["empty cells are unknown"]


# ---- files with right checksums that were never written by trilabel


def forge(path, arrays=None, about=None, entries=None):
    """Writes the example with some arrays, some of its description or some entries of the header replaced."""
    whole, description = native._contents(layout.dataset(path.parent), path)
    whole |= arrays or {}
    whole = dict(sorted(whole.items(), key=lambda pair: -pair[1].itemsize))
    description["checksums"] = {
        name: native._checksum(array, lambda count=1, words="": None) for name, array in whole.items()
    }
    description |= about or {}
    content = native._header(whole, description)
    if entries is not None:
        header = json.loads(content[8:])
        entries(header)
        header["__metadata__"]["checksum"] = native._text_checksum(header["__metadata__"]["about"], header)
        text = json.dumps(header).encode()
        content = len(text).to_bytes(8, "little") + text
    path.write_bytes(content + b"".join(array.tobytes() for array in whole.values()))
    return path


def test_the_forger_can_write_a_good_file(tmp_path):
    assert same(native.read(forge(tmp_path / "a.trilabel")), layout.dataset(tmp_path))
    assert same(native.read(forge(tmp_path / "a.trilabel", entries=lambda header: None)), layout.dataset(tmp_path))


@pytest.mark.parametrize("always_checked", [0, 1 << 20])
@pytest.mark.parametrize(
    "forged",
    [
        {"arrays": {"columns": np.array([0, 1, 0, 1, 3, 0], np.int32)}},
        {"arrays": {"columns": np.array([0, -1, 0, 1, 2, 0], np.int32)}},
        {"arrays": {"columns": np.array([0, 2**31 - 1, 0, 1, 2, 0], np.int32)}},
        {"arrays": {"columns": np.zeros(6, np.float32)}},
        {"arrays": {"row_ends": np.array([0, 9, 2, 5, 6], np.int32)}},
        {"arrays": {"row_ends": np.array([-4, 2, 2, 5, 6], np.int32)}},
        {"arrays": {"row_ends": np.array([0, 2, 2, 5, 600], np.int32)}},
        {"arrays": {"row_ends": np.array([0, 2, 2, 5], np.int32)}},
        {"arrays": {"values": np.array([1, -1], np.int8)}},
        {"arrays": {"ids ends": np.array([0, 1, 2, 2**60, 7])}},
        {"arrays": {"ids ends": np.array([0, 1, 2])}},
        {"arrays": {"classes ends": np.array([0, 12, 5, 18])}},
        {"arrays": {"paths ends": np.array([0, 5, 10])}},
        {"arrays": {"split 0": np.array([0, 4])}},
        {"arrays": {"split 0": np.array([-1, 3])}},
        {"arrays": {"box image": np.array([0, 10**12])}},
        {"arrays": {"box cls": np.array([0, 3])}},
        {"arrays": {"box xyxy": np.zeros((3, 4), np.float32)}},
        {"about": {"images": 10**9, "classes": 10**9}},
        {"about": {"images": -1}},
        {"about": {"images": "four"}},
        {"about": {"splits": ["train", "test", "more"]}},
        {"about": {"root": 5}},
        {"about": {"checksums": []}},
        {"about": {"notes": 7}},
        {"entries": lambda header: header["values"].update(shape=[10**15])},
        {"entries": lambda header: header["values"].update(shape=[2, 3])},
        {"entries": lambda header: header["values"].update(dtype="F64")},
        {"entries": lambda header: header["values"].update(data_offsets="x")},
        {"entries": lambda header: header["values"].update(data_offsets=[-900, 10**30])},
        {"entries": lambda header: header.update(values=None)},
        {"entries": lambda header: header["__metadata__"].update(about="[" * 100_000)},
        {"entries": lambda header: header["__metadata__"].update(about="[]")},
    ],
)  # fmt: skip
def test_a_file_that_was_forged_is_refused_whatever_its_checksums_say(tmp_path, monkeypatch, forged, always_checked):
    """SciPy believes the arrays and would read and write outside of them."""
    monkeypatch.setattr(native, "_ALWAYS_CHECKED", always_checked)
    assert refusal(forge(tmp_path / "forged.trilabel", **forged)).startswith("FILE: ")
