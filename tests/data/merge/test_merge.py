"""Merging data sets: against dictionaries, and the report that a person reads."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.oracles import merging
from trilabel.data import Boxes, Dataset
from trilabel.data.merge import merge
from trilabel.errors import TrilabelError
from trilabel.labels import Labels


def dataset(rows, classes, paths, ids=None, **more) -> Dataset:
    labels = Labels.from_signed(np.array(rows, np.int8).reshape(len(paths), len(classes)), classes, ids or paths)
    return Dataset(labels.ids, list(paths), labels, **more)


CATS = dataset([[1, -1], [0, 1]], ["cat", "dog"], ["/photos/1.jpg", "/photos/2.jpg"])
DOGS = dataset([[-1, 1], [1, 0]], ["dog", "tree"], ["/photos/2.jpg", "/photos/3.jpg"])


def known(labels: Labels, paths) -> dict:
    coo = labels.csr.tocoo()
    return {(str(paths[r]), labels.classes[c]): int(v) for r, c, v in zip(coo.row, coo.col, coo.data, strict=True)}


def test_what_a_set_never_annotated_is_unknown():
    merged, report = merge({"a": CATS, "b": DOGS}, conflict="unknown")
    assert merged.classes == ["cat", "dog", "tree"]
    assert list(merged.paths) == ["/photos/1.jpg", "/photos/2.jpg", "/photos/3.jpg"]
    assert merged.labels.to_signed().tolist() == [[1, -1, 0], [0, 0, 1], [0, 1, 0]]
    assert report["images_in_several_sets"] == 1 and report["classes_in_several_sets"] == ["dog"]
    assert report["labels_stated_twice"] == report["contradicting"] == 1
    assert report["contradicting_per_class"] == {"dog": 1}
    assert report["contradictions"] == [{"image": "/photos/2.jpg", "class": "dog", "present": ["a"], "absent": ["b"]}]
    assert report["sets"][1] == {"set": "b", "images": 2, "classes": 2, "known": 3}


@pytest.mark.parametrize(("conflict", "dog"), [("first", 1), ("last", -1), ("unknown", 0)])
def test_rules_for_conflicts(conflict, dog):
    assert merge({"a": CATS, "b": DOGS}, conflict=conflict)[0].labels.to_signed()[1, 1] == dog


def test_a_conflict_is_an_error_unless_there_is_a_rule():
    with pytest.raises(TrilabelError) as caught:
        merge({"a": CATS, "b": DOGS})
    assert str(caught.value) == (
        "image '/photos/2.jpg', class 'dog' is present in a and absent in b (1 such labels); "
        "correct them, or choose conflict unknown, first or last"
    )


SIGNS = st.sampled_from([-1, 0, 1])


@st.composite
def some_sets(draw):
    sets = {}
    for name in draw(st.sampled_from([("a", "b"), ("a", "b", "c")])):
        classes = draw(st.lists(st.sampled_from("uvwxyz"), min_size=1, max_size=4, unique=True))
        paths = draw(st.lists(st.integers(0, 5).map(lambda i: f"/p/{i}.jpg"), min_size=1, max_size=5, unique=True))
        rows = draw(
            st.lists(
                st.lists(SIGNS, min_size=len(classes), max_size=len(classes)), min_size=len(paths), max_size=len(paths)
            )
        )
        sets[name] = (paths, classes, rows)
    there = sorted({cls for _, classes, _ in sets.values() for cls in classes})
    renames = {"": draw(st.dictionaries(st.sampled_from(there), st.sampled_from(["u", "v", "new", ""]), max_size=3))}
    own = draw(st.sampled_from(list(sets)))
    renames[own] = draw(st.dictionaries(st.sampled_from(sets[own][1]), st.sampled_from(["w", "x", ""]), max_size=2))
    return sets, renames


@settings(max_examples=150)
@given(some_sets(), st.sampled_from(["unknown", "first", "last"]))
def test_agrees_with_dictionaries(case, conflict):
    sets, renames = case
    new = [{**renames[""], **renames.get(name, {})} for name in sets]
    assume(
        any(names.get(cls, cls) for names, (_, classes, _) in zip(new, sets.values(), strict=True) for cls in classes)
    )
    expected, contradicting = merging.merged(sets, renames, conflict)
    given_sets = {name: dataset(rows, classes, paths) for name, (paths, classes, rows) in sets.items()}
    merged, report = merge(given_sets, classes=renames, conflict=conflict)
    assert known(merged.labels, merged.paths) == expected
    assert report["contradicting"] == contradicting
    assert sorted(merged.paths) == sorted({path for paths, _, _ in sets.values() for path in paths})


def test_several_classes_become_one():
    animals = dataset([[1, -1, 1], [-1, -1, 0], [-1, 0, 0]], ["puppy", "dog", "car"], ["/1", "/2", "/3"])
    other = dataset([[1]], ["tree"], ["/9"])
    merged, _ = merge({"a": animals, "b": other}, classes={"a": {"puppy": "dog", "car": ""}})
    assert merged.classes == ["dog", "tree"]
    assert merged.labels.to_signed()[:3, 0].tolist() == [1, -1, 0]


def test_one_id_for_two_images_and_two_ids_for_one():
    voc = dataset([[1], [1]], ["cat"], ["/voc/1.jpg", "/both/3.jpg"], ["1.jpg", "3.jpg"])
    coco = dataset([[1], [-1]], ["cat"], ["/coco/1.jpg", "/both/3.jpg"], ["1.jpg", "three"])
    merged, report = merge({"voc": voc, "coco": coco}, conflict="last")
    assert merged.ids == ["voc/1.jpg", "3.jpg", "coco/1.jpg"]
    assert merged.labels.to_signed().tolist() == [[1], [-1], [1]]
    assert report["images"] == 3 and report["images_in_several_sets"] == 1
    by_id, _ = merge({"voc": voc, "coco": coco}, same="id")
    assert by_id.ids == ["1.jpg", "3.jpg", "three"]


def test_the_same_content_under_two_names(tmp_path):
    for name, content in (("a.jpg", b"one"), ("b.jpg", b"two"), ("c.jpg", b"one"), ("d.jpg", b"other")):
        (tmp_path / name).write_bytes(content)
    paths = {name: str(tmp_path / f"{name}.jpg") for name in "abcde"}
    one = dataset([[1], [1]], ["cat"], [paths["a"], paths["b"]])
    two = dataset([[-1], [1], [1]], ["cat"], [paths["c"], paths["d"], paths["e"]])  # e is not there
    merged, report = merge({"one": one, "two": two}, same="content", conflict="first")
    assert [Path(path).name for path in merged.paths] == ["a.jpg", "b.jpg", "d.jpg", "e.jpg"]
    assert merged.labels.to_signed().tolist() == [[1]] * 4 and report["contradicting"] == 1


def boxed(paths, *boxes):
    """A set with one class and boxes (image, left, top, right, bottom)."""
    table = np.array(boxes, np.float64)
    found = Boxes(table[:, 0].astype(np.int64), np.zeros(len(table), np.int64), table[:, 1:].astype(np.float32))
    return replace(dataset([[1]] * len(paths), ["cat"], paths), boxes=found)


def test_boxes_of_copies_count_once():
    same, near, other = (0, 0.1, 0.2, 0.5, 0.6), (0, 0.101, 0.2, 0.499, 0.6), (0, 0.1, 0.2, 0.5, 0.7)
    one = boxed(["/1", "/2"], same, same, (1, 0.1, 0.2, 0.5, 0.6))
    merged, report = merge({"a": one, "b": boxed(["/1"], near, other), "c": one})
    assert report["boxes_given_twice"] == 4  # of b one, of c all three
    assert merged.boxes.image.tolist() == [0, 0, 1, 0]
    np.testing.assert_allclose(merged.boxes.xyxy[[0, 1, 3]], [same[1:], same[1:], other[1:]], rtol=1e-6)
    apart, report = merge({"a": one, "b": boxed(["/3"], same)})
    assert len(apart.boxes.image) == 4 and report["boxes_given_twice"] == 0


def test_boxes_of_copies_inside_one_set(tmp_path):
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        (tmp_path / name).write_bytes(b"one")
    box = (0.1, 0.2, 0.5, 0.6)
    one = boxed([str(tmp_path / "a.jpg"), str(tmp_path / "b.jpg")], (0, *box), (1, *box))
    merged, _ = merge({"one": one, "two": boxed([str(tmp_path / "c.jpg")], (0, *box))}, same="content")
    assert len(merged) == 1 and len(merged.boxes.image) == 1


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_repeated_boxes_as_pairs_of_them_say(data):
    corner = st.sampled_from([0.0, 0.002, 0.004, 0.5])
    row = st.tuples(st.integers(0, 1), corner, corner, corner, corner)
    sets = [data.draw(st.lists(row, min_size=1, max_size=6)) for _ in range(3)]
    merged, report = merge({name: boxed(["/0", "/1"], *rows) for name, rows in zip("abc", sets, strict=True)})
    every = [(number, box) for number, rows in enumerate(sets) for box in rows]
    kept = [
        box
        for place, (number, box) in enumerate(every)
        if not any(
            other != number and before[0] == box[0] and np.abs(np.float32(before) - np.float32(box)).max() <= 0.0025
            for other, before in every[:place]
        )
    ]
    assert len(merged.boxes.image) == len(kept) == len(every) - report["boxes_given_twice"]


def test_an_image_that_one_set_tests_on_is_not_trained_on():
    paths = ["/1", "/2", "/3", "/4"]
    one = dataset([[1]] * 4, ["cat"], paths, splits={"train": np.array([0, 1, 2]), "val": np.array([3])})
    two = dataset(
        [[1]] * 4, ["dog"], paths, splits={"train": np.array([3]), "test": np.array([0]), "odd": np.array([1])}
    )
    merged, report = merge({"one": one, "two": two})
    assert {name: rows.tolist() for name, rows in merged.splits.items()} == {
        "train": [2], "val": [3], "test": [0], "odd": [1],
    }  # fmt: skip
    assert report["images_in_different_splits"] == 3
    assert {name: rows.tolist() for name, rows in merge({"two": two, "one": one})[0].splits.items()} == {
        "train": [2], "test": [0], "odd": [1], "val": [3],
    }  # fmt: skip


def test_boxes_and_notes_come_along():
    boxes = Boxes(np.array([1, 0]), np.array([0, 1]), np.array([[0, 0, 0.5, 1], [0, 0, 1, 1]], np.float32))
    drawn = dataset([[1, 1], [1, 1]], ["dog", "car"], ["/2", "/3"], boxes=boxes, notes=("all seen",))
    merged, _ = merge({"a": dataset([[1]], ["cat"], ["/1"]), "b": drawn}, classes={"": {"car": ""}})
    assert merged.boxes.image.tolist() == [2] and merged.boxes.cls.tolist() == [1]
    assert merged.boxes.xyxy.tolist() == [[0, 0, 0.5, 1]] and merged.notes == ("b: all seen",)


def test_classes_that_look_alike_are_pointed_out():
    one, two = dataset([[1, 1]], ["Traffic_Lights", "cat"], ["/1"]), dataset([[1, 1]], ["traffic light", "cat"], ["/2"])
    assert merge({"a": one, "b": two})[1]["classes_with_similar_names"] == [["Traffic_Lights", "traffic light"]]


def test_mistaken_merges():
    both = {"a": CATS, "b": DOGS}
    for sets, options, message in (
        ({"a": CATS}, {}, "merging needs at least two data sets"),
        (both, {"classes": {"c": {"cat": "x"}}}, "no data set for the class map named 'c'"),
        (both, {"classes": {"b": {"cat": "x"}}}, "no class in b to rename named 'cat'; there are: dog"),
        (both, {"classes": {"": {"dogs": "x"}}}, "did you mean 'dog'?"),
        (both, {"same": "size"}, "merge: same='size': use one of 'path', 'id', 'name', 'content'"),
        (both, {"conflict": "x"}, "merge: conflict='x': use one of 'error', 'unknown', 'first'"),
    ):
        with pytest.raises(TrilabelError) as caught:
            merge(sets, **options)
        assert message in str(caught.value) and "\n" not in str(caught.value)


def test_pictures_without_files_cannot_be_merged(small_scenes):
    with pytest.raises(TrilabelError, match="b: its images were drawn in memory"):
        merge({"a": CATS, "b": small_scenes})


def test_a_class_joined_of_classes_that_a_set_has_only_some_of_is_pointed_out():
    one, two = dataset([[1, -1]], ["car", "truck"], ["/1"]), dataset([[-1]], ["car"], ["/2"])
    merged, report = merge({"a": one, "b": two}, classes={"": {"car": "vehicle", "truck": "vehicle"}})
    assert merged.labels.to_signed().tolist() == [[1], [-1]]
    assert report["classes_joined_of_some"] == [{"set": "b", "class": "vehicle", "has": ["car"], "lacks": ["truck"]}]
    with pytest.raises(TrilabelError, match="no class is left"):
        merge({"a": one, "b": two}, classes={"": {"car": "", "truck": ""}})


def test_what_has_no_file_goes_by_its_path(tmp_path):
    (tmp_path / "a.jpg").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path)
    one = dataset([[1], [1]], ["cat"], [str(tmp_path / "a.jpg"), str(tmp_path / "none.jpg")])
    two = dataset([[1], [1]], ["cat"], [str(tmp_path / "link/a.jpg"), str(tmp_path / "link/none.jpg")])
    assert merge({"one": one, "two": two}, same="content")[1]["images"] == 2
    assert merge({"one": one, "two": two})[1]["images"] == 2  # the same files by another way
    (tmp_path / "a.jpg").unlink()
    with pytest.raises(TrilabelError, match="none of the images has a file"):
        merge({"one": one, "two": two}, same="content")


def test_the_same_name_in_any_folder():
    one = dataset([[1], [1]], ["cat"], ["/ls/00001eef-a.jpg", "/ls/b.jpg"])
    two = dataset([[1], [1]], ["dog"], ["/coco/a_jpg.rf.12ab.jpg", "/coco/c.png"])
    merged, report = merge({"one": one, "two": two}, same="name")
    assert report["images_in_several_sets"] == 1 and merged.labels.to_signed().tolist() == [[1, 1], [1, 0], [0, 1]]
    twice = dataset([[1], [1]], ["dog"], ["/train/a.jpg", "/val/a.jpg"])
    with pytest.raises(TrilabelError, match="two: two of its images are called 'a'; use same path, id or content"):
        merge({"one": one, "two": twice}, same="name")
