"""Scores for files and arrays are those of the network itself; what cannot be scored is named."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from tests.oracles import metrics as oracle
from trilabel import metrics
from trilabel.config import Config
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.images import resized
from trilabel.errors import TrilabelError
from trilabel.inference.predictor import Model, Predictions, arrays_to_images, load
from trilabel.inference.predictor import picture as for_display
from trilabel.labels import Labels
from trilabel.models import create_model
from trilabel.training import checkpoint
from trilabel.training.run_folder import RunFolder

SIZE, CLASSES = 16, ["cat", "dog", "hen"]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(pictures):
    torch.manual_seed(0)
    model = Model(create_model(Config(), len(CLASSES), image_size=SIZE), CLASSES, CPU)
    with torch.no_grad():  # the scores of a random network lie close together: spread them
        logits = model.classifier(model.views.plain(torch.from_numpy(pictures).permute(0, 3, 1, 2))).logits
        head, spread = model.classifier.head.linear, logits.std(0)
        head.weight.div_(spread[:, None])
        head.bias.sub_(logits.mean(0)).div_(spread)
    return model


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(0).integers(0, 256, (9, SIZE, SIZE, 3), dtype=np.uint8)


def by_hand(model, pictures):
    """N×C probabilities, one image at a time."""
    rows = []
    for picture in pictures:
        pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None]
        with torch.no_grad():
            rows.append(model.classifier(model.views.plain(resized(pixels, SIZE))).logits.sigmoid()[0])
    return torch.stack(rows).numpy()


@pytest.fixture
def folder(tmp_path, pictures):
    for number, picture in enumerate(pictures[:5]):
        path = tmp_path / ("deep/er" if number == 2 else ".") / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


# ---- arrays


def test_every_layout_and_type_gives_the_same_images(pictures):
    expected = torch.from_numpy(pictures).permute(0, 3, 1, 2)
    share = pictures / 255
    read_only = pictures.copy()
    read_only.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for given in (
            pictures,
            pictures.transpose(0, 3, 1, 2),
            pictures[..., ::-1].copy()[..., ::-1],
            read_only,
            torch.from_numpy(pictures),
            expected,
            share,
            share.astype(np.float32),
            share.astype(np.float16),
            torch.from_numpy(share).permute(0, 3, 1, 2),
            list(pictures),
            tuple(share),
            [torch.from_numpy(picture) for picture in pictures],
            [Image.fromarray(picture) for picture in pictures],
            list(expected.numpy()),
        ):
            got = arrays_to_images(given, SIZE)
            assert got.dtype == torch.uint8 and torch.equal(got, expected)


def test_float_colours_are_rounded_to_the_nearest():
    shares = np.array([0, 0.499 / 255, 0.501 / 255, 0.999, 1])
    given = np.broadcast_to(shares[:, None, None, None], (5, SIZE, SIZE, 3)).astype(np.float32)
    assert arrays_to_images(given, SIZE)[:, 0, 0, 0].tolist() == [0, 0, 1, 255, 255]


def test_images_of_different_sizes_and_of_three_pixels_a_side():
    sizes = [(20, 30), (5, 7), (SIZE, SIZE), (1, 1)]
    pictures = [np.full((*size, 3), 40 + number, np.uint8) for number, size in enumerate(sizes)]
    got = arrays_to_images(pictures, SIZE)
    assert got.shape == (4, 3, SIZE, SIZE) and got.flatten(1).float().mean(1).tolist() == [40, 41, 42, 43]
    three = np.zeros((2, 3, 3, 3), np.uint8)
    three[:, 1] = 9
    assert arrays_to_images(three, 3)[:, 1].min() == 9, "where both would fit, channels come first"
    assert arrays_to_images([], SIZE).shape == (0, 3, SIZE, SIZE)
    assert arrays_to_images(np.zeros((0, 8, 8, 3)), SIZE).shape == (0, 3, SIZE, SIZE)


def with_value(value):
    pictures = np.zeros((5, 4, 4, 3), np.float32)
    pictures[3, 1, 2, 0] = value
    return pictures


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.01, 1.01, 255.0])
def test_numbers_that_are_no_colours_are_refused_and_their_image_is_named(value):
    for given in (with_value(value), list(with_value(value)), torch.from_numpy(with_value(value))):
        with pytest.raises(TrilabelError, match=r"^image array 3: float images are finite and in \[0, 1\]"):
            arrays_to_images(given, SIZE)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.zeros((4, 4, 3), np.uint8), r"image array 0: .*this is \(4, 4, 3\)"),
        (np.zeros((2, 4, 4, 1), np.uint8), r"this is \(2, 4, 4, 1\)"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4), np.uint8)], r"image array 1: .*this is \(1, 4, 4\)"),
        (np.zeros((2, 4, 4, 3), np.int64), "not torch.int64"),
        (np.zeros((2, 4, 4, 3), bool), "not torch.bool"),
        (np.zeros((2, 4, 4, 3), np.uint16), "not torch.uint16"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3), np.int32)], "image array 1: .*not torch.int32"),
        (np.zeros((2, 0, 4, 3), np.uint8), "no pixels"),
        (np.array([["a"]]), "image array 0: .*not <U1"),
        ([np.zeros((4, 4, 3), np.uint8), None], "image array 1: .*not object"),
        (None, "image array 0: .*not object"),
        ([[[1], [1, 2]]], "image array 0: not an array"),
    ],
)
def test_what_is_no_image_array_is_refused(given, says):
    with pytest.raises(TrilabelError, match=says) as caught:
        arrays_to_images(given, SIZE)
    assert "\n" not in str(caught.value)


# ---- predicting


def test_scores_are_those_of_the_network_one_image_at_a_time(model, pictures):
    expected = by_hand(model, pictures)
    assert expected.min() < 0.3 and expected.max() > 0.7 and expected.std(0).min() > 0.01
    for batch_size in (1, 4, 64):
        found = model.predict(pictures, batch_size=batch_size)
        np.testing.assert_allclose(found.scores, expected, atol=1e-5)
        assert found.ids == [str(number) for number in range(9)] and list(found.classes) == CLASSES
        assert found.scores.dtype == np.float32 and found.left_out == ()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_folder_a_list_of_files_and_one_file(model, pictures, folder, workers):
    expected = by_hand(model, pictures)
    order, names = [0, 1, 3, 4, 2], ["0.png", "1.png", "3.png", "4.png", "deep/er/2.png"]
    for given in (folder, str(folder)):
        found = model.predict(given, workers=workers)
        assert found.ids == [f"{folder}/{name}" for name in names]
        np.testing.assert_allclose(found.scores, expected[order], atol=1e-5)
    for given in ([folder / "4.png", folder / "0.png"], (str(folder / "4.png"), str(folder / "0.png"))):
        found = model.predict(given, workers=workers)
        assert found.ids == [str(folder / "4.png"), str(folder / "0.png")]
        np.testing.assert_allclose(found.scores, expected[[4, 0]], atol=1e-5)
    one = model.predict(str(folder / "1.png"), workers=0)
    assert one.ids == [str(folder / "1.png")]
    np.testing.assert_allclose(one.scores, expected[[1]], atol=1e-5)


def test_nothing_to_predict(model, tmp_path):
    for given in ([], np.zeros((0, 8, 8, 3), np.uint8)):
        found = model.predict(given, workers=0)
        assert found.ids == [] and found.scores.shape == (0, 3)
    with pytest.raises(TrilabelError, match="no image in this folder"):
        model.predict(tmp_path, workers=0)


def test_files_that_cannot_be_read(model, pictures, folder):
    (folder / "1.png").write_bytes((folder / "1.png").read_bytes()[:60])
    damaged = bytearray((folder / "3.png").read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF  # only decoding finds out
    (folder / "3.png").write_bytes(damaged)
    with pytest.raises(TrilabelError, match=r"1\.png: broken image"):
        model.predict(folder, workers=0)
    with pytest.raises(TrilabelError, match=r"3\.png: broken image"):
        model.predict([folder / "0.png", folder / "3.png"], workers=0)
    for given in (folder / "missing.png", [folder / "0.png", folder / "missing.png"]):
        with pytest.raises(TrilabelError, match=r"missing\.png: no such "):
            model.predict(given, workers=0)
    for batch_size in (1, 64):
        found = model.predict(folder, workers=0, broken="skip", batch_size=batch_size)
        assert found.ids == [f"{folder}/{name}" for name in ("0.png", "4.png", "deep/er/2.png")]
        np.testing.assert_allclose(found.scores, by_hand(model, pictures)[[0, 4, 2]], atol=1e-5)
        assert len(found.left_out) == 2 and "1.png" in found.left_out[0] and "3.png" in found.left_out[1]
    nothing = model.predict([folder / "1.png", folder / "3.png"], workers=0, broken="skip")
    assert nothing.ids == [] and nothing.scores.shape == (0, 3) and len(nothing.left_out) == 2


# ---- writing predictions

ODD = Predictions(
    ["a,b.jpg", 'quo"te', "日本.png"],
    ["image", "with, comma", "ünï"],
    np.array([[0.5, 0.25, 1.0], [0.49999997, 0.75, 0.9], [1e-9, 0.123456789, 0.0]], np.float32),
)


def test_csv_comes_back(tmp_path):
    ODD.to_csv(tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv", header=None, encoding="utf-8")
    assert table.iloc[0].tolist() == ["image", *ODD.classes]
    assert table.iloc[1:, 0].tolist() == ODD.ids
    np.testing.assert_allclose(table.iloc[1:, 1:].astype(float), ODD.scores, rtol=1e-5)


def test_records_name_what_is_present_best_first():
    records = ODD.to_records()
    assert [record["image"] for record in records] == ODD.ids
    assert [record["present"] for record in records] == [["ünï", "image"], ["ünï", "with, comma"], []]
    assert records[2]["scores"] == {"image": 0.0, "with, comma": 0.123457, "ünï": 0.0}
    assert [record["present"] for record in ODD.to_records(0.9)] == [["ünï"], [], []], "0.9 in float32 is a bit less"
    assert ODD.to_records(0.0)[0]["present"] == ["ünï", "image", "with, comma"]
    assert Predictions([], CLASSES, np.zeros((0, 3), np.float32)).to_records() == []


def test_json_is_the_records(tmp_path):
    ODD.to_json(tmp_path / "out.json", threshold=0.7)
    text = (tmp_path / "out.json").read_text(encoding="utf-8")
    assert json.loads(text) == ODD.to_records(0.7) and "日本" in text


# ---- evaluating


def dataset(pictures, dense, classes=CLASSES, splits=None, paths=None):
    labels = Labels.from_signed(dense, classes)
    images = None if paths else torch.from_numpy(pictures).permute(0, 3, 1, 2)
    return Dataset(labels.ids, paths, labels, {"test": np.arange(len(labels)), **(splits or {})}, images=images)


@pytest.fixture(scope="module")
def dense(pictures):
    draw = np.random.default_rng(0)
    values = draw.choice(np.array([-1, 0, 1], np.int8), (len(pictures), 3), p=[0.4, 0.2, 0.4])
    assert (values == 1).any(0).all() and (values == -1).any(0).all()
    return values


def assert_same_numbers(found, expected):
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value), name


def test_evaluation_is_that_of_the_scores(model, pictures, dense):
    scores = by_hand(model, pictures)
    for threshold in (0.5, 0.2, 0.9):
        found = model.evaluate(dataset(pictures, dense), threshold=threshold, batch_size=4)
        assert_same_numbers(found, metrics.evaluate(scores, dense, threshold=threshold))
        assert (found["split"], found["threshold"], found["left_out_classes"]) == ("test", threshold, [])
    json.dumps(found)


def test_a_threshold_of_0_or_1(model, pictures, dense):
    assert model.evaluate(dataset(pictures, dense), threshold=0.0)["CR"] == 1.0
    assert model.evaluate(dataset(pictures, dense), threshold=1.0)["OR"] == 0.0


def test_classes_are_matched_by_name(model, pictures, dense):
    straight = model.evaluate(dataset(pictures, dense))
    turned = model.evaluate(dataset(pictures, dense[:, [2, 0, 1]], ["hen", "cat", "dog"]))
    assert turned["mAP"] == pytest.approx(straight["mAP"])
    assert turned["per_class_ap"] == [pytest.approx(straight["per_class_ap"][column]) for column in (2, 0, 1)]
    part = model.evaluate(dataset(pictures, dense[:, [1]], ["dog"]))
    assert part["per_class_ap"] == [pytest.approx(straight["per_class_ap"][1])] and part["classes"] == 1


def test_classes_that_the_model_does_not_know(model, pictures, dense):
    data = dataset(pictures, np.hstack([dense[:, [0]], dense]), ["fox", "hen", "cat", "owl"])
    with pytest.raises(TrilabelError, match=r"2 classes that the model does not know, e\.g\. 'fox'.*--common-classes"):
        model.evaluate(data)
    found = model.evaluate(data, common_classes=True)
    scores = by_hand(model, pictures)
    assert_same_numbers(found, metrics.evaluate(scores[:, [2, 0]], dense[:, [0, 1]]))
    assert found["left_out_classes"] == ["fox", "owl"] and found["classes"] == 2
    with pytest.raises(TrilabelError, match="no class in common"):
        model.evaluate(dataset(pictures, dense, ["x", "y", "z"]), common_classes=True)


def test_a_class_without_presents_has_no_score_and_is_counted(model, pictures, dense):
    without = dense.copy()
    without[:, 1] = -1
    found = model.evaluate(dataset(pictures, without))
    assert found["per_class_ap"][1] is None and found["classes_without_ap"] == 1
    known = [value for value in found["per_class_ap"] if value is not None]
    assert found["mAP"] == pytest.approx(np.mean(known))


def test_only_the_split_is_scored(model, pictures, dense):
    rows = np.array([7, 2, 5])
    data = dataset(pictures, dense, splits={"dev": rows, "none": np.zeros(0, np.int64)})
    found = model.evaluate(data, "dev")
    assert found["images"] == 3
    assert_same_numbers(found, metrics.evaluate(by_hand(model, pictures)[rows], dense[rows]))
    assert model.evaluate(data, "all")["images"] == 9
    with pytest.raises(TrilabelError, match="split 'none' has no images to score"):
        model.evaluate(data, "none")
    with pytest.raises(TrilabelError, match="no split named 'train'"):
        model.evaluate(data, "train")


def test_broken_files_are_left_out_of_the_scores(model, pictures, dense, tmp_path):
    paths = [str(tmp_path / f"{number}.png") for number in range(len(pictures))]
    for path, picture in zip(paths, pictures, strict=True):
        Image.fromarray(picture).save(path)
    data = dataset(pictures, dense, paths=paths)
    assert_same_numbers(model.evaluate(data, workers=0), metrics.evaluate(by_hand(model, pictures), dense))
    (tmp_path / "2.png").unlink()
    (tmp_path / "6.png").write_text("no image")  # only decoding finds out
    with pytest.raises(TrilabelError, match=r"2\.png: no such image"):
        model.evaluate(data, workers=0)
    good = [0, 1, 3, 4, 5, 7, 8]
    for batch_size in (1, 3, 64):
        found = model.evaluate(data, workers=0, broken="skip", batch_size=batch_size)
        assert found["images"] == 7
        assert_same_numbers(found, metrics.evaluate(by_hand(model, pictures)[good], dense[good]))
    logits, rows = model.score_rows(data, np.array([8, 2, 6, 0]), workers=0, broken="skip")
    assert rows.tolist() == [8, 0]
    np.testing.assert_allclose(logits.sigmoid(), by_hand(model, pictures)[[8, 0]], atol=1e-5)


def test_a_network_that_gives_no_numbers_is_not_taken_for_broken_files(pictures, dense):
    classifier = create_model(Config(), 3, image_size=SIZE)
    torch.nn.init.constant_(classifier.head.linear.bias, torch.nan)
    broken = Model(classifier, CLASSES, CPU)
    with pytest.raises(TrilabelError, match="is NaN"):
        broken.evaluate(dataset(pictures, dense), broken="skip")
    assert len(broken.predict(pictures, broken="skip").ids) == len(pictures)


# ---- looking at the right place


@pytest.fixture(scope="module")
def large():
    """Squares of three colors, anywhere."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 60, (9, 48, 48, 3), dtype=np.uint8)
    for image in images:
        for color in range(3):
            y, x = rng.integers(0, 36, 2)
            image[y : y + 12, x : x + 12, color] = 255
    return images


