"""Images in folders: which are found, which names stand for which, and the layout with one sub-folder a class."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import tables
from trilabel.data.folder import (
    IMAGE_EXTENSIONS,
    RootedPaths,
    _end_like_images,
    detect,
    find_images,
    is_image,
    locate,
    read,
    split_name,
)
from trilabel.errors import TrilabelError
from trilabel.names import Names


def grow(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


def rows(dataset) -> dict[str, list[int]]:
    return {name: index.tolist() for name, index in dataset.splits.items()}


# ---- finding images


def test_finds_images_sorted_without_hidden_ones(tmp_path):
    grow(tmp_path, "b.JPG", "a.jpeg", "z/y/c.webp", "notes.txt", ".hidden.jpg", ".cache/d.jpg", "png", "e.png.part")
    assert find_images(tmp_path) == [str(tmp_path / name) for name in ("a.jpeg", "b.JPG", "z/y/c.webp")]
    assert find_images(str(tmp_path / "b.JPG")) == [str(tmp_path / "b.JPG")]


def test_says_where_no_images_are(tmp_path):
    with pytest.raises(TrilabelError, match="nowhere: no such folder of images"):
        find_images(tmp_path / "nowhere")
    with pytest.raises(TrilabelError, match="no image in this folder"):
        find_images(grow(tmp_path, "a.txt"))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("aé.JPGjpgeEtif", max_size=7) | st.sampled_from(["x.jpg", "é.TIFF", ".gif", "jpg", "a/b.WebP"]))
)
def test_bytes_tell_images_as_text_does(names):
    assert _end_like_images(Names(names)).tolist() == [is_image(name) for name in names]


@settings(max_examples=60, deadline=None)
@given(
    st.sets(st.sampled_from(["a.jpg", "a.png", "b.JPG", "x/a.jpg", "x/c.gif", "y/d.é.webp", "x/y/e.bmp"])),
    st.lists(
        st.sampled_from(["a", "b", "c", "d.é", "e", "x/a", "x/c", "y/e", "nix", "a.jpg", "/abs/q.png"]), unique=True
    ),
)
def test_names_without_extension_are_looked_for(tmp_path_factory, files, names):
    root = grow(tmp_path_factory.mktemp("images"), *files)
    found = [tables.located(name, sorted(files), IMAGE_EXTENSIONS) for name in names]
    if any(len(choice) > 1 for choice in found):
        with pytest.raises(TrilabelError, match="; give its path in the folder"):
            locate(root, Names(names))
        return
    paths, missing = locate(root, Names(names))
    expected = [str(root / next(iter(choice), name)) for choice, name in zip(found, names, strict=True)]
    assert list(paths) == expected
    assert missing == sum(not choice for choice in found)


def test_rooted_paths():
    paths = RootedPaths("root", Names(["a.jpg", "x/b.jpg", "/abs/c.jpg"]))
    assert paths == ["root/a.jpg", "root/x/b.jpg", "/abs/c.jpg"] and paths != ["root/a.jpg"]
    assert paths[-1] == "/abs/c.jpg" and paths[1:] == ["root/x/b.jpg", "/abs/c.jpg"]
    assert len(paths) == 3 and "root/a.jpg" in paths


def test_split_names():
    assert [split_name(text) for text in ("Train", " valid", "VALIDATION", "testing", "Fold 1")] == [
        "train", "val", "val", "test", "Fold 1"
    ]  # fmt: skip


# ---- one sub-folder a class


def test_a_folder_a_class(tmp_path):
    grow(tmp_path, "dog/1.jpg", "cat/2.png", "cat/deep/1.jpg", "loose.jpg", "empty/readme.txt")
    dataset = read(tmp_path)
    assert dataset.ids == ["cat/2.png", "cat/deep/1.jpg", "dog/1.jpg", "loose.jpg"]
    assert dataset.classes == ["cat", "dog"]
    assert dataset.labels.to_signed().tolist() == [[1, 0], [1, 0], [0, 1], [0, 0]]
    assert dataset.paths[0] == str(tmp_path / "cat/2.png")
    assert dataset.splits == {}
    assert dataset.notes == (
        "images have the class of their folder; every other class is unknown",
        "1 images lie in no class folder: nothing is known of them",
    )


def test_folders_called_like_splits_are_splits(tmp_path):
    dataset = read(grow(tmp_path, "train/dog/1.jpg", "train/cat/1.jpg", "valid/dog/2.jpg", "Test/3.jpg"))
    assert dataset.ids == ["Test/3.jpg", "train/cat/1.jpg", "train/dog/1.jpg", "valid/dog/2.jpg"]
    assert dataset.classes == ["cat", "dog"]
    assert rows(dataset) == {"test": [0], "train": [1, 2], "val": [3]}
    assert dataset.labels.to_signed().tolist() == [[0, 0], [1, 0], [0, 1], [0, 1]]


def test_folders_called_like_splits_among_others_are_classes(tmp_path):
    assert read(grow(tmp_path / "one", "train/1.jpg", "bus/2.jpg")).classes == ["bus", "train"]
    assert read(grow(tmp_path / "two", "train/1.jpg", "test/2.jpg")).classes == ["test", "train"]


def test_what_is_no_such_folder(tmp_path):
    grow(tmp_path, "flat/1.jpg", "flat/table.csv", "deep/a/1.txt", "good/a/1.jpg")
    assert [detect(tmp_path / name) for name in ("flat", "deep", "good", "flat/1.jpg", "no")] == [0, 0, 1, 0, 0]
    with pytest.raises(TrilabelError, match="flat: no sub-folder with images"):
        read(tmp_path / "flat")
    with pytest.raises(TrilabelError, match="leave out images"):
        read(tmp_path / "good", images=tmp_path)
