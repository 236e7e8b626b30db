"""Label matrices from dense arrays, sparse matrices and single entries; errors name the invalid value and its place.

`Labels.from_signed` and its siblings call these functions; each returns the checked `Parts` of a `Labels`.
"""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from trilabel.errors import TrilabelError
from trilabel.labels.names import Names


class Parts(NamedTuple):
    """What a `Labels` is made of."""

    csr: sp.csr_array  # images × classes int8; the known labels, +1 or −1
    classes: Names
    ids: Names


def from_signed(array: ArrayLike, classes: Iterable[str] | None, ids: Iterable[str] | None) -> Parts:
    """From images × classes of +1, −1, 0."""
    values = _matrix(array)
    if values.dtype == bool:
        raise TrilabelError("a true/false array cannot express unknown; give +1, −1 and 0 (np.where(a, 1, -1))")
    return _from_dense(values, np.isin(values, (-1, 0, 1)), values, classes, ids, "+1, −1 or 0")


def from_nan(array: ArrayLike, classes: Iterable[str] | None, ids: Iterable[str] | None) -> Parts:
    """From images × classes of 1, 0, NaN."""
    values = _matrix(array)
    unknown = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    signed = np.where(unknown, 0, np.where(values == 1, 1, -1)).astype(np.int8)
    good = unknown | (values == 0) | (values == 1)
    return _from_dense(values, good, signed, classes, ids, "1, 0 or NaN")


def _from_dense(
    values: NDArray[Any],
    good: NDArray[np.bool_],
    signed: NDArray[Any],
    classes: Iterable[str] | None,
    ids: Iterable[str] | None,
    allowed: str,
) -> Parts:
    """The values as given, which of them are valid, and the signed labels +1, −1, 0; all images × classes."""
    class_names, image_ids = _names(classes, values.shape[1], "class"), _names(ids, values.shape[0], "image")
    if not good.all():
        row, column = map(int, np.argwhere(~good)[0])
        raise TrilabelError(
            f"label value {values[row, column]} at image {image_ids[row]!r} (row {row}), class "
            f"{class_names[column]!r} (column {column}): a label is {allowed}"
        )
    return Parts(sp.csr_array(signed.astype(np.int8)), class_names, image_ids)


def from_csr(csr: Any, classes: Iterable[str] | None, ids: Iterable[str] | None) -> Parts:
    """From a sparse images × classes matrix of +1 and −1."""
    matrix = sp.csr_array(csr, copy=True)
    matrix.sum_duplicates()
    if sp.issparse(csr) and csr.format in ("coo", "csc", "csr") and matrix.nnz < csr.nnz:
        raise TrilabelError(
            f"{csr.nnz - matrix.nnz} labels of the sparse matrix are stored more than once; "
            "Labels.from_entries has rules for that"
        )
    matrix.eliminate_zeros()
    bad = np.flatnonzero((matrix.data != 1) & (matrix.data != -1))
    class_names, image_ids = _names(classes, matrix.shape[1], "class"), _names(ids, matrix.shape[0], "image")
    if len(bad):
        row, column = _place(matrix, bad[0])
        raise TrilabelError(
            f"label value {matrix.data[bad[0]]} at image {image_ids[row]!r} (row {row}), class "
            f"{class_names[column]!r} (column {column}): a stored label is +1 or −1"
        )
    return Parts(matrix.astype(np.int8, copy=False), class_names, image_ids)


def from_entries(
    rows: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[np.int8],
    classes: Iterable[str],
    ids: Iterable[str],
    conflict: Literal["error", "unknown", "majority"],
) -> Parts:
    """From one known label (+1 or −1) per entry: rows, columns and values of one length."""
    require_rule(conflict, ("error", "unknown", "majority"))
    class_names, image_ids = _names(classes, None, "class"), _names(ids, None, "image")
    # The sums count both how often a label is present (low half) and how often absent (high half), so one pass in
    # linear time finds repetitions and contradictions alike.
    counts = np.where(values > 0, np.int64(1), np.int64(1 << 32))
    matrix = sp.csr_array((counts, (rows, columns)), shape=(len(image_ids), len(class_names)))
    bad = np.flatnonzero((values != 1) & (values != -1))
    if len(bad):
        raise TrilabelError(
            f"label value {values[bad[0]]} at image {image_ids[int(rows[bad[0]])]!r}, "
            f"class {class_names[int(columns[bad[0]])]!r}: a known label is +1 or −1"
        )
    signed = np.where(matrix.data < 1 << 32, np.int8(1), np.int8(-1))
    repeated = matrix.nnz < len(values)
    both = np.flatnonzero((matrix.data >> 32 > 0) & (matrix.data & 0xFFFFFFFF > 0)) if repeated else signed[:0]
    if len(both) and conflict == "error":
        row, column = _place(matrix, both[0])
        raise TrilabelError(
            f"image {image_ids[row]!r}, class {class_names[column]!r} is labelled both present and "
            f"absent ({len(both)} such labels); correct them or choose conflict='unknown' or 'majority'"
        )
    if len(both):
        majority = np.sign((matrix.data[both] & 0xFFFFFFFF) - (matrix.data[both] >> 32))
        signed[both] = 0 if conflict == "unknown" else majority
    matrix = sp.csr_array((signed, matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix.eliminate_zeros()
    return Parts(matrix, class_names, image_ids)


def require_rule(conflict: str, rules: tuple[str, ...]) -> None:
    """Raises an error for an unknown rule for contradictions."""
    if conflict not in rules:
        raise TrilabelError(f"no rule named {conflict!r} for contradicting labels; there are: {', '.join(rules)}")


def _place(matrix: sp.csr_array, stored: int) -> tuple[int, int]:
    """(row, column) of a stored label."""
    return int(np.searchsorted(matrix.indptr, stored, side="right")) - 1, int(matrix.indices[stored])


def _matrix(array: ArrayLike) -> NDArray[Any]:
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise TrilabelError("labels are a matrix, images × classes; here the rows differ in length") from error
    if values.ndim != 2:
        raise TrilabelError(f"labels are a matrix, images × classes; this array has {values.ndim} dimensions")
    if values.dtype.kind not in "biuf":
        raise TrilabelError(f"labels must be numbers; this array contains {values.dtype}")
    return values


def _names(names: Iterable[str] | None, count: int | None, what: str) -> Names:
    """Checked names, the right number of them and unique; numbered names if none are given."""
    if names is None:
        return Names.numbered(count or 0, f"{what}-")
    if isinstance(names, str):
        raise TrilabelError(f"{what} names are a list of strings, not one string ({names!r})")
    checked = names if isinstance(names, Names) else Names(names)
    if count is not None and len(checked) != count:
        raise TrilabelError(f"{len(checked)} {what} names for {count} {what} entries of the label matrix")
    checked.require_unique(what)
    return checked
