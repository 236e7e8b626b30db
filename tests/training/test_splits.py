"""Which rows a run learns from and is judged by."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate
from trilabel.training.splits import check_validation, judged_labels, split_for_training, validation_truth

quick = settings(max_examples=50, deadline=None)


def dataset(count=20, **splits):
    labels = Labels.from_signed(np.ones((count, 2), np.int8))
    return Dataset(labels.ids, list(labels.ids), labels, {name: np.array(rows) for name, rows in splits.items()})


def test_auto_takes_the_validation_split_where_there_is_one():
    data, train, val = split_for_training(dataset(train=[0, 1, 2], val=[3, 4], test=[5]), Config())
    assert train.tolist() == [0, 1, 2] and val.tolist() == [3, 4]
    assert set(data.splits) == {"train", "val", "test"}


@pytest.mark.parametrize("extra", [{}, {"val": np.zeros(0, np.int64)}])
def test_auto_sets_a_share_apart_where_there_is_none(extra):
    rows = np.arange(2, 17)
    data, train, val = split_for_training(dataset(train=rows, test=[0, 1], **extra), Config())
    assert len(val) == 3 and sorted([*train, *val]) == rows.tolist()
    assert data.splits["held-out"].tolist() == val.tolist() and data.splits["test"].tolist() == [0, 1]


@quick
@given(st.integers(2, 60), st.floats(0.001, 0.999))
def test_a_share_is_taken_from_the_training_images_only(count, share):
    rows = np.arange(3, 3 + count)
    _, train, val = split_for_training(dataset(70, train=rows), Config(val=str(share)))
    assert sorted([*train, *val]) == rows.tolist()
    assert len(train) >= 1 and len(val) == min(max(1, round(share * count)), count - 1)


def test_the_share_does_not_change_with_the_seed_of_the_run():
    held_out = [split_for_training(dataset(train=range(20)), Config(val="0.3", seed=seed))[2] for seed in (0, 1)]
    assert held_out[0].tolist() == held_out[1].tolist() != list(range(6))


def test_a_split_by_name():
    splits = {"train": [0, 1], "dev": [2, 3], "val": [4], "2017": [5], "0.5": [6, 7]}
    for name in ("dev", "2017", "0.5"):
        _, train, val = split_for_training(dataset(**splits), Config(val=name))
        assert train.tolist() == [0, 1] and val.tolist() == splits[name], "even where the name reads like a share"


def test_no_validation():
    _, train, val = split_for_training(dataset(train=[0, 1], val=[2]), Config(val="none"))
    assert train.tolist() == [0, 1] and len(val) == 0


def test_learning_from_all_images():
    _, train, val = split_for_training(dataset(10), Config(train_split="all"))
    assert len(val) == 2 and sorted([*train, *val]) == list(range(10))
    _, train, _ = split_for_training(dataset(10), Config(train_split="all", val="none"))
    assert train.tolist() == list(range(10))


@pytest.mark.parametrize(
    ("splits", "options", "says"),
    [
        ({"train": [0, 1, 2], "val": [2, 3]}, {}, r"1 image is both in the training split 'train' and in .*'val'"),
        ({"train": [0, 1]}, {"val": "train"}, "2 images are both"),
        ({"train": [0, 1]}, {"val": "all"}, "2 images are both"),
        ({"train": [], "val": [1]}, {}, "split 'train' has no images to learn from"),
        ({"train": []}, {"val": "none"}, "split 'train' has no images to learn from"),
        ({"train": []}, {}, "too few to hold out a share"),
        ({"train": [1]}, {}, "split 'train' has 1 image: too few"),
        ({"train": [1], "dev": []}, {"val": "dev"}, "--val dev: this split has no images"),
        ({"test": [0]}, {}, r"no split named 'train' .*it has: test"),
        ({"train": [0, 1]}, {"val": "dev"}, "no split named 'dev'"),
        ({"train": [0, 1]}, {"val": "1.5"}, "--val 1.5: give a share of the training images between 0 and 1"),
        ({"train": [0, 1]}, {"val": "nan"}, "--val nan: give a share"),
        ({"train": [0, 1]}, {"val": "0"}, "--val 0: give a share"),
    ],
)
def test_splits_that_cannot_be_used_are_refused(splits, options, says):
    data = dataset(**{name: np.array(rows, np.int64) for name, rows in splits.items()})
    with pytest.raises(TrilabelError, match=says):
        split_for_training(data, Config(**options))


def test_validation_labels_that_tell_little(caplog):
    check_validation(Labels.from_signed(np.zeros((0, 2))), "mAP")
    check_validation(Labels.from_signed([[1, 1], [-1, -1]]), "mAP")
    assert not caplog.records
    check_validation(Labels.from_signed([[1, 0], [-1, -1]], ["cat", "dog"]), "mAP")
    logged = caplog.text
    assert (
        "known to have 'dog'; its mAP leaves 1 class out" in logged and "75.0% of validation labels are known" in logged
    )
    with pytest.raises(TrilabelError, match="no epoch can be chosen"):
        check_validation(Labels.from_signed([[-1, 0]]), "mAP")


def test_without_negatives_all_others_count_as_absent_to_choose_the_epoch_by(caplog):
    only = Labels.from_signed([[1, 0], [0, 1]])
    assert validation_truth(only).tolist() == [[1, -1], [-1, 1]]
    check_validation(only, "mAP")
    assert "no validation label is known to be absent" in caplog.text
    for mixed in (Labels.from_signed([[1, 0], [-1, 1]]), only[:0]):
        assert validation_truth(mixed) is mixed
    caplog.clear()
    check_validation(Labels.from_signed([[1, 0], [-1, 1]]), "mAP")
    assert "known to be absent" not in caplog.text


def test_a_share_of_the_images_at_all_and_labels_of_these_hidden():
    whole = split_for_training(dataset(40, train=range(5, 35), val=range(5)), Config())
    some = whole.hide("images=0.2", None)
    assert len(some.train) == 6 and set(some.train) < set(whole.train) and some.train.tolist() == sorted(some.train)
    assert some.dataset.labels == whole.dataset.labels and np.array_equal(some.val, whole.val)
    assert not np.array_equal(some.train, whole.hide("images=0.2", 1).train)
    both = whole.hide("images=0.2+single-positive", None)
    assert np.array_equal(both.train, some.train) and both.labels.known == 6
    assert both.dataset.labels[5:35].known == 6 + 2 * 24  # the others keep theirs, and are not learned from
    for setting, says in (
        ("images=2", "a share must be between 0 and 1"),
        ("images=few", "write images=SHARE"),
        ("images=0.2+", r"'images=0.2\+' cannot be read; write images=SHARE"),
        ("images=0", "leaves no image to learn from"),
        ("images=0.5+wrong", "no label setting named 'wrong'"),
    ):
        with pytest.raises(TrilabelError, match=says):
            whole.hide(setting, None)


def test_labels_are_drawn_before_or_after_the_split():
    """`hide` draws after it; Cole's order, drawn for all and validation whole, is made as docs/methods.md does."""
    full = Labels.from_signed(np.where(np.random.default_rng(0).random((60, 8)) < 0.5, 1, -1))
    data = Dataset(full.ids, list(full.ids), full, {"train": np.arange(5, 60), "test": np.arange(5)})
    drawn = simulate.apply_to_rows(full, data.rows_of("train"), "single-positive")
    split = data.with_split_off("held-out", 0.2)
    split = split.with_labels(drawn.merge(full[split.rows_of("held-out")]))
    first = split_for_training(split, Config(val="held-out"))
    after = split_for_training(data, Config(val="0.2")).hide("single-positive", None)
    assert first.train.tolist() == after.train.tolist() and len(first.val) == len(after.val) == 11
    for one in (first, after):
        assert one.dataset.labels[one.val] == full[one.val], "validation is whole"
        assert (one.labels.to_signed() > 0).sum(1).tolist() == [1] * 44 == (one.labels.to_signed() != 0).sum(1).tolist()
    assert first.labels == simulate.single_positive(full[5:])[first.train - 5] != after.labels


def test_negatives_that_people_were_asked_for_are_no_sample_of_the_others() -> None:
    """Where the data names one positive of an image, statistics rest on positives, and the rest counts as absent."""
    labels = Labels.from_signed([[1, 0, -1], [1, 1, 0]])
    own = replace(Config(), method="posterior", settings={"rates": "one-of-k"})
    assert judged_labels(own, labels).to_signed().tolist() == [[1, 0, 0], [1, 1, 0]]
    assert np.asarray(validation_truth(judged_labels(own, labels))).tolist() == [[1, -1, -1], [1, 1, -1]]
    for other in (replace(own, settings={}), replace(own, method="known-only", settings={})):
        assert judged_labels(other, labels) is labels


def test_images_of_splits_that_nothing_uses_are_told(caplog):
    caplog.set_level("INFO")
    split_for_training(dataset(train=[0, 1], val=[2], test=[3], tset=[4, 5], both=[0, 2, 6]), Config())
    told = [record.getMessage() for record in caplog.records]
    assert told == ["2 images of split 'tset' are not used", "1 image of split 'both' is not used"]
