"""`trilabel data merge`: conflicts, a map of classes, and the report."""

from pathlib import Path

from tests.support.command_line import Capture, call, complaint, result
from trilabel.data import read


def test_merging(photos: Path, capsys: Capture) -> None:
    sets = [photos / "one.csv", photos / "two.csv"]
    line = complaint(capsys, "data", "merge", *sets, "--out", photos / "all.trilabel")
    assert "image 'photos/b.png', class 'dog' is present in one and absent in two (1 such labels)" in line
    assert not (photos / "all.trilabel").exists()
    out = ["--out", photos / "all.trilabel", "--overwrite"]
    report = result(capsys, "data", "merge", *sets, *out, "--conflict", "first")
    assert report["images"] == 3 and report["contradicting"] == 1 and report["images_in_different_splits"] == 1
    merged = read(photos / "all.trilabel")
    assert merged.classes == ["cat", "dog", "Tree"]
    assert merged.labels.to_signed().tolist() == [[1, -1, 0], [-1, 1, 1], [0, 1, 0]]
    assert {name: rows.tolist() for name, rows in merged.splits.items()} == {"train": [0, 2], "test": [1]}
    assert call("data", "merge", *sets, *out, "--conflict", "unknown", "--same", "content") == 0
    told = capsys.readouterr().out
    assert "in several sets: 2 images and 1 class" in told and "  dog: 2" in told
    assert (
        "photos/b.png, dog: present in one, absent in two" in told
        and "kept out of train: 1 image in different splits" in told
    )


def test_merging_with_a_map_of_classes(photos: Path, capsys: Capture) -> None:
    (photos / "map.csv").write_text("set,from,to\nb,dog,\n,Tree,plant\n")
    named = [f"a={photos / 'one.csv'}", f"b={photos / 'two.csv'}"]
    report = result(capsys, "data", "merge", *named, "--map", photos / "map.csv", "--out", photos / "all.csv")
    assert report["contradicting"] == 0 and [one["set"] for one in report["sets"]] == ["a", "b"]
    assert read(photos / "all.csv").classes == ["cat", "dog", "plant"]
    (photos / "map.csv").write_text("from,to\ntree,plant\n")
    line = complaint(capsys, "data", "merge", *named, "--map", photos / "map.csv", "--out", photos / "no.csv")
    assert "no class in any set to rename named 'tree'" in line and "did you mean 'Tree'?" in line
    assert "give at least two" in complaint(capsys, "data", "merge", named[0], "--out", photos / "no.csv", code=2)
    same = [photos / "one.csv", photos / "one.csv"]
    assert "two sets have the same name" in complaint(
        capsys, "data", "merge", *same, "--out", photos / "no.csv", code=2
    )
