"""Embedded data: small scenes drawn by code, the same bytes on every machine, nothing to download."""

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.data.scenes.compose import draw
from trilabel.data.scenes.things import CLASSES
from trilabel.errors import TrilabelError
from trilabel.labels import Labels


def scenes(train: int = 2000, val: int = 500, test: int = 1000, size: int = 64, seed: int = 0) -> Dataset:
    """Return drawn scenes as a data set with every label known and splits "train", "val" and "test".

    >>> scenes(train=6, val=2, test=2).labels.shape
    (10, 14)
    """
    for split, number in (("train", train), ("val", val), ("test", test)):
        if number < 0:
            raise TrilabelError(f"scenes: {number} images for split {split!r}; give 0 or more")
    import torch

    count = train + val + test
    drawn = draw(count, size, seed)
    ids = [f"scene{i:05d}" for i in range(count)]
    labels = Labels.from_signed(np.where(drawn.present, 1, -1).astype(np.int8), classes=list(CLASSES), ids=ids)
    rows = np.split(np.arange(count, dtype=np.int64), [train, train + val])
    splits = dict(zip(("train", "val", "test"), rows, strict=True))
    return Dataset(ids, None, labels, splits, boxes=drawn.boxes, images=torch.from_numpy(drawn.images))
