"""Heads with the same weights at each call, and random class maps with ties for those that pool them."""

import math

import torch
from hypothesis import strategies as st


def double_head(kind, settings=None, classes=3, channels=4):
    """A head in float64 with the same random weights at each call."""
    torch.manual_seed(2)
    return kind(channels, classes, settings).double()


def random_features(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


@st.composite
def maps_with_ties(draw):
    """B×C×h×w of a few different values."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 5)))
    values = st.lists(st.integers(-4, 4), min_size=math.prod(shape), max_size=math.prod(shape))
    return torch.tensor(draw(values), dtype=torch.float64).reshape(shape) / 4
