"""Single images and labels that are followed: which, what is recorded of them, and that nothing else depends on it."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import trilabel as tl
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate
from trilabel.training.examples import Examples
from trilabel.training.record import EpochRecord, Example


def alone(tensor, how):
    return tensor


def single_positives(images=40, classes=12, seed=0):
    """Labels with one positive per image, of those that are present in truth; every other image has one only."""
    draw = np.random.default_rng(seed)
    truth = np.full((images, classes), -1, np.int8)
    for row in range(images):
        truth[row, draw.permutation(classes)[: 1 + 3 * (row % 2)]] = 1
    known = np.zeros_like(truth)
    known[np.arange(images), truth.argmax(1)] = 1
    names = {"classes": [f"class {n}" for n in range(classes)], "ids": [f"{n}.jpg" for n in range(images)]}
    return Labels.from_signed(known, **names), Labels.from_signed(truth, **names)


def test_images_with_hidden_positives_are_followed_and_some_labels_of_each_kind():
    labels, truth = single_positives()
    followed = Examples(labels, truth)
    rows = followed.rows
    assert len(rows) == 6 and rows[0] == 1 and rows[-1] == 39 and all(row % 2 for row in rows)
    for row, columns in zip(rows, followed.columns, strict=True):
        known, true = labels.rows([row])[0, columns].tolist(), truth.rows([row])[0, columns].tolist()
        assert list(zip(known, true, strict=True)) == [(1, 1)] + [(0, 1)] * 3 + [(0, -1)] * 2
        assert len(set(columns.tolist())) == 6
    again = Examples(labels, truth)
    assert again.rows == rows and all(map(np.array_equal, again.columns, followed.columns))


@pytest.mark.parametrize(
    ("known", "truth", "rows"),
    [
        ([[1, -1], [-1, 1]], None, []),  # nothing is unknown
        ([[1, 0], [-1, 1]], None, [0]),
        ([[1, 0], [0, 1]], [[1, -1], [-1, 1]], [0, 1]),  # nothing hidden is present
        ([[0], [1]], [[1], [1]], [0]),  # one class
        ([[0], [0]], None, [0, 1]),
        ([[-1, -1], [1, -1]], [[1, -1], [1, -1]], []),  # a label is wrong, and none unknown
        ([[0, 1, -1], [0, -1, 1]], [[1, -1, -1], [-1, 1, 1]], [0]),  # as many positives as in truth, one of them hidden
    ],
)
def test_where_there_is_little_to_follow(known, truth, rows):
    made = Labels.from_signed(np.array(known, np.int8))
    true = None if truth is None else Labels.from_signed(np.array(truth, np.int8))
    followed = Examples(made, true)
    assert followed.rows == rows
    followed.note(np.arange(2), torch.zeros(2, made.shape[1]), torch.zeros(2, made.shape[1]))
    assert [each.image for each in followed.summary(alone, chose=True)] == [str(made.ids[row]) for row in rows]


def test_what_is_recorded_is_what_the_steps_had():
    labels, truth = single_positives()
    followed = Examples(labels, truth)
    draw = np.random.default_rng(1)
    logits, targets = draw.normal(size=(40, 12)), draw.choice([-1, 0, 1], (40, 12))
    for rows in np.array_split(draw.permutation(40), 7):
        rows = rows[rows != followed.rows[2]]  # could not be read
        signs = torch.tensor(targets[rows], dtype=torch.int8)
        followed.note(rows, torch.tensor(logits[rows]).bfloat16(), signs)
    found = followed.summary(alone, chose=True)
    assert [each.image for each in found] == [f"{row}.jpg" for n, row in enumerate(followed.rows) if n != 2]
    for each in found:
        row = int(each.image.removesuffix(".jpg"))
        columns = [list(labels.classes).index(name) for name in each.classes]
        assert each.labels == labels.rows([row])[0, columns].tolist()
        assert each.truth == truth.rows([row])[0, columns].tolist() and each.targets == targets[row, columns].tolist()
        assert each.logits == pytest.approx(logits[row, columns], abs=0.02)
        fixed, further = columns[:6], columns[6:]
        assert fixed == followed.columns[followed.rows.index(row)].tolist()
        corrected = (targets[row] > 0) & (labels.to_signed()[row] == 0)
        corrected[fixed] = False
        by_logit = sorted(np.flatnonzero(corrected), key=lambda column: -logits[row, column])
        assert len(further) == min(4, corrected.sum()) and set(further) <= set(by_logit)
    assert any(len(each.classes) > 6 for each in found)
    unchosen = followed.summary(alone, chose=False)
    assert all(each.targets == [] and len(each.classes) == 6 for each in unchosen)


def test_without_truth_labels_are_told_of_where_the_method_chooses():
    labels, _ = single_positives()
    followed = Examples(labels, None)
    followed.note(np.arange(40), torch.full((40, 12), float("inf")), -torch.ones(40, 12))
    assert followed.summary(alone, chose=False) == []
    found = followed.summary(alone, chose=True)
    assert len(found) == 6 and all(each.truth == [] and set(each.targets) == {-1} for each in found)
    assert all(set(each.logits) == {1e4} for each in found), "JSON has no infinity"


@pytest.mark.parametrize(
    "change", [{"logits": [1.0]}, {"labels": [2, 0]}, {"targets": [1]}, {"logits": [float("nan")] * 2}]
)
def test_damaged_examples_are_refused(change):
    example = {"image": "a.jpg", "classes": ["cat", "dog"], "labels": [1, 0], "logits": [0.5, -1]}
    record = {"stage": "linear", "epoch": 1, "loss": 0.5, "examples": [example]}
    assert EpochRecord.from_json(record).examples == [Example("a.jpg", ["cat", "dog"], [1, 0], [0.5, -1])]
    for wrong in (change, {"image": 1}, {"color": "red"}):
        with pytest.raises(TrilabelError, match="example"):
            EpochRecord.from_json({**record, "examples": [{**example, **wrong}]})
    with pytest.raises(TrilabelError, match="examples"):
        EpochRecord.from_json({**record, "examples": 3})


SETTINGS = ["keep-share=0.3", "keep-share-per-image=0.3", "dense-share=0.5", "noisy=0.2", "noisy-plus", "per-class=0.5"]
SETTINGS += ["fixed-per-class=3", "tags=0.3,0.6", "single-positive"]


@pytest.mark.parametrize("before", ["", "keep-share=0.5"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_examples_of_every_label_setting_can_be_read_again(setting, before):
    assert [each.partition("=")[0] for each in SETTINGS] == list(simulate.SETTINGS)
    _, truth = single_positives()
    labels = simulate.apply(simulate.apply(truth, before, 1) if before else truth, setting, 0)
    followed = Examples(labels, truth)
    followed.note(np.arange(40), torch.zeros(40, 12), labels.rows(range(40)))
    found = followed.summary(alone, chose=True)
    assert len(found) == (6 if (labels.to_signed() == 0).any() else 0)
    for each in found:
        pairs = set(zip(each.labels, each.truth, strict=True))
        assert pairs and pairs <= {(1, 1), (0, 1), (0, -1)}, "a wrong label is neither known nor hidden"
    record = EpochRecord("fine-tune", 1, 0.5, examples=found)
    assert EpochRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_run_with_wrong_labels_and_none_unknown_trains_is_read_and_goes_on(small_scenes, quick, tmp_path):
    one = np.full(small_scenes.labels.shape, -1, np.int8)  # one object in a photograph
    one[np.arange(len(one)), (small_scenes.labels.to_signed() > 0).argmax(1)] = 1
    truth = Labels.from_signed(one, small_scenes.classes, small_scenes.ids)
    dataset = replace(small_scenes, labels=truth, boxes=None)
    wrong = dataset.with_labels(simulate.apply_to_rows(truth, dataset.rows_of("train"), "noisy=0.05"))
    tl.train(wrong, replace(quick, epochs=1), tmp_path / "run")
    assert tl.train(wrong, replace(quick, epochs=2), tmp_path / "run", resume=True).history[-1].epoch == 2
    assert tl.load(tmp_path / "run").classes == small_scenes.classes


signs = st.integers(-1, 1)
columns = st.tuples(st.text(), signs, st.floats(-1e4, 1e4), signs, signs)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.text(), st.lists(columns, max_size=3), st.booleans(), st.booleans()), max_size=3))
def test_what_can_be_recorded_can_be_read(followed):
    examples = []
    for image, entries, with_truth, with_targets in followed:
        classes, labels, logits, truth, targets = map(list, zip(*entries, strict=True)) if entries else [[]] * 5
        examples.append(
            Example(image, classes, labels, logits, truth if with_truth else [], targets if with_targets else [])
        )
    record = EpochRecord("fine-tune", 1, 0.5, examples=examples)
    assert EpochRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
