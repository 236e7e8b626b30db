"""A bit a label, and back."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.labels import bits
from trilabel.labels.bits import packed, unpacked


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 4), st.integers(1, 25) | st.sampled_from([1, 7, 8, 9, 16, 17]), st.randoms(use_true_random=False))
def test_packing_is_a_bit_a_label_and_back(images, classes, draw):
    mask = [[draw.random() < 0.5 for _ in range(classes)] for _ in range(images)]
    tensor = torch.tensor(mask, dtype=torch.bool).view(images, classes)
    small = packed(tensor)
    assert small.dtype == torch.uint8 and small.shape == (images, math.ceil(classes / 8))
    for row, numbers in zip(mask, small.tolist(), strict=True):
        assert numbers == [sum(2**k for k, bit in enumerate(row[at : at + 8]) if bit) for at in range(0, classes, 8)]
    assert torch.equal(unpacked(small, classes), tensor)
    assert torch.equal(packed(tensor.to(torch.uint8)), small)
    empty = bits.empty(images, classes)
    assert empty.shape == small.shape and empty.dtype == small.dtype and not empty.any()
