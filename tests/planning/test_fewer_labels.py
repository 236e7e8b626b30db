"""Fewer labels, spread or of whole images: how many, and which."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from trilabel.labels import Labels
from trilabel.planning.fewer_labels import labels_per_image, spread, whole_images

SIGNED = arrays(np.int8, (8, 4), elements=st.sampled_from([1, -1, 0])).filter(lambda signed: (signed != 0).any())


@given(SIGNED, st.integers(1, 32), st.integers(0, 3))
def test_labels_are_a_part_of_those_that_are_known(signed: np.ndarray, count: int, seed: int) -> None:
    labels = Labels.from_signed(signed)
    some, whole = spread(labels, min(count, labels.known), seed), whole_images(labels, count, seed)
    assert some.known == min(count, labels.known)
    for part in (some, whole):
        found, rows = part.to_signed(), labels.ids.positions(part.ids)
        assert (found != 0).any(1).all()  # images of which nothing is left are left out
        kept = found != 0
        np.testing.assert_array_equal(found[kept], signed[rows][kept])
    rows = labels.ids.positions(whole.ids)
    np.testing.assert_array_equal(whole.to_signed(), signed[rows])
    assert abs(whole.known - count) <= max(4, count - labels.known)
    assert labels_per_image(labels) == (signed != 0).sum() / (signed != 0).any(1).sum()