@pytest.fixture(scope="module")
def keen(large):
    """A model with maps large enough to peak at different places."""
    torch.manual_seed(0)
    keen = Model(create_model(Config(), len(CLASSES), image_size=48), CLASSES, CPU)
    peaks = maps_by_hand(keen, large).reshape(9, 3, -1).argmax(2)
    assert all(len(set(peaks[:, column])) > 4 for column in range(3)), "each class peaks here and there"
    assert (peaks[:, 0] != peaks[:, 1]).sum() > 4 and (peaks[:, 0] != peaks[:, 2]).sum() > 4
    return keen


def with_boxes(data, seed=0, count=60):
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    boxes = Boxes(rng.integers(0, len(data), count), rng.integers(0, len(data.classes), count), corners)
    return replace(data, boxes=boxes)


def maps_by_hand(model, pictures):
    with torch.no_grad():
        batch = torch.from_numpy(pictures).permute(0, 3, 1, 2)
        return model.classifier(model.views.plain(resized(batch, model.image_size)), maps=True).maps.numpy()


def game_by_hand(model, pictures, data, rows, columns):
    """(share, pairs) of the pointing game over these rows; columns[c] is the model's for class c of the data, or −1."""
    maps, signed, boxes = maps_by_hand(model, pictures), data.labels.to_signed(), {}
    for image, cls, corners in zip(*(part.tolist() for part in data.boxes), strict=True):
        if image in rows and columns[cls] >= 0:
            boxes.setdefault((image, cls), []).append(corners)
    turned = maps[:, columns].tolist()
    return oracle.pointing_game(turned, signed, boxes), sum(signed[pair] > 0 for pair in boxes)


