"""Class activation maps are those of the network, with the image as a person sees it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from tests.support.models_by_hand import CLASSES, CPU, dataset, maps_by_hand, random_classifier, with_boxes
from trilabel.errors import TrilabelError
from trilabel.inference.activation import display_image
from trilabel.inference.predictor import Model


def test_maps_are_those_of_the_network_and_come_a_batch_at_a_time(map_model, squares, dense, monkeypatch):
    expected, scores = maps_by_hand(map_model, squares), map_model.predict(squares).scores
    rows = np.array([5, 1, 8])
    for activations, order in (
        (map_model.maps(squares, batch_size=4), range(9)),
        (map_model.maps(list(squares), batch_size=64), range(9)),
        (map_model.dataset_maps(dataset(squares, dense), rows, batch_size=2), rows.tolist()),
    ):
        activations = list(activations)
        assert [activation.id.removeprefix("image-") for activation in activations] == [str(number) for number in order]
        for activation, number in zip(activations, order, strict=True):
            np.testing.assert_allclose(activation.maps, expected[number], atol=1e-4)
            np.testing.assert_allclose(activation.probabilities, scores[number], atol=1e-5)
            assert np.array_equal(activation.image, squares[number]) and activation.image.dtype == np.uint8
    passes = []
    monkeypatch.setattr(map_model, "classifier", CountPasses(map_model.classifier, passes))
    activations = map_model.maps(squares, batch_size=2)
    next(activations), next(activations)
    assert passes == [2]
    next(activations)
    assert passes == [2, 2]
    assert list(map_model.maps([])) == []


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
    shapes = {Path(activation.id).stem: activation.image.shape for activation in model.maps(tmp_path, workers=0)}
    assert shapes == {"wide": (192, 512, 3), "turned": (512, 192, 3), "line": (1, 512, 3), "small": (30, 40, 3)}
    wide, upright = display_image(str(tmp_path / "wide.png")), display_image(str(tmp_path / "turned.png"))
    assert wide[:, :250, 0].min() == 200 and wide[:, 262:].max() == 0
    assert upright[:250, :, 0].min() == 200 and upright[262:].max() == 0
    arrays = [left_red, np.zeros((8, 6, 3), np.float32)]
    assert [activation.image.shape for activation in model.maps(arrays)] == [(192, 512, 3), (8, 6, 3)]


def test_maps_of_broken_files(model, pictures, folder, caplog):
    (folder / "1.png").write_bytes((folder / "1.png").read_bytes()[:60])
    (folder / "3.png").write_text("no image")
    with pytest.raises(TrilabelError, match=r"1\.png: broken image"):
        list(model.maps(folder, workers=0))
    for batch_size in (1, 64):
        caplog.clear()
        activations = list(model.maps(folder, workers=0, broken="skip", batch_size=batch_size))
        assert [Path(activation.id).stem for activation in activations] == ["0", "4", "2"]
        for activation, number in zip(activations, (0, 4, 2), strict=True):
            assert np.array_equal(activation.image, pictures[number])
            np.testing.assert_allclose(activation.maps, maps_by_hand(model, pictures)[number], atol=1e-4)
        said = caplog.text
        assert said.count("left out: ") == 2 and "1.png" in said and "3.png" in said


def test_maps_that_are_no_numbers_and_heads_that_have_none(pictures, dense, monkeypatch):
    classifier = random_classifier()
    torch.nn.init.constant_(classifier.head.linear.bias, torch.nan)
    broken = Model(classifier, CLASSES, CPU)
    with pytest.raises(TrilabelError, match=r"not finite for image '0'; its training diverged"):
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
