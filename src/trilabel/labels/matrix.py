"""Labels: the three-valued matrix. Rows are images, columns are classes; +1 present, −1 absent, 0 unknown.

Only known labels are stored (a SciPy CSR matrix of int8), so memory follows what is known and not images × classes.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray

from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.labels.names import Names

_FORMAT = 1


class Labels:
    """A read-only matrix of labels with its class names and image ids.

    >>> labels = Labels.from_signed([[1, 0], [-1, 1]], classes=["cat", "dog"], ids=["a.jpg", "b.jpg"])
    >>> labels.shape, labels.known_share
    ((2, 2), 0.75)
    """

    __slots__ = ("classes", "csr", "ids")

    def __init__(self, csr: sp.csr_array, classes: Names, ids: Names) -> None:
        """Takes what was checked before; everyone else calls one of the `from_…` functions."""
        self.csr: sp.csr_array = csr
        self.classes = classes
        self.ids = ids

    # ---- from what people have

    @classmethod
    def from_signed(
        cls, array: ArrayLike, classes: Iterable[str] | None = None, ids: Iterable[str] | None = None
    ) -> "Labels":
        """From a dense images × classes array of +1 present, −1 absent, 0 unknown."""
        values = _matrix(array)
        if values.dtype == bool:
            raise TrilabelError("a true/false array cannot say unknown; give +1, −1 and 0 (np.where(a, 1, -1))")
        return cls._checked(values, np.isin(values, (-1, 0, 1)), values, classes, ids, "+1, −1 or 0")

    @classmethod
    def from_nan(
        cls, array: ArrayLike, classes: Iterable[str] | None = None, ids: Iterable[str] | None = None
    ) -> "Labels":
        """From a dense images × classes array of 1 present, 0 absent, NaN unknown."""
        values = _matrix(array)
        unknown = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
        signed = np.where(unknown, 0, np.where(values == 1, 1, -1)).astype(np.int8)
        good = unknown | (values == 0) | (values == 1)
        return cls._checked(values, good, signed, classes, ids, "1, 0 or NaN")

    @classmethod
    def _checked(
        cls,
        values: NDArray[Any],
        good: NDArray[np.bool_],
        signed: NDArray[Any],
        classes: Iterable[str] | None,
        ids: Iterable[str] | None,
        allowed: str,
    ) -> "Labels":
        classes, ids = _names(classes, values.shape[1], "class"), _names(ids, values.shape[0], "image")
        if not good.all():
            row, column = map(int, np.argwhere(~good)[0])
            raise TrilabelError(
                f"label value {values[row, column]} at image {ids[row]!r} (row {row}), class {classes[column]!r} "
                f"(column {column}): a label is {allowed}"
            )
        return cls(sp.csr_array(signed.astype(np.int8)), classes, ids)

    @classmethod
    def from_csr(cls, csr: Any, classes: Iterable[str] | None = None, ids: Iterable[str] | None = None) -> "Labels":
        """From a SciPy sparse matrix of +1 and −1 in which what is not stored is unknown."""
        matrix = sp.csr_array(csr, copy=True)
        matrix.sum_duplicates()
        if sp.issparse(csr) and csr.format in ("coo", "csc", "csr") and matrix.nnz < csr.nnz:
            raise TrilabelError(
                f"{csr.nnz - matrix.nnz} labels of the sparse matrix are stored more than once; "
                "Labels.from_entries has rules for that"
            )
        matrix.eliminate_zeros()
        bad = np.flatnonzero((matrix.data != 1) & (matrix.data != -1))
        classes, ids = _names(classes, matrix.shape[1], "class"), _names(ids, matrix.shape[0], "image")
        if len(bad):
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
            column = int(matrix.indices[bad[0]])
            raise TrilabelError(
                f"label value {matrix.data[bad[0]]} at image {ids[row]!r} (row {row}), class {classes[column]!r} "
                f"(column {column}): a stored label is +1 or −1"
            )
        return cls(matrix.astype(np.int8, copy=False), classes, ids)

    @classmethod
    def from_entries(
        cls,
        rows: NDArray[Any],
        columns: NDArray[Any],
        values: NDArray[np.int8],
        classes: Iterable[str],
        ids: Iterable[str],
        conflict: Literal["error", "unknown", "majority"] = "error",
    ) -> "Labels":
        """From one known label (+1 or −1) an entry, in any order. The same label may stand more than once.

        Where the entries of a label disagree, `conflict` decides: an error that names it, unknown, or what most say
        (unknown where as many say present as absent).
        """
        _refuse_unless_one_of(conflict, ("error", "unknown", "majority"))
        classes, ids = _names(classes, None, "class"), _names(ids, None, "image")
        # Summing counts keeps both how often present (low half) and how often absent (high half) was said, so one
        # pass in linear time finds repetitions and contradictions alike.
        counts = np.where(values > 0, np.int64(1), np.int64(1 << 32))
        matrix = sp.csr_array((counts, (rows, columns)), shape=(len(ids), len(classes)))
        bad = np.flatnonzero((values != 1) & (values != -1))
        if len(bad):
            raise TrilabelError(
                f"label value {values[bad[0]]} at image {ids[int(rows[bad[0]])]!r}, "
                f"class {classes[int(columns[bad[0]])]!r}: a known label is +1 or −1"
            )
        signed = np.where(matrix.data < 1 << 32, np.int8(1), np.int8(-1))
        repeated = matrix.nnz < len(values)
        both = np.flatnonzero((matrix.data >> 32 > 0) & (matrix.data & 0xFFFFFFFF > 0)) if repeated else signed[:0]
        if len(both) and conflict == "error":
            row = int(np.searchsorted(matrix.indptr, both[0], side="right")) - 1
            raise TrilabelError(
                f"image {ids[row]!r}, class {classes[int(matrix.indices[both[0]])]!r} is labelled both present and "
                f"absent ({len(both)} such labels); correct them or choose conflict='unknown' or 'majority'"
            )
        if len(both):
            majority = np.sign((matrix.data[both] & 0xFFFFFFFF) - (matrix.data[both] >> 32))
            signed[both] = 0 if conflict == "unknown" else majority
        matrix = sp.csr_array((signed, matrix.indices, matrix.indptr), shape=matrix.shape)
        matrix.eliminate_zeros()
        return cls(matrix, classes, ids)

    # ---- looking at it

    @property
    def shape(self) -> tuple[int, int]:
        """(images, classes)."""
        return int(self.csr.shape[0]), int(self.csr.shape[1])

    @property
    def known(self) -> int:
        """How many labels are known."""
        return int(self.csr.nnz)

    @property
    def known_share(self) -> float:
        """Known labels as a share of all images × classes; 0 where there are none."""
        images, classes = self.shape
        return self.known / (images * classes) if images and classes else 0.0

    @property
    def nbytes(self) -> int:
        """Bytes of memory that labels, ids and class names take."""
        csr = self.csr
        return int(csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes) + self.ids.nbytes + self.classes.nbytes

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Labels({self.shape[0]:,} images × {self.shape[1]:,} classes, {self.known_share:.2%} known)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels):
            return NotImplemented
        same_names = self.classes == other.classes and self.ids == other.ids
        return same_names and (self.csr != other.csr).nnz == 0

    __hash__ = None  # type: ignore[assignment]

    def counts_per_class(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(present, absent): how many images are known to have, and not to have, each class."""
        columns = self.shape[1]
        present = np.bincount(self.csr.indices[self.csr.data > 0], minlength=columns)
        return present, np.bincount(self.csr.indices, minlength=columns) - present

    def counts_per_image(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(present, absent): how many classes each image is known to have, and not to have."""
        running = np.concatenate(([0], np.cumsum(self.csr.data > 0, dtype=np.int64)))
        present = running[self.csr.indptr[1:]] - running[self.csr.indptr[:-1]]
        return present, np.diff(self.csr.indptr).astype(np.int64) - present

    def co_occurrence(self) -> sp.csr_array:
        """classes × classes: in how many images both are known to be present (sparse; the diagonal counts each)."""
        present = self.csr.astype(np.int32)
        present.data = (present.data > 0).astype(np.int32)
        present.eliminate_zeros()
        return sp.csr_array(present.T @ present)

    def to_signed(self) -> NDArray[np.int8]:
        """Dense images × classes int8 array of +1, −1, 0."""
        dense: NDArray[np.int8] = self.csr.toarray()
        return dense

    def rows(self, index: Any) -> torch.Tensor:
        """The labels of these images as a dense int8 tensor, len(index) × classes."""
        index = np.asarray(index).reshape(-1)
        if index.size and index.dtype.kind not in "iu":
            raise IndexError(f"image indices are whole numbers, not {index.dtype} (np.flatnonzero reads a mask)")
        index = index.astype(np.int64)
        if index.size and (index.min() < 0 or index.max() >= len(self)):
            raise IndexError(f"image index out of range for {len(self)} images")
        starts, ends = self.csr.indptr[index], self.csr.indptr[index + 1]
        counts = (ends - starts).astype(np.int64)
        total = np.cumsum(counts)
        where = np.repeat(starts - (total - counts), counts)
        where += np.arange(len(where))
        dense = np.zeros((len(index), self.shape[1]), np.int8)
        dense[np.repeat(np.arange(len(index)), counts), self.csr.indices[where]] = self.csr.data[where]
        return torch.from_numpy(dense)

    # ---- making others of it

    def __getitem__(self, key: Any) -> "Labels":
        """`labels[rows]` or `labels[rows, classes]`: slices, index or boolean arrays; classes also by name.

        An image or class can be taken once only, as its name must stay its own; `rows(index)` knows no such limit.
        """
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        row_index = _positions(rows, len(self))
        csr, classes = self.csr[row_index], self.classes
        if not (isinstance(columns, slice) and columns == slice(None)):
            column_index = self._class_positions(columns)
            csr, classes = sp.csr_array(csr[:, column_index]), classes.take(column_index)
        csr.sort_indices()
        return Labels(csr, classes, self.ids.take(row_index))

    def _class_positions(self, wanted: Any) -> NDArray[np.int64]:
        if isinstance(wanted, np.ndarray) and wanted.dtype.kind in "OU":
            wanted = wanted.tolist()
        if isinstance(wanted, str):
            wanted = [wanted]
        if isinstance(wanted, Sequence) and len(wanted) and isinstance(wanted[0], str):
            names = Names(wanted)
            names.require_unique("class")
            found = self.classes.positions(names)
            if (found < 0).any():
                raise TrilabelError(f"no class named {wanted[int(np.argmin(found))]!r} in these labels")
            return found
        return _positions(wanted, self.shape[1])

    def merge(self, other: "Labels", conflict: Literal["error", "unknown", "first", "second"] = "error") -> "Labels":
        """Both sets in one: all images and all classes of either; what neither knows is unknown.

        Where one says present and the other absent, `conflict` decides: an error that names image and class, unknown,
        or the word of the first (self) or second (other) set.
        """
        _refuse_unless_one_of(conflict, ("error", "unknown", "first", "second"))
        ids = _union(self.ids, other.ids)
        classes = _union(self.classes, other.classes)
        one, two = self._placed(ids, classes), other._placed(ids, classes)
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
        return Labels(merged.astype(np.int8), classes, ids)

    def _placed(self, ids: Names, classes: Names) -> sp.csr_array:
        """The matrix with its rows and columns where `ids` and `classes` have them."""
        coo = sp.coo_array(self.csr)
        rows, columns = ids.positions(self.ids)[coo.row], classes.positions(self.classes)[coo.col]
        return sp.csr_array((coo.data, (rows, columns)), shape=(len(ids), len(classes)))

    # ---- on disk

    def save(self, path: str | Path) -> None:
        """Writes an .npz file that holds plain arrays only; an existing file is replaced whole or not at all."""
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                format=np.array([_FORMAT, *self.shape]),
                values=self.csr.data,
                columns=self.csr.indices,
                row_ends=self.csr.indptr,
                classes=self.classes.buffer,
                class_ends=self.classes.offsets,
                ids=self.ids.buffer,
                id_ends=self.ids.offsets,
            )

    @classmethod
    def load(cls, path: str | Path) -> "Labels":
        """Reads what `save` wrote; nothing is unpickled."""
        if not Path(path).is_file():
            raise TrilabelError(f"{path}: no such labels file")
        try:
            with np.load(path, allow_pickle=False) as file:
                version, *shape = file["format"].tolist()
                if version != _FORMAT:
                    raise TrilabelError(f"labels format {version}, this trilabel reads {_FORMAT}; upgrade it")
                csr = sp.csr_array((file["values"], file["columns"], file["row_ends"]), shape=tuple(shape))
                csr.check_format(full_check=True)
                classes = Names.from_stored(file["classes"], file["class_ends"])
                ids = Names.from_stored(file["ids"], file["id_ends"])
                return cls.from_csr(csr, classes, ids)
        except TrilabelError as error:
            raise TrilabelError(f"{path}: {error}") from None
        except Exception as error:  # zipfile, NumPy and SciPy raise a dozen kinds when bytes are damaged
            reason = " ".join(str(error).split()) or type(error).__name__
            raise TrilabelError(f"{path}: not a labels file, or cut short ({reason}); make it again") from error


def _matrix(array: ArrayLike) -> NDArray[Any]:
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise TrilabelError("labels are a matrix, images × classes; here the rows differ in length") from error
    if values.ndim != 2:
        raise TrilabelError(f"labels are a matrix, images × classes; this array has {values.ndim} dimensions")
    if values.dtype.kind not in "biuf":
        raise TrilabelError(f"labels are numbers; this array holds {values.dtype}")
    return values


def _names(names: Iterable[str] | None, count: int | None, what: str) -> Names:
    """Checked names: the right number of them, none twice; numbered ones where none are given."""
    if names is None:
        return Names.numbered(count or 0, f"{what}-")
    if isinstance(names, str):
        raise TrilabelError(f"{what} names are a list of strings, not one string ({names!r})")
    checked = names if isinstance(names, Names) else Names(names)
    if count is not None and len(checked) != count:
        raise TrilabelError(f"{len(checked)} {what} names for {count} {what} entries of the label matrix")
    checked.require_unique(what)
    return checked


def _positions(index: Any, count: int) -> NDArray[np.int64]:
    """Any NumPy index along one axis as positions, always one-dimensional and none of them twice."""
    # A tuple would index several axes, and an empty one would take everything.
    index = list(index) if isinstance(index, Sequence) else index
    positions = np.atleast_1d(np.arange(count)[index])
    if positions.ndim > 1:
        raise IndexError(f"an index along one axis of labels has one dimension, not {positions.ndim}")
    times = np.bincount(positions, minlength=1)
    if times.max() > 1:
        raise TrilabelError(f"position {int(np.argmax(times))} is taken twice; its name would stand for two")
    return positions


def _refuse_unless_one_of(conflict: str, rules: tuple[str, ...]) -> None:
    if conflict not in rules:
        raise TrilabelError(f"no rule {conflict!r} for contradicting labels; there are: {', '.join(rules)}")


def _union(first: Names, second: Names) -> Names:
    joined = Names.join([first, second])
    _, positions = joined.factorise()
    return joined.take(positions)
