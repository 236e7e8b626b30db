"""Scores for files and arrays are those of the network itself; what cannot be scored is named."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from trilabel import checkpoint, metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import resized
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models import create_model
from trilabel.predict import Model, Predictions, arrays_to_images, load
from trilabel.run_folder import RunFolder

SIZE, CLASSES = 16, ["cat", "dog", "hen"]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model(pictures):
    torch.manual_seed(0)
    model = Model(create_model("tiny", "gap", len(CLASSES), image_size=SIZE), CLASSES, CPU)
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
    classifier = create_model("tiny", "gap", 3, image_size=SIZE)
    torch.nn.init.constant_(classifier.head.linear.bias, torch.nan)
    broken = Model(classifier, CLASSES, CPU)
    with pytest.raises(TrilabelError, match="is NaN"):
        broken.evaluate(dataset(pictures, dense), broken="skip")
    assert len(broken.predict(pictures, broken="skip").ids) == len(pictures)


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
