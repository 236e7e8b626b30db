"""Boxes of several data sets in one: those that copies of an image have in common count once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.labels.names import Names

_TOLERANCE = 0.0025  # of width or height; formats round, and count pixels from 0 or from 1


def merge_boxes(
    parts: Mapping[str, Dataset], row_of: Mapping[str, NDArray[np.int64]], names: Names
) -> tuple[Boxes | None, int]:
    """The boxes of all parts, and how many were left out because an earlier image has an equal one.

    row_of[part] has the new rows of its images. Equal boxes of one image of one part all stay.
    """
    boxed = [(key, part, part.boxes) for key, part in parts.items() if part.boxes is not None]
    if not boxed:
        return None, 0
    starts = np.cumsum([0, *(len(part) for _, part, _ in boxed)])
    every = Boxes(
        np.concatenate([row_of[key][boxes.image] for key, _, boxes in boxed]),
        np.concatenate([names.positions(part.labels.classes)[boxes.cls] for _, part, boxes in boxed]),
        np.concatenate([boxes.xyxy for _, _, boxes in boxed]),
    )
    source = np.concatenate([start + boxes.image for start, (_, _, boxes) in zip(starts, boxed, strict=False)])
    kept = ~_repeated(every, source)
    return Boxes(every.image[kept], every.cls[kept], every.xyxy[kept]), int((~kept).sum())


def _repeated(boxes: Boxes, source: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which boxes an earlier source of the same image and class has, too.

    In order of their left edges, equal boxes are close together, so each is compared with a few that follow it.
    """
    key = boxes.image * (int(boxes.cls.max(initial=0)) + 1) + boxes.cls
    order = np.lexsort((boxes.xyxy[:, 0], key))
    key, corners, source = key[order], boxes.xyxy[order], source[order]
    found = np.zeros(len(key), bool)
    for step in range(1, len(key)):
        near = (key[step:] == key[:-step]) & (corners[step:, 0] - corners[:-step, 0] <= _TOLERANCE)
        if not near.any():
            break
        equal = near & (source[step:] != source[:-step])
        equal &= (np.abs(corners[step:] - corners[:-step]) <= _TOLERANCE).all(1)
        one, two = order[:-step][equal], order[step:][equal]
        found[np.maximum(one, two)] = True
    return found
