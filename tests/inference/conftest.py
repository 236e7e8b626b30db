"""Models with random weights, and images and labels to give to them."""

import numpy as np
import pytest
import torch
from PIL import Image

from tests.support.models_by_hand import CLASSES, CPU, SIZE, maps_by_hand, random_classifier
from trilabel.inference.predictor import Model


@pytest.fixture(scope="module")
def pictures():
    return np.random.default_rng(0).integers(0, 256, (9, SIZE, SIZE, 3), dtype=np.uint8)


@pytest.fixture(scope="module")
def model(pictures):
    model = Model(random_classifier(), CLASSES, CPU)
    with torch.no_grad():  # the scores of a random network lie close together: spread them
        logits = model.classifier(model.prepare(torch.from_numpy(pictures).permute(0, 3, 1, 2))).logits
        head, spread = model.classifier.head.linear, logits.std(0)
        head.weight.div_(spread[:, None])
        head.bias.sub_(logits.mean(0)).div_(spread)
    return model


@pytest.fixture
def folder(tmp_path, pictures):
    for number, picture in enumerate(pictures[:5]):
        path = tmp_path / ("deep/er" if number == 2 else ".") / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(path)
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


@pytest.fixture(scope="module")
def dense(pictures):
    draw = np.random.default_rng(0)
    values = draw.choice(np.array([-1, 0, 1], np.int8), (len(pictures), 3), p=[0.4, 0.2, 0.4])
    assert (values == 1).any(0).all() and (values == -1).any(0).all()
    return values


@pytest.fixture(scope="module")
def squares():
    """Squares of three colors, anywhere."""
    rng = np.random.default_rng(1)
    images = rng.integers(0, 60, (9, 48, 48, 3), dtype=np.uint8)
    for image in images:
        for color in range(3):
            y, x = rng.integers(0, 36, 2)
            image[y : y + 12, x : x + 12, color] = 255
    return images


@pytest.fixture(scope="module")
def map_model(squares):
    """A model with maps large enough to peak at different places."""
    map_model = Model(random_classifier(48), CLASSES, CPU)
    peaks = maps_by_hand(map_model, squares).reshape(9, 3, -1).argmax(2)
    assert all(len(set(peaks[:, column])) > 4 for column in range(3)), "each class peaks here and there"
    assert (peaks[:, 0] != peaks[:, 1]).sum() > 4 and (peaks[:, 0] != peaks[:, 2]).sum() > 4
    return map_model
