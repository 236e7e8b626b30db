"""The union of two sets of labels."""

from typing import Literal

import numpy as np
import scipy.sparse as sp

from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.labels.sources import Parts, require_rule


def union(first: Parts, second: Parts, conflict: Literal["error", "unknown", "first", "second"]) -> Parts:
    """All images and all classes of either; `Labels.merge` describes what happens to contradictions."""
    require_rule(conflict, ("error", "unknown", "first", "second"))
    ids = _all_names(first.ids, second.ids)
    classes = _all_names(first.classes, second.classes)
    one, two = _placed(first, ids, classes), _placed(second, ids, classes)
    agreement = sp.coo_array(one.multiply(two))
    clash = agreement.data < 0
    if clash.any() and conflict == "error":
        row, column = int(agreement.row[clash][0]), int(agreement.col[clash][0])
        raise TrilabelError(
            f"image {ids[row]!r}, class {classes[column]!r} is present in one set and absent in the other "
            f"({int(clash.sum())} such labels); correct them or choose conflict='unknown', 'first' or 'second'"
        )
    if conflict == "second":
        one, two = two, one
    merged = one + two - two.multiply(abs(one))
    if conflict == "unknown":
        places = (agreement.row[clash], agreement.col[clash])
        contested = sp.csr_array((np.ones(clash.sum(), np.int8), places), shape=one.shape)
        merged = merged - merged.multiply(contested)
    merged = sp.csr_array(merged)
    merged.eliminate_zeros()
    return Parts(merged.astype(np.int8), classes, ids)


def _placed(labels: Parts, ids: Names, classes: Names) -> sp.csr_array:
    """The matrix with its rows and columns moved to their places in `ids` and `classes`."""
    coo = sp.coo_array(labels.csr)
    rows, columns = ids.positions(labels.ids)[coo.row], classes.positions(labels.classes)[coo.col]
    return sp.csr_array((coo.data, (rows, columns)), shape=(len(ids), len(classes)))


def _all_names(first: Names, second: Names) -> Names:
    joined = Names.join([first, second])
    _, positions = joined.factorize()
    return joined.take(positions)
