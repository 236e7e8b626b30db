"""Image arrays of every layout and type give the same images; what is no image is refused."""

import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from tests.support.models_by_hand import SIZE
from trilabel.errors import TrilabelError
from trilabel.inference.arrays import arrays_to_images


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


def test_float_colors_are_rounded_to_the_nearest():
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
def test_numbers_that_are_no_colors_are_refused_and_their_image_is_named(value):
    for given in (with_value(value), list(with_value(value)), torch.from_numpy(with_value(value))):
        with pytest.raises(TrilabelError, match=r"^image array 3: float images must be finite and in \[0, 1\]"):
            arrays_to_images(given, SIZE)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.zeros((4, 4, 3), np.uint8), r"image array 0: .*not \(4, 4, 3\)"),
        (np.zeros((2, 4, 4, 1), np.uint8), r"not \(2, 4, 4, 1\)"),
        ([np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4), np.uint8)], r"image array 1: .*not \(1, 4, 4\)"),
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