def test_the_pointing_game_is_that_of_all_maps_at_once(keen, large, dense):
    data = with_boxes(dataset(large, dense, splits={"dev": np.array([7, 2, 5, 0])}))
    for split, batch_size in (("test", 1), ("test", 4), ("test", 64), ("dev", 3)):
        share, pairs = game_by_hand(keen, large, data, data.rows_of(split).tolist(), [0, 1, 2])
        found = keen.evaluate(data, split, batch_size=batch_size, pointing=True)
        assert found["pointing_game"] == pytest.approx(share) and found["pointing_game_pairs"] == pairs > 2
        assert 0 < share < 1
        assert found["mAP"] == pytest.approx(keen.evaluate(data, split)["mAP"])
    json.dumps(found)
    assert "pointing_game" not in keen.evaluate(data)


def test_boxes_are_matched_to_the_classes_by_name(keen, large, dense):
    four = np.hstack([dense[:, [0]], dense])
    data = with_boxes(dataset(large, four, ["fox", "hen", "cat", "owl"]))
    share, pairs = game_by_hand(keen, large, data, range(9), [-1, 2, 0, -1])
    found = keen.evaluate(data, common_classes=True, pointing=True, batch_size=4)
    assert found["pointing_game"] == pytest.approx(share) and found["pointing_game_pairs"] == pairs
    hen = game_by_hand(keen, large, data, range(9), [-1, 2, -1, -1])[0]
    assert found["per_class_pointing_game"]["hen"] == pytest.approx(hen)
    assert set(found["per_class_pointing_game"]) == {"hen", "cat"}
    cat = game_by_hand(keen, large, data, range(9), [-1, -1, 0, -1])[0]
    assert found["pointing_game_by_class"] == pytest.approx((hen + cat) / 2) and hen != cat


