"""A small model with random weights, what it must give, worked out one image at a time, and data sets to give it."""

from dataclasses import replace

import numpy as np
import torch

from trilabel.config import Config
from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.images import resized
from trilabel.labels import Labels
from trilabel.models import create_model

SIZE, CLASSES = 16, ["cat", "dog", "hen"]
CPU = torch.device("cpu")


def random_classifier(size=SIZE):
    torch.manual_seed(0)
    return create_model(Config(), len(CLASSES), image_size=size)


def probabilities_by_hand(model, pictures):
    """N×C probabilities, one image at a time."""
    rows = []
    for picture in pictures:
        pixels = torch.from_numpy(picture.copy()).permute(2, 0, 1)[None]
        with torch.no_grad():
            rows.append(model.classifier(model.prepare(resized(pixels, SIZE))).logits.sigmoid()[0])
    return torch.stack(rows).numpy()


def maps_by_hand(model, pictures):
    """N×C×h×w class activation maps."""
    with torch.no_grad():
        batch = torch.from_numpy(pictures).permute(0, 3, 1, 2)
        return model.classifier(model.prepare(resized(batch, model.image_size)), maps=True).maps.numpy()


def dataset(pictures, dense, classes=CLASSES, splits=None, paths=None):
    """The pictures in memory, or the files at `paths`, with these labels; all of them are in split "test"."""
    labels = Labels.from_signed(dense, classes)
    images = None if paths else torch.from_numpy(pictures).permute(0, 3, 1, 2)
    return Dataset(labels.ids, paths, labels, {"test": np.arange(len(labels)), **(splits or {})}, images=images)


def with_boxes(data, seed=0, count=60):
    """The data set with boxes of random images, classes and places."""
    rng = np.random.default_rng(seed)
    corners = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    boxes = Boxes(rng.integers(0, len(data), count), rng.integers(0, len(data.classes), count), corners)
    return replace(data, boxes=boxes)
