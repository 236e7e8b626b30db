"""Two sets of labels in one agree with dictionaries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracles import labels as oracle
from tests.support.label_cases import example
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

quick = settings(max_examples=50, deadline=None)


@st.composite
def overlapping(draw):
    """Two sets of labels over few names, so that images, classes and labels meet."""
    pair = []
    for _ in range(2):
        ids = draw(st.lists(st.sampled_from("abcd"), unique=True))
        classes = draw(st.lists(st.sampled_from("xyz"), unique=True))
        dense = draw(hnp.arrays(np.int8, (len(ids), len(classes)), elements=st.sampled_from([-1, 0, 1])))
        pair.append(Labels.from_signed(dense, classes, ids))
    return pair


@settings(max_examples=150, deadline=None)
@given(overlapping(), st.sampled_from(["error", "unknown", "first", "second"]))
def test_merge_matches_dictionaries(pair, conflict):
    one, two = pair
    known = [oracle.as_dict(each.to_signed(), each.ids, each.classes) for each in pair]
    expected = oracle.merge(*known, conflict)
    if expected is None:
        with pytest.raises(TrilabelError, match="present in one set and absent in the other"):
            one.merge(two, conflict)
    else:
        merged = one.merge(two, conflict)
        assert merged.ids == list(dict.fromkeys([*one.ids, *two.ids]))
        assert merged.classes == list(dict.fromkeys([*one.classes, *two.classes]))
        assert oracle.as_dict(merged.to_signed(), merged.ids, merged.classes) == expected
        assert merged.known == len(expected) and merged.csr.dtype == np.int8 and merged.csr.has_canonical_format


def test_a_clash_is_named_and_counted():
    other = Labels.from_signed([[-1, 1], [1, 1]], ["cat", "dog"], ["b.jpg", "a.jpg"])
    with pytest.raises(TrilabelError, match=r"image 'a.jpg', class 'cat' .*\(1 such labels\)"):
        example().merge(Labels.from_signed([[-1]], ["cat"], ["a.jpg"]))
    assert example().merge(other).to_signed().tolist() == [[1, 1, -1], [-1, 1, 0]]
