"""The numbers of `inspect` are those of a dense array, and every piece of advice is given when it is due."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracles.expected_positives import counts_of_full
from trilabel.cli.data.inspect import print_inspection
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.inspect import advice, inspect, often_together
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

quick = settings(max_examples=50, deadline=None)
dense_labels = hnp.arrays(
    np.int8, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=8), elements=st.sampled_from([-1, 0, 1])
)


def of(dense, splits=None, **others):
    labels = Labels.from_signed(dense)
    return Dataset(labels.ids, list(labels.ids), labels, splits or {}, **others)


@quick
@given(dense_labels)
def test_numbers_are_those_of_the_dense_array(dense):
    found = inspect(of(dense))
    present, absent = dense == 1, dense == -1
    names = [f"class-{column}" for column in range(dense.shape[1])]
    assert (found["images"], found["classes"]) == dense.shape
    assert found["known"] == np.count_nonzero(dense)
    assert found["known_share"] == pytest.approx(np.count_nonzero(dense) / dense.size if dense.size else 0)
    assert (found["positives"], found["negatives"]) == (present.sum(), absent.sum())
    assert found["per_class"] == [
        {
            "class": name,
            "present": (dense[:, column] == 1).sum(),
            "absent": (dense[:, column] == -1).sum(),
            "unknown": (dense[:, column] == 0).sum(),
        }
        for column, name in enumerate(names)
    ]
    for kind, values in (("present", present), ("absent", absent)):
        counts = values.sum(1) if len(dense) else np.zeros(1)
        expected = {"least": counts.min(), "mean": pytest.approx(counts.mean()), "most": counts.max()}
        assert found["per_image"][kind] == expected
    full = counts_of_full(dense.tolist()) if (dense < 0).any() else []
    assert (found["expected_positives"] is None) == (not full)
    if full:
        assert found["expected_positives"]["value"] == pytest.approx(sum(full) / len(full))
        assert found["expected_positives"]["images"] == len(full)
    assert found["images_without_known_label"] == sum(not row.any() for row in dense)
    assert found["classes_without_positives"] == [
        name for name, some in zip(names, present.any(0), strict=True) if not some
    ]
    assert found["classes_without_negatives"] == [
        name for name, some in zip(names, absent.any(0), strict=True) if not some
    ]
    assert json.loads(json.dumps(found)) == found


@quick
@given(dense_labels, st.integers(1, 12))
def test_pairs_are_counted_and_the_most_frequent_come_first(dense, most):
    found = often_together(Labels.from_signed(dense), most)
    counts = {
        (f"class-{a}", f"class-{b}"): int(((dense[:, a] == 1) & (dense[:, b] == 1)).sum())
        for a in range(dense.shape[1])
        for b in range(a + 1, dense.shape[1])
    }
    expected = sorted((count for count in counts.values() if count), reverse=True)[:most]
    assert [pair["images"] for pair in found] == expected
    assert all(counts[tuple(pair["classes"])] == pair["images"] for pair in found)
    assert len({tuple(pair["classes"]) for pair in found}) == len(found)


def test_a_split_alone():
    dense = np.array([[1, -1], [1, 1], [0, 0], [-1, 0]], np.int8)
    data = of(dense, {"train": np.array([0, 2]), "test": np.array([3])}, notes=("empty cells are unknown",))
    found = inspect(data, "train")
    assert (found["images"], found["positives"], found["negatives"]) == (2, 1, 1)
    assert found["images_without_known_label"] == 1 and found["splits"] == {"train": 2, "test": 1}
    assert found["notes"] == ["empty cells are unknown"] and found["boxes"] == 0
    assert inspect(data)["images"] == 4
    with pytest.raises(TrilabelError, match="no split named 'val'"):
        inspect(data, "val")


def test_boxes_are_counted():
    boxes = Boxes(np.array([0, 0, 1]), np.array([0, 1, 1]), np.zeros((3, 4), np.float32))
    assert inspect(of(np.ones((2, 2)), boxes=boxes))["boxes"] == 3


def test_positives_per_image_are_printed_with_their_interval(capsys):
    dense = np.where(np.arange(3) < np.arange(10)[:, None] % 3, 1, -1)
    found = inspect(of(np.vstack([dense, np.zeros((4, 3))])))
    expected = found["expected_positives"]
    assert (expected["value"], expected["images"]) == (pytest.approx(0.9), 10)
    assert 0.3 < expected["low"] < 0.9 < expected["high"] < 1.5
    print_inspection(found)
    interval = f"{expected['low']:.2f}–{expected['high']:.2f}"
    said = f"positives per image: 0.90 (90 % interval {interval}, from 10 fully labelled images)"
    assert said in capsys.readouterr().out.splitlines()
    print_inspection(inspect(of(np.array([[1, 0]]))))
    assert "positives per image" not in capsys.readouterr().out


# ---- advice


def column(present=0, absent=0, unknown=0):
    return [1] * present + [-1] * absent + [0] * unknown


def advised(*columns):
    return advice(Labels.from_signed(np.array(columns, np.int8).T))


def test_labels_without_fault_get_no_advice():
    assert advised(column(12, 12), column(10, 14)) == []


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([column(unknown=24)], ["no label is known: nothing can be learned"]),
        ([column(12, 0, 12), [*column(0, 0, 12), *column(12)]], ["no label is known to be absent"]),
        ([column(12, 12), column(12, 0, 12)], ["1 class has no known negatives"]),
        ([column(0, 24)], ["no label is known to be present"]),
        ([column(12, 12), column(0, 24), column(0, 24)], ["2 classes have no known positives"]),
        ([column(9, 15), column(1, 23), column(10, 14)], ["2 classes have fewer than 10 known positives"]),
        ([column(11, 10, 3), column(10, 11, 3)], ["3 images have no known label"]),
        (
            [column(5, 5, 9), column(0, 6, 13), column(3, 0, 16)],
            [
                "1 class has no known negatives",
                "1 class has no known positives",
                "2 classes have fewer than 10",
                "9 images have no known label",
            ],
        ),
    ],
)
def test_every_fault_gets_its_advice_and_no_other(columns, says):
    found = advised(*columns)
    assert len(found) == len(says)
    for advice_given, start in zip(found, says, strict=True):
        assert advice_given.startswith(start) and "\n" not in advice_given


def test_advice_is_part_of_inspection():
    found = inspect(of(np.array([[1], [0]], np.int8)))
    assert found["warnings"][:-1] == advice(Labels.from_signed([[1], [0]])) and len(found["warnings"]) == 4


def test_files_that_are_missing_and_names_that_look_alike(tmp_path):
    (tmp_path / "1.jpg").touch()
    labels = Labels.from_signed([[1, -1, 1], [1, -1, 1]], ["Dog", "dogs", "cat"], ["1", "2"])
    dataset = Dataset(labels.ids, [str(tmp_path / "1.jpg"), str(tmp_path / "2.jpg")], labels)
    found = inspect(dataset)
    assert found["images_without_file"] == 1
    assert found["warnings"][-1] == (
        "1 of 2 images has no file: training would stop at the first of them (--images, --missing drop)"
    )
    assert "'Dog' and 'dogs' are different classes; if they should not be, give them one name" in found["warnings"]
    (tmp_path / "1.jpg").unlink()
    assert "2 of 2 images have no file: is this the right folder of images?" in inspect(dataset)["warnings"][-1]


def test_classes_are_judged_by_what_is_learned_from():
    """Positives of the test split teach nothing."""
    dense = np.array([[1, 1, -1]] * 10 + [[-1, 1, -1]] * 5 + [[1, 1, 1]] * 10, np.int8)
    dense[10, 1] = -1
    splits = {"train": np.arange(5, 15), "test": np.arange(15, 25)}
    told = " ".join(inspect(of(dense, splits))["warnings"])
    assert "1 class has no known positives in split train and cannot be learned" in told
    assert "2 classes have fewer than 10 known positives in split train" in told
    assert "split train" not in " ".join(inspect(of(dense, {"train": np.arange(25)}))["warnings"])
    assert "split train" not in " ".join(inspect(of(dense, splits), "test")["warnings"])
