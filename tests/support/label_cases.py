"""Shared by the tests of labels: a small example, and label matrices of any shape and names."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from trilabel.labels import Labels

shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=7)
dense_labels = hnp.arrays(np.int8, shapes, elements=st.sampled_from([-1, 0, 1]))

CLASSES, IDS = ["cat", "dog", "日本"], ["a.jpg", "b.jpg"]
DENSE = np.array([[1, 0, -1], [-1, 1, 0]], np.int8)


def example():
    return Labels.from_signed(DENSE, CLASSES, IDS)


def distinct_names(count):
    return st.lists(st.text(max_size=5), min_size=count, max_size=count, unique=True)


@st.composite
def any_labels(draw):
    dense = draw(dense_labels)
    return Labels.from_signed(dense, draw(distinct_names(dense.shape[1])), draw(distinct_names(len(dense))))
