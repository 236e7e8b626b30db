"""Scores for files and arrays are those of the network itself; what cannot be scored is named."""

import json

import numpy as np
import pytest
import torch
from PIL import Image

from tests.support.models_by_hand import CLASSES, CPU, SIZE, dataset, probabilities_by_hand, random_classifier
from trilabel import metrics
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.inference.loading import load
from trilabel.inference.predictor import Model
from trilabel.labels import Labels
from trilabel.training import checkpoint
from trilabel.training.description import RunDescription
from trilabel.training.run_folder import RunFolder


def test_scores_are_those_of_the_network_one_image_at_a_time(model, pictures):
    expected = probabilities_by_hand(model, pictures)
    assert expected.min() < 0.3 and expected.max() > 0.7 and expected.std(0).min() > 0.01
    for batch_size in (1, 4, 64):
        found = model.predict(pictures, batch_size=batch_size)
        np.testing.assert_allclose(found.scores, expected, atol=1e-5)
        assert found.ids == [str(number) for number in range(9)] and list(found.classes) == CLASSES
        assert found.scores.dtype == np.float32 and found.left_out == ()


@pytest.mark.parametrize("workers", [0, 2])
def test_a_folder_a_list_of_files_and_one_file(model, pictures, folder, workers):
    expected = probabilities_by_hand(model, pictures)
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
        np.testing.assert_allclose(found.scores, probabilities_by_hand(model, pictures)[[0, 4, 2]], atol=1e-5)
        assert len(found.left_out) == 2 and "1.png" in found.left_out[0] and "3.png" in found.left_out[1]
    nothing = model.predict([folder / "1.png", folder / "3.png"], workers=0, broken="skip")
    assert nothing.ids == [] and nothing.scores.shape == (0, 3) and len(nothing.left_out) == 2


# ---- evaluating


def assert_same_numbers(found, expected):
    for name, value in expected.items():
        assert found[name] == (pytest.approx(value, abs=1e-6) if isinstance(value, float) else value), name


def test_evaluation_is_that_of_the_scores(model, pictures, dense):
    scores = probabilities_by_hand(model, pictures)
    for threshold in (0.5, 0.2, 0.9):
        found = model.evaluate(dataset(pictures, dense), threshold=threshold, batch_size=4)
        assert_same_numbers(found, metrics.evaluate(scores, dense, threshold=threshold))
        assert (found["split"], found["threshold"], found["left_out_classes"]) == ("test", threshold, [])
    json.dumps(found)


def test_evaluation_of_a_table(model, pictures, tmp_path):
    Image.fromarray(pictures[0]).save(tmp_path / "1.png")
    (tmp_path / "labels.csv").write_text(
        "image," + ",".join(CLASSES) + ",split\n1.png" + ",1" * len(CLASSES) + ",test\n"
    )
    found = model.evaluate(tmp_path / "labels.csv", images=tmp_path)
    assert found["images"] == 1
    with pytest.raises(TrilabelError, match="data: dict; give the path"):
        model.evaluate({})


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
    with pytest.raises(TrilabelError, match=r"2 classes that the model does not have, e\.g\. 'fox'.*--common-classes"):
        model.evaluate(data)
    found = model.evaluate(data, common_classes=True)
    scores = probabilities_by_hand(model, pictures)
    assert_same_numbers(found, metrics.evaluate(scores[:, [2, 0]], dense[:, [0, 1]]))
    assert found["left_out_classes"] == ["fox", "owl"] and found["classes"] == 2
    with pytest.raises(TrilabelError, match="no class in common"):
        model.evaluate(dataset(pictures, dense, ["x", "y", "z"]), common_classes=True)


def test_a_class_without_positives_has_no_score_and_is_counted(model, pictures, dense):
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
    assert_same_numbers(found, metrics.evaluate(probabilities_by_hand(model, pictures)[rows], dense[rows]))
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
    scores = probabilities_by_hand(model, pictures)
    assert_same_numbers(model.evaluate(data, workers=0), metrics.evaluate(scores, dense))
    (tmp_path / "2.png").unlink()
    (tmp_path / "6.png").write_text("no image")  # only decoding finds out
    with pytest.raises(TrilabelError, match=r"2\.png: no such image"):
        model.evaluate(data, workers=0)
    good = [0, 1, 3, 4, 5, 7, 8]
    for batch_size in (1, 3, 64):
        found = model.evaluate(data, workers=0, broken="skip", batch_size=batch_size)
        assert found["images"] == 7
        assert_same_numbers(found, metrics.evaluate(scores[good], dense[good]))
    logits, rows = model.score_rows(data, np.array([8, 2, 6, 0]), workers=0, broken="skip")
    assert rows.tolist() == [8, 0]
    np.testing.assert_allclose(logits.sigmoid(), scores[[8, 0]], atol=1e-5)


def test_a_network_that_gives_no_numbers_is_not_taken_for_broken_files(pictures, dense):
    classifier = random_classifier()
    torch.nn.init.constant_(classifier.head.linear.bias, torch.nan)
    broken = Model(classifier, CLASSES, CPU)
    with pytest.raises(TrilabelError, match="gives NaN for image '"):
        broken.evaluate(dataset(pictures, dense), broken="skip")
    with pytest.raises(TrilabelError, match="the model: gives NaN for image '0'; its training"):
        broken.predict(pictures, broken="skip")


# ---- loading


def test_a_model_comes_back_from_its_run_folder(model, pictures, dense, tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.describe(RunDescription(Config(), CLASSES, SIZE, {}), Labels.from_signed(dense, CLASSES))
    checkpoint.save(folder.best, checkpoint.prefixed("model", model.classifier.state_dict()), {})
    loaded = load(folder.path, device="cpu")
    assert loaded.classes == CLASSES and loaded.image_size == SIZE
    assert np.array_equal(loaded.predict(pictures).scores, model.predict(pictures).scores)
    folder.describe(RunDescription(Config(epochs=3), CLASSES[:2], SIZE, {}), Labels.from_signed(dense, CLASSES))
    with pytest.raises(TrilabelError, match=r"best\.safetensors: does not fit the model in config\.json"):
        load(str(folder.path), device="cpu")
    with pytest.raises(TrilabelError, match="not a run folder"):
        load(tmp_path)