def test_broken_files_are_left_out_of_the_pointing_game(keen, large, dense, tmp_path):
    paths = [str(tmp_path / f"{number}.png") for number in range(len(large))]
    for path, image in zip(paths, large, strict=True):
        Image.fromarray(image).save(path)
    (tmp_path / "2.png").unlink()
    (tmp_path / "6.png").write_text("no image")  # only decoding finds out
    data = with_boxes(dataset(large, dense, paths=paths))
    share, pairs = game_by_hand(keen, large, data, [0, 1, 3, 4, 5, 7, 8], [0, 1, 2])
    for batch_size in (1, 4):
        found = keen.evaluate(data, workers=0, broken="skip", batch_size=batch_size, pointing=True)
        assert found["pointing_game"] == pytest.approx(share) and found["pointing_game_pairs"] == pairs


def test_without_boxes_there_is_no_pointing_game(keen, large, dense):
    data = with_boxes(dataset(large, dense))
    elsewhere = replace(
        data, splits={"test": np.array([3])}, boxes=Boxes(np.array([4]), np.array([0]), np.ones((1, 4)))
    )
    for without in (replace(data, boxes=None), elsewhere):
        with pytest.raises(TrilabelError, match="split 'test' has no boxes"):
            keen.evaluate(without, pointing=True)
    unknown = with_boxes(dataset(large, 0 * dense))
    found = keen.evaluate(unknown, pointing=True)
    assert found["pointing_game"] is None and found["pointing_game_pairs"] == 0


