"""Boxes of images."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trilabel.data.boxes import Boxes, BoxesByImage


@given(st.lists(st.integers(0, 8), max_size=20), st.lists(st.integers(0, 9), max_size=12))
def test_boxes_of_some_rows(images, rows):
    cls, corners = np.arange(len(images)), np.random.default_rng(0).random((len(images), 4)).astype(np.float32)
    found = BoxesByImage(Boxes(np.array(images, np.int64), cls, corners)).of(np.array(rows, np.int64))
    expected = [(place, box) for place, row in enumerate(rows) for box, image in enumerate(images) if image == row]
    assert list(zip(found.image.tolist(), found.cls.tolist(), strict=True)) == expected
    assert np.array_equal(found.xyxy, corners[[box for _, box in expected]].reshape(-1, 4))
