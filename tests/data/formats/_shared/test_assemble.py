"""From statements about images to a data set, against one image and class at a time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import assembling
from trilabel.data.formats._shared.assemble import assemble, check_fits
from trilabel.errors import TrilabelError


@given(st.data())
def test_agrees_with_one_label_at_a_time(data):
    images, classes = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    entry = st.tuples(st.integers(0, images - 1), st.integers(0, classes - 1), st.sampled_from([-1, 1]))
    entries = data.draw(st.lists(entry, max_size=12))
    absent_in = data.draw(st.lists(st.integers(0, images - 1), max_size=6))
    expected, both = assembling.labels(images, classes, entries, absent_in)
    ids = [f"{i}.jpg" for i in range(images)]
    dataset = assemble(
        Path("x.json"), ids=ids, paths=ids, classes=list("abcd"[:classes]), entries=entries, absent_in=absent_in
    )
    assert dataset.labels.to_signed().tolist() == expected
    assert dataset.notes == ((f"{both} labels are given both as present and as absent: they are unknown",) * (both > 0))
    dataset.labels.csr.check_format(full_check=True)
    assert dataset.labels.csr.has_canonical_format


def test_splits_boxes_and_notes():
    dataset = assemble(
        Path("x"),
        ids=["1", "2", "3", "4"],
        paths=["1", "2", "3", "4"],
        classes=["cat"],
        entries=iter([(0, 0, 1)]),
        split_of=["Validation", "train", "", "valid"],
        boxes=iter([(0, 0, -0.5, 0.25, 0.5, float("nan"))]),
        notes=["a note"],
    )
    assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {"val": [0, 3], "train": [1]}
    assert dataset.boxes.xyxy.tolist() == [[0, 0.25, 0.5, 0]] and dataset.boxes.image.dtype == np.int64
    assert dataset.notes == ("a note",)
    empty = assemble(Path("x"), ids=["1"], paths=["1"], classes=["cat"], entries=[], boxes=[])
    assert empty.labels.known == 0 and empty.boxes.xyxy.shape == (0, 4)


def test_mistakes_name_what_was_read():
    with pytest.raises(TrilabelError, match=r"^x.json: image '1' is listed twice"):
        assemble(Path("x.json"), ids=["1", "1"], paths=["1", "1"], classes=["cat"], entries=[])


def test_absent_labels_that_do_not_fit_into_memory_are_refused_before_they_are_made():
    with pytest.raises(TrilabelError, match=r"x.yaml: 9,000,000 images × 999,999 classes .* GB of memory, .* are free"):
        check_fits(Path("x.yaml"), 9_000_000, 999_999)
    check_fits(Path("x.yaml"), 1000, 1000)