# ---- class maps


def test_maps_are_those_of_the_network_and_come_a_batch_at_a_time(keen, large, dense, monkeypatch):
    expected, scores = maps_by_hand(keen, large), keen.predict(large).scores
    rows = np.array([5, 1, 8])
    for looks, order in (
        (keen.maps(large, batch_size=4), range(9)),
        (keen.maps(list(large), batch_size=64), range(9)),
        (keen.maps_of_rows(dataset(large, dense), rows, batch_size=2), rows.tolist()),
    ):
        looks = list(looks)
        assert [look.id.removeprefix("image-") for look in looks] == [str(number) for number in order]
        for look, number in zip(looks, order, strict=True):
            np.testing.assert_allclose(look.maps, expected[number], atol=1e-4)
            np.testing.assert_allclose(look.probabilities, scores[number], atol=1e-5)
            assert np.array_equal(look.image, large[number]) and look.image.dtype == np.uint8
    passes = []
    monkeypatch.setattr(keen, "classifier", CountPasses(keen.classifier, passes))
    looks = keen.maps(large, batch_size=2)
    next(looks), next(looks)
    assert passes == [2]
    next(looks)
    assert passes == [2, 2]
    assert list(keen.maps([])) == []


class CountPasses(torch.nn.Module):
    def __init__(self, inner, passes):
        super().__init__()
        self.inner, self.passes, self.backbone = inner, passes, inner.backbone

    def forward(self, images, maps=False):
        self.passes.append(len(images))
        return self.inner(images, maps=maps)


