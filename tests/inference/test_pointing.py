"""The pointing game over batches is that of all class maps at once."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from tests.oracles import metrics as oracle
from tests.support.models_by_hand import dataset, maps_by_hand, with_boxes
from trilabel.data.boxes import Boxes
from trilabel.errors import TrilabelError


def game_by_hand(model, pictures, data, rows, columns):
    """(share, pairs) of the pointing game over these rows; columns[c] is the model's for class c of the data, or −1."""
    maps, signed, boxes = maps_by_hand(model, pictures), data.labels.to_signed(), {}
    for image, cls, corners in zip(*(part.tolist() for part in data.boxes), strict=True):
        if image in rows and columns[cls] >= 0:
            boxes.setdefault((image, cls), []).append(corners)
    turned = maps[:, columns].tolist()
    return oracle.pointing_game(turned, signed, boxes), sum(signed[pair] > 0 for pair in boxes)


def test_the_pointing_game_is_that_of_all_maps_at_once(map_model, squares, dense):
    data = with_boxes(dataset(squares, dense, splits={"dev": np.array([7, 2, 5, 0])}))
    for split, batch_size in (("test", 1), ("test", 4), ("test", 64), ("dev", 3)):
        share, pairs = game_by_hand(map_model, squares, data, data.rows_of(split).tolist(), [0, 1, 2])
        found = map_model.evaluate(data, split, batch_size=batch_size, pointing=True)
        assert found["pointing_game"] == pytest.approx(share) and found["pointing_game_pairs"] == pairs > 2
        assert 0 < share < 1
        assert found["mAP"] == pytest.approx(map_model.evaluate(data, split)["mAP"])
    json.dumps(found)
    assert "pointing_game" not in map_model.evaluate(data)


def test_boxes_are_matched_to_the_classes_by_name(map_model, squares, dense):
    four = np.hstack([dense[:, [0]], dense])
    data = with_boxes(dataset(squares, four, ["fox", "hen", "cat", "owl"]))
    share, pairs = game_by_hand(map_model, squares, data, range(9), [-1, 2, 0, -1])
    found = map_model.evaluate(data, common_classes=True, pointing=True, batch_size=4)
    assert found["pointing_game"] == pytest.approx(share) and found["pointing_game_pairs"] == pairs
    hen = game_by_hand(map_model, squares, data, range(9), [-1, 2, -1, -1])[0]
    assert found["per_class_pointing_game"]["hen"] == pytest.approx(hen)
    assert set(found["per_class_pointing_game"]) == {"hen", "cat"}
    cat = game_by_hand(map_model, squares, data, range(9), [-1, -1, 0, -1])[0]
    assert found["pointing_game_by_class"] == pytest.approx((hen + cat) / 2) and hen != cat


def test_broken_files_are_left_out_of_the_pointing_game(map_model, squares, dense, tmp_path):
    paths = [str(tmp_path / f"{number}.png") for number in range(len(squares))]
    for path, image in zip(paths, squares, strict=True):
        Image.fromarray(image).save(path)
    (tmp_path / "2.png").unlink()
    (tmp_path / "6.png").write_text("no image")  # only decoding finds out
    data = with_boxes(dataset(squares, dense, paths=paths))
    share, pairs = game_by_hand(map_model, squares, data, [0, 1, 3, 4, 5, 7, 8], [0, 1, 2])
    for batch_size in (1, 4):
        found = map_model.evaluate(data, workers=0, broken="skip", batch_size=batch_size, pointing=True)
        assert found["pointing_game"] == pytest.approx(share) and found["pointing_game_pairs"] == pairs


def test_without_boxes_there_is_no_pointing_game(map_model, squares, dense):
    data = with_boxes(dataset(squares, dense))
    elsewhere = replace(
        data, splits={"test": np.array([3])}, boxes=Boxes(np.array([4]), np.array([0]), np.ones((1, 4)))
    )
    for without in (replace(data, boxes=None), elsewhere):
        with pytest.raises(TrilabelError, match="split 'test' has no boxes"):
            map_model.evaluate(without, pointing=True)
    unknown = with_boxes(dataset(squares, 0 * dense))
    found = map_model.evaluate(unknown, pointing=True)
    assert found["pointing_game"] is None and found["pointing_game_pairs"] == 0
