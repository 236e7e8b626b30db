"""WebDataset shards: .cls, .json and .npy beside the images, which stay where they are."""

import io
import json
from pathlib import Path

import numpy as np

from tests.data.formats.layouts import webdataset_cls, webdataset_json
from tests.data.formats.layouts.huggingface_parquet import image
from tests.data.formats.layouts.webdataset_cls import shard
from tests.support.seen import known, refusal_of, rows
from trilabel.data import read, write
from trilabel.data.decode import decode
from trilabel.data.formats import format_of
from trilabel.data.image_paths import existing

refusal = refusal_of(read)


def made(path: Path, *samples: dict[str, object]) -> Path:
    """A shard of samples, each with an image unless it says otherwise."""
    members: dict[str, bytes] = {}
    for number, sample in enumerate(samples):
        for end, content in ({"png": image(number)} | sample).items():
            encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
            members[f"{number}.{end}"] = encoded
    shard(path, members)
    return path


def vector(*values: float) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array(values))
    return out.getvalue()


def test_numbers_of_classes(tmp_path):
    dataset = read(webdataset_cls.write(tmp_path))
    assert dataset.classes == ["cat", "dog", "big bird"]
    assert known(dataset) == {
        "s0000000": [1, 0, 0],
        "s0000001": [0, 1, 0],
        "s0000002": [0, 0, 1],
        "s0000003": [0, 1, 0],
        "s0000004": [0, 0, 1],
        "s0000005": [1, 0, 0],
    }
    assert rows(dataset) == {"train": [0, 1, 2, 3], "test": [4, 5]}
    assert dataset.paths[1] == f"{tmp_path}/wds/train/0.tar/s0000001@6.png"
    assert [int(decode(path, 2)[0, 0, 0]) for path in dataset.paths] == list(range(6))
    assert existing(dataset.paths).all()
    write(dataset, tmp_path / "index.trilabel")
    assert int(decode(read(tmp_path / "index.trilabel").paths[5], 2)[0, 0, 0]) == 5


def test_json_and_samples_without_an_image(tmp_path):
    dataset = read(webdataset_json.write(tmp_path))
    assert known(dataset) == {
        "photos v1.0/000000000": [0, 1, 1],
        "photos v1.0/000000001": [0, 0, 0],
        "photos v1.0/000010000": [1, 0, 0],
        "photos v1.0/000010001": [0, 0, 0],
    }
    assert dataset.notes[1:] == ("1 images have no labels: their labels are unknown", "columns left out: width")
    captions = read(tmp_path / "scraped", column="txt", separator="")
    assert captions.classes == ["a café"] and captions.labels.known == 4


def test_vectors_and_columns_of_0_and_1(tmp_path):
    path = made(tmp_path / "a.tar", {"npy": vector(1, 0, 0)}, {"npy": vector(0, 1, np.nan)}, {})
    dataset = read(path)
    assert dataset.classes == ["0", "1", "2"] and dataset.labels.to_signed().tolist() == [
        [1, -1, -1],
        [-1, 1, 0],
        [0, 0, 0],
    ]
    (tmp_path / "classes.txt").write_text("cat\ndog\nbird\n")
    assert read(path).classes == ["cat", "dog", "bird"]
    wide = made(tmp_path / "sub/b.tar", {"json": {"cat": 1, "n": 7}}, {"json": {"cat": False, "dog": 1, "n": 0}})
    assert known(read(wide)) == {"0": [1, 0], "1": [-1, 1]} and read(wide).classes == ["cat", "dog"]


def test_several_classes_of_an_image(tmp_path):
    path = made(tmp_path / "a.tar", {"cls": b"0 2\n"}, {"cls": b"1,0"}, {"cls": b"-1"}, {"cls": b""})
    assert known(read(path)) == {"0": [1, 0, 1], "1": [1, 1, 0], "2": [0, 0, 0], "3": [0, 0, 0]}
    assert read(made(tmp_path / "b.tar", {"cls": b"hot dog"}, {"cls": b"cat"})).classes == ["cat", "hot dog"]
    assert read(made(tmp_path / "c.tar", {"json": 3}, {"json": 1})).classes == ["1", "3"]


def test_ids_that_repeat(tmp_path):
    for name in ("train-0.tar", "train-1.tar", "val-0.tar"):
        made(tmp_path / name, {"cls": b"0"})
    assert list(read(tmp_path).ids) == ["train-0/0", "train-1/0", "val-0/0"]
    (tmp_path / "train-1.tar").unlink()
    assert list(read(tmp_path).ids) == ["train/0", "val/0"]


def test_other_tars_are_none(tmp_path):
    shard(tmp_path / "a.tar", {"VOC/JPEGImages/1.jpg": b"x", "VOC/Annotations/1.xml": b"x"})
    assert "not recognized as any of these formats" in refusal(tmp_path / "a.tar")
    (tmp_path / "b.tar").write_bytes(b"no tar")
    assert "not recognized as any of these formats" in refusal(tmp_path / "b.tar")
    (tmp_path / "c.tar.gz").write_bytes(b"x")
    assert refusal(tmp_path / "c.tar.gz") == (
        "ROOT: images cannot be read in a compressed .tar; unpack it to a plain .tar"
    )


def test_refusals(tmp_path, monkeypatch):
    path = tmp_path / "a.tar"
    assert refusal(made(path, {"json": b"{"}), path).startswith("ROOT, sample 1: damaged JSON (")
    assert "its .cls is not UTF-8 text" in refusal(made(path, {"cls": b"\xff"}))
    assert "its .npy cannot be read (buffer is smaller" in refusal(made(path, {"npy": vector(1)[:-3]}))
    pickled = io.BytesIO()
    np.save(pickled, np.array([{}], object), allow_pickle=True)
    assert "its .npy cannot be read (not an array of numbers)" in refusal(made(path, {"npy": pickled.getvalue()}))
    assert "has several images (png, seg.png); pass image" in refusal(made(path, {"seg.png": image(3), "cls": b"1"}))
    assert len(read(path, image="png")) == 1
    assert "sample 1: labels contains 0.5, not the name" in refusal(made(path, {"json": {"labels": [0.5]}}))
    assert "no column of 0 and 1 and none called labels, label, tags, cls" in refusal(made(path, {"json": {"n": 7}}))
    assert "the images are in it; leave out images" in refusal(made(path, {"cls": b"1"}), images=tmp_path)
    monkeypatch.setattr("trilabel.data.formats.webdataset.samples._MOST_BYTES", 3)
    assert "'0.json' has 11 bytes, which are no labels of an image" in refusal(made(path, {"json": {"n": 1234}}))
    (tmp_path / "classes.txt").write_text("cat\ndog\n")
    monkeypatch.undo()
    assert "class 2, but 2 classes are named" in refusal(made(path, {"cls": b"2"}))
    assert "its .npy has 3 numbers, but 2 classes are named" in refusal(made(path, {"npy": vector(1, 0, 0)}))
    (tmp_path / "classes.txt").write_text("cat\ncat\n")
    assert "classes.txt: names a class twice" in refusal(path)


def test_a_folder_with_no_shards(tmp_path):
    assert refusal(tmp_path, format="webdataset") == "ROOT: no .tar files here"
    shard(tmp_path / "a.tar", {"1.json": b"{}"})
    assert refusal(tmp_path, format="webdataset") == "ROOT: its .tar files have no images"
    made(tmp_path / "a.tar", {"cls": b"1"})
    assert format_of(tmp_path, None) == "webdataset"