def test_pictures_have_their_own_proportions(model, tmp_path):
    left_red = np.zeros((300, 800, 3), np.uint8)
    left_red[:, :400, 0] = 200
    Image.fromarray(left_red).save(tmp_path / "wide.png")
    turned = Image.Exif()
    turned[0x0112] = 6  # to be turned a quarter clockwise
    Image.fromarray(left_red).save(tmp_path / "turned.png", exif=turned)
    Image.fromarray(left_red[:1]).save(tmp_path / "line.png")
    Image.fromarray(left_red[:30, 380:420]).save(tmp_path / "small.png")
    shapes = {Path(look.id).stem: look.image.shape for look in model.maps(tmp_path, workers=0)}
    assert shapes == {"wide": (192, 512, 3), "turned": (512, 192, 3), "line": (1, 512, 3), "small": (30, 40, 3)}
    wide, upright = for_display(str(tmp_path / "wide.png")), for_display(str(tmp_path / "turned.png"))
    assert wide[:, :250, 0].min() == 200 and wide[:, 262:].max() == 0
    assert upright[:250, :, 0].min() == 200 and upright[262:].max() == 0
    arrays = [left_red, np.zeros((8, 6, 3), np.float32)]
    assert [look.image.shape for look in model.maps(arrays)] == [(192, 512, 3), (8, 6, 3)]


