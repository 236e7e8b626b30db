"""Labels: the three-valued matrix. Rows are images, columns are classes; +1 present, −1 absent, 0 unknown.

Only known labels are stored (a SciPy CSR matrix of int8), so memory follows what is known and not images × classes.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from trilabel.errors import TrilabelError
from trilabel.labels import sources, storage
from trilabel.labels.names import Names
from trilabel.labels.union import union
from trilabel.printable import plural

if TYPE_CHECKING:
    import pandas as pd
    import torch


class Labels:
    """A read-only matrix of labels with its class names and image ids.

    >>> labels = Labels.from_signed([[1, 0], [-1, 1]], classes=["cat", "dog"], ids=["a.jpg", "b.jpg"])
    >>> labels.shape, labels.known_share
    ((2, 2), 0.75)
    """

    __slots__ = ("classes", "csr", "ids")

    def __init__(self, csr: sp.csr_array, classes: Names, ids: Names) -> None:
        """From parts that were checked before; use one of the `from_…` functions for anything else."""
        self.csr: sp.csr_array = csr
        self.classes = classes
        self.ids = ids

    @classmethod
    def from_signed(
        cls, array: ArrayLike, classes: Iterable[str] | None = None, ids: Iterable[str] | None = None
    ) -> "Labels":
        """From a dense images × classes array of +1 present, −1 absent, 0 unknown."""
        return cls(*sources.from_signed(array, classes, ids))

    @classmethod
    def from_nan(
        cls, array: ArrayLike, classes: Iterable[str] | None = None, ids: Iterable[str] | None = None
    ) -> "Labels":
        """From a dense images × classes array of 1 present, 0 absent, NaN unknown.

        >>> Labels.from_nan([[1, 0, float("nan")]]).to_signed()
        array([[ 1, -1,  0]], dtype=int8)
        """
        return cls(*sources.from_nan(array, classes, ids))

    @classmethod
    def from_frame(cls, table: "pd.DataFrame") -> "Labels":
        """From a pandas table with a column per class (1 present, 0 absent, missing unknown), the ids as its index."""
        return cls.from_nan(table.to_numpy(np.float64, na_value=np.nan), map(str, table.columns), map(str, table.index))

    @classmethod
    def from_csr(cls, csr: Any, classes: Iterable[str] | None = None, ids: Iterable[str] | None = None) -> "Labels":
        """From a SciPy sparse images × classes matrix of +1 and −1 in which what is not stored is unknown."""
        return cls(*sources.from_csr(csr, classes, ids))

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
        """From one known label (+1 or −1) per entry, in any order; the same label may be given more than once.

        rows, columns and values hold one number per entry. Where the entries of a label disagree, `conflict` decides:
        an error that names the label, unknown, or the majority (unknown if there is none).
        """
        return cls(*sources.from_entries(rows, columns, values, classes, ids, conflict))

    @classmethod
    def load(cls, path: str | Path) -> "Labels":
        """Reads a file that `save` wrote; nothing is unpickled."""
        return cls(*storage.load(path))

    def save(self, path: str | Path) -> None:
        """Writes an .npz file that holds plain arrays only; an existing file is replaced completely or not at all."""
        storage.save(self._parts, path)

    @property
    def _parts(self) -> sources.Parts:
        return sources.Parts(self.csr, self.classes, self.ids)

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
        """Known labels as a share of all images × classes; 0 if the matrix is empty."""
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
        return (
            f"Labels({plural(self.shape[0], 'image')} × {plural(self.shape[1], 'class')}, {self.known_share:.2%} known)"
        )

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

    def to_frame(self) -> "pd.DataFrame":
        """A pandas table that `from_frame` reads: 1 present, 0 absent, NaN unknown, the ids as its index."""
        import pandas as pd

        signs = self.to_signed()
        values = np.where(signs == 0, np.float32("nan"), signs > 0)
        return pd.DataFrame(values, index=pd.Index(list(self.ids), name="image"), columns=list(self.classes))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """`np.asarray(labels)`: as `to_signed`."""
        if copy is False:
            raise ValueError("labels are stored sparse: a dense array is a copy")
        return self.to_signed() if dtype is None else self.to_signed().astype(dtype)

    def rows(self, index: Any) -> "torch.Tensor":
        """The labels of these images as a dense int8 tensor, len(index) × classes."""
        import torch  # counting, reading and writing labels do without it: it takes two seconds to import

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

    def __getitem__(self, key: Any) -> "Labels":
        """`labels[rows]` or `labels[rows, classes]`: slices, index or boolean arrays; classes also by name.

        An image or class can be chosen once only, since names must stay unique; `rows(index)` has no such limit.
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
        """The union of both sets: all images and all classes of either; labels known in neither are unknown.

        Where a label is present in one and absent in the other, `conflict` decides: an error that names image and
        class, unknown, or the label of the first (self) or the second (other) set.
        """
        return Labels(*union(self._parts, other._parts, conflict))


def _positions(index: Any, count: int) -> NDArray[np.int64]:
    """Any NumPy index along one axis as a one-dimensional array of unique positions."""
    # A tuple would index several axes, and an empty one would choose everything.
    index = list(index) if isinstance(index, Sequence) else index
    positions = np.atleast_1d(np.arange(count)[index])
    if positions.ndim > 1:
        raise IndexError(f"an index along one axis of labels has one dimension, not {positions.ndim}")
    times = np.bincount(positions, minlength=1)
    if times.max() > 1:
        raise TrilabelError(f"position {int(np.argmax(times))} is chosen twice, but names must stay unique")
    return positions
