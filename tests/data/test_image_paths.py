"""Where images are: found in folders, named by paths, with and without extension."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import tables
from trilabel.data.image_paths import (
    IMAGE_EXTENSIONS,
    RootedPaths,
    _end_like_images,
    existing,
    find_images,
    is_image,
    locate,
    moved,
    relative_to,
    root_of,
    split_name,
)
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names


def grow(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


# ---- finding images


def test_finds_images_sorted_without_hidden_ones(tmp_path):
    grow(tmp_path, "b.JPG", "a.jpeg", "z/y/c.webp", "notes.txt", ".hidden.jpg", ".cache/d.jpg", "png", "e.png.part")
    assert find_images(tmp_path) == [str(tmp_path / name) for name in ("a.jpeg", "b.JPG", "z/y/c.webp")]
    assert find_images(str(tmp_path / "b.JPG")) == [str(tmp_path / "b.JPG")]


def test_says_where_no_images_are(tmp_path):
    with pytest.raises(TrilabelError, match="nowhere: no such image or folder"):
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


def test_the_folder_of_the_images(tmp_path):
    grow(tmp_path, "a/1.jpg", "b/2.jpg")
    usual = [tmp_path / "none", tmp_path / "a", tmp_path / "b"]
    assert root_of(None, usual, ["3.jpg", "2.jpg"]) == tmp_path / "b"
    assert root_of(None, usual, ["3.jpg"]) == tmp_path / "a"  # the first that exists
    assert root_of(None, usual, [f"{i}.jpg" for i in range(1000, 3, -1)] + ["2.jpg"]) == tmp_path / "a"
    assert root_of(None, usual[:1], ["3\0.jpg"]) == tmp_path / "none"
    assert root_of(tmp_path / "b", usual, ["1.jpg"]) == tmp_path / "b"
    with pytest.raises(TrilabelError, match="none: no such folder of images"):
        root_of(tmp_path / "none", usual, ["1.jpg"])


def test_paths_written_on_windows(tmp_path):
    grow(tmp_path, "a/1.jpg", "b\\2.jpg")
    paths = RootedPaths(tmp_path, Names(["a\\1.jpg", "b\\2.jpg", "a/1.jpg"]))
    assert list(paths) == [f"{tmp_path}/a/1.jpg", f"{tmp_path}/b\\2.jpg", f"{tmp_path}/a/1.jpg"]
    assert root_of(None, [tmp_path / "b", tmp_path], ["a\\1.jpg"]) == tmp_path


def test_which_files_exist(tmp_path):
    grow(tmp_path, "a/1.jpg", "b/2.jpg")
    (tmp_path / "a/3.jpg").mkdir()
    names = ["a/1.jpg", "a/2.jpg", "a/3.jpg", "none/1.jpg", "b/2.jpg", "b\0/1.jpg"]
    assert existing([f"{tmp_path}/{name}" for name in names]).tolist() == [True, False, False, False, True, False]
    assert existing([]).tolist() == []


def test_paths_as_seen_from_a_folder():
    names = ["/data/photos/1.jpg", "/data/2.jpg", "/data/labels/3.jpg"]
    assert list(relative_to(names, Path("/data/labels"))) == ["../photos/1.jpg", "../2.jpg", "3.jpg"]


# ---- folders with other names


@pytest.mark.parametrize(
    ("files", "names", "found", "without"),
    [
        (
            ["images/1.jpg", "images/2.jpg"],
            ["img/1.jpg", "img/2.jpg"],
            "images/{}.jpg",
            ", without the first folder of",
        ),
        (["images/1.jpg", "images/2.jpg"], ["1.jpg", "2.jpg"], "images/{}.jpg", ""),
        (["t/1.jpg", "t/2.jpg"], ["Set-v1.0/t/1.jpg", "Set-v1.0/t/2.jpg"], "t/{}.jpg", ", without the first folder of"),
        (
            ["t/1.jpg", "t/2.jpg"],
            ["C:\\\\me\\t\\1.jpg", "C:\\\\me\\t\\2.jpg"],
            "t/{}.jpg",
            ", without the first 3 folders of",
        ),
        (
            ["t/1.jpg", "t/2.jpg"],
            ["/home/me/t/1.jpg", "/home/me/t/2.jpg"],
            "t/{}.jpg",
            ", without the first 3 folders of",
        ),
    ],
)
def test_folders_that_have_another_name_here(tmp_path, files, names, found, without):
    grow(tmp_path, *files)
    paths, notes = moved(RootedPaths(tmp_path, Names(names)), [tmp_path, tmp_path / "images"])
    assert [Path(path) for path in paths] == [tmp_path / found.format(number) for number in (1, 2)]
    folder = tmp_path / "images" if found.startswith("images") else tmp_path
    assert notes == [
        f"images are not where their paths say; they are in {folder}{without}{' their paths' * bool(without)}"
    ]


def test_paths_that_lead_somewhere_or_nowhere_stay(tmp_path):
    grow(tmp_path, "a/1.jpg", "images/1.jpg", "images/2.jpg")
    for names in (["a/1.jpg", "b/2.jpg"], ["a/7.jpg", "b/8.jpg"], ["x/1.jpg", "y/1.jpg"], []):
        paths = RootedPaths(tmp_path, Names(names))
        assert moved(paths, [tmp_path, tmp_path / "images"]) == (paths, [])