def test_maps_of_broken_files(model, pictures, folder, caplog):
    (folder / "1.png").write_bytes((folder / "1.png").read_bytes()[:60])
    (folder / "3.png").write_text("no image")
    with pytest.raises(TrilabelError, match=r"1\.png: broken image"):
        list(model.maps(folder, workers=0))
    for batch_size in (1, 64):
        caplog.clear()
        looks = list(model.maps(folder, workers=0, broken="skip", batch_size=batch_size))
        assert [Path(look.id).stem for look in looks] == ["0", "4", "2"]
        for look, number in zip(looks, (0, 4, 2), strict=True):
            assert np.array_equal(look.image, pictures[number])
            np.testing.assert_allclose(look.maps, maps_by_hand(model, pictures)[number], atol=1e-4)
        said = caplog.text
        assert said.count("left out: ") == 2 and "1.png" in said and "3.png" in said


def test_maps_that_are_no_numbers_and_heads_that_have_none(pictures, dense, monkeypatch):
    classifier = create_model(Config(), 3, image_size=SIZE)
    torch.nn.init.constant_(classifier.head.linear.bias, torch.nan)
    broken = Model(classifier, CLASSES, CPU)
    with pytest.raises(TrilabelError, match=r"^0: its class maps are not finite"):
        next(broken.maps(pictures))

    def none(feature_map):
        raise TrilabelError("this head has no class maps")

    monkeypatch.setattr(classifier.head, "maps", none)
    for call in (
        lambda: next(broken.maps(pictures)),
        lambda: broken.evaluate(with_boxes(dataset(pictures, dense)), pointing=True),
    ):
        with pytest.raises(TrilabelError, match="this head has no class maps"):
            call()


# ---- loading


def test_a_model_comes_back_from_its_run_folder(model, pictures, dense, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.describe(Config(), CLASSES, SIZE, Labels.from_signed(dense, CLASSES), {})
    checkpoint.save(folder.best, checkpoint.prefixed("model", model.classifier.state_dict()), {})
    loaded = load(folder.path, device="cpu")
    assert loaded.classes == CLASSES and loaded.image_size == SIZE
    assert np.array_equal(loaded.predict(pictures).scores, model.predict(pictures).scores)
    folder.describe(replace(Config(), epochs=3), CLASSES[:2], SIZE, Labels.from_signed(dense, CLASSES), {})
    with pytest.raises(TrilabelError, match=r"best\.safetensors: does not fit the model in config\.json"):
        load(str(folder.path), device="cpu")
    with pytest.raises(TrilabelError, match="not a run folder"):
        load(tmp_path)
