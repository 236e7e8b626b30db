"""The pointing game: against its definition, by class and in batches."""

import math

import numpy as np
import pytest

from tests.oracles import metrics as oracle
from tests.support.metric_cases import Sparse, close
from trilabel import metrics
from trilabel.data.boxes import Boxes, BoxesByImage
from trilabel.errors import TrilabelError


def random_game(seed, images=30, classes=4, count=200):
    rng = np.random.default_rng(seed)
    maps, labels = (
        rng.integers(0, 6, (images, classes, 5, 7)).astype(np.float32),
        rng.integers(-1, 2, (images, classes)),
    )
    corners = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    return maps, labels, Boxes(rng.integers(0, images, count), rng.integers(0, classes, count), corners)


def as_lists(boxes, chosen=lambda image, cls: True):
    """{(image, class): [corners, …]}, as the oracle takes boxes."""
    found = {}
    for image, cls, corners in zip(boxes.image.tolist(), boxes.cls.tolist(), boxes.xyxy.tolist(), strict=True):
        if chosen(image, cls):
            found.setdefault((image, cls), []).append(corners)
    return found


def test_pointing_game():
    rng = np.random.default_rng(5)
    maps, labels = rng.integers(0, 6, (30, 4, 5, 7)).astype(np.float32), rng.integers(-1, 2, (30, 4))
    corners = np.sort(rng.random((200, 2, 2)), axis=1).reshape(200, 4)
    image, label = rng.integers(0, 30, 200), rng.integers(0, 4, 200)
    boxes = {}
    for i, c, box in zip(image.tolist(), label.tolist(), corners.tolist(), strict=True):
        boxes.setdefault((i, c), []).append(box)
    expected = oracle.pointing_game(maps.tolist(), labels, boxes)
    assert 0 < expected < 1
    for form in (labels, Sparse(labels)):
        assert metrics.pointing_game(maps, form, Boxes(image, label, corners)) == close(expected)
    assert math.isnan(metrics.pointing_game(maps, 0 * labels, Boxes(image, label, corners)))
    assert math.isnan(metrics.pointing_game(maps, labels, Boxes([], [], np.zeros((0, 4)))))
    with pytest.raises(TrilabelError, match="outside the 30 images or 4 classes"):
        metrics.pointing_game(maps, labels, Boxes([30], [0], corners[:1]))
    with pytest.raises(TrilabelError, match="M×4 corners"):
        metrics.pointing_game(maps, labels, Boxes([1], [0], corners))


def test_pointing_counts_by_class_and_batches_add_up():
    maps, labels, boxes = random_game(6)
    whole = metrics.pointing_counts(maps, labels, boxes)
    for c in range(4):
        ours = as_lists(boxes, lambda image, cls, c=c: cls == c)
        pairs = sum(labels[image, c] > 0 for image, _ in ours)
        assert whole[1, c] == pairs > 0
        assert whole[0, c] / pairs == close(oracle.pointing_game(maps.tolist(), labels, ours))
    by_image, rows = BoxesByImage(boxes), np.random.default_rng(0).permutation(30)
    parts = [rows[:1], rows[1:12], rows[12:12], rows[12:]]
    counted = [metrics.pointing_counts(maps[part], labels[part], by_image.of(part)) for part in parts]
    assert np.array_equal(sum(counted), whole) and not counted[2].any()
    empty = Boxes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4), np.float32))
    assert metrics.pointing_counts(maps, labels, empty).tolist() == [[0] * 4] * 2
    with pytest.raises(TrilabelError, match=r"image row 3, class 2 is NaN"):
        maps[3, 2, 1, 1] = np.nan
        metrics.pointing_counts(maps, labels, boxes)
