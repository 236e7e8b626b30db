"""Targets of unknown labels, made once and read while a model trains: only those that are not near 0.

They are kept apart from labels: what somebody knows and what a model believes never mix in one file.
"""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.errors import TrilabelError, one_line
from trilabel.files import replacing
from trilabel.input_files import open_input
from trilabel.labels.matrix import Labels
from trilabel.labels.names import Names
from trilabel.labels.rates import Rates
from trilabel.labels.storage import Arrays

LOWEST = 0.01  # a target below it counts as 0
LEFT_OUT = -1  # the target of a label that is not learned from
_FORMAT = 2


@dataclass(frozen=True)
class Targets:
    """Of N images, one after the other, so that an image with many targets costs no more than these."""

    begins: NDArray[np.int64]  # N + 1: where the targets of each image begin, and where the last ones end
    columns: NDArray[np.int32]  # the class of each
    values: NDArray[np.float16]  # the probability that it is present
    classes: Names
    ids: Names
    rates: Rates | None = None  # of known labels, that the values rest on

    @classmethod
    def from_csr(cls, csr: sp.csr_array, classes: Names, ids: Names, rates: Rates | None = None) -> "Targets":
        """From a sparse images × classes matrix of probabilities; see `thinned`.

        >>> csr = thinned(np.array([[0.9, 0.001, 0.3], [0.0, 0.5, 0.0]], np.float32))
        >>> found = Targets.from_csr(csr, Names("abc"), Names("12"))
        >>> found.begins, found.columns
        (array([0, 2, 3]), array([0, 2, 1], dtype=int32))
        """
        begins = csr.indptr.astype(np.int64)
        return cls(begins, csr.indices.astype(np.int32), csr.data.astype(np.float16), classes, ids, rates)

    @property
    def most(self) -> int:
        """The most that any image has."""
        return int(np.diff(self.begins).max(initial=0))

    def save(self, path: str | Path) -> None:
        """Writes an .npz file of plain arrays; an existing file is replaced completely or not at all."""
        rates = [] if self.rates is None else [self.rates.positives, self.rates.negatives]
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                format=np.array([_FORMAT]),
                begins=self.begins,
                columns=self.columns,
                values=self.values,
                classes=self.classes.buffer,
                class_ends=self.classes.offsets,
                ids=self.ids.buffer,
                id_ends=self.ids.offsets,
                rates=np.array(rates),
            )

    @classmethod
    def load_for(cls, path: str | Path, labels: Labels) -> "Targets":
        """Those of the images that these labels are of, in their order; refuses a file of other classes or images."""
        found = cls._load(path)
        if found.classes != labels.classes:
            raise TrilabelError(f"{path}: targets of other classes than these labels have; make them again")
        rows = found.ids.positions(labels.ids)
        if missing := int((rows < 0).sum()):
            first = labels.ids[int(rows.argmin())]
            raise TrilabelError(
                f"{path}: no targets for {missing:,} of {len(rows):,} images, such as {first!r}; make them again"
            )
        return found.take(rows)

    def take(self, rows: NDArray[np.int64]) -> "Targets":
        """Those of these images."""
        counts = np.diff(self.begins)[rows]
        begins = np.append(0, counts.cumsum())
        places = np.arange(begins[-1]) + np.repeat(self.begins[rows] - begins[:-1], counts)
        return replace(
            self, begins=begins, columns=self.columns[places], values=self.values[places], ids=self.ids.take(rows)
        )

    @classmethod
    def _load(cls, path: str | Path) -> "Targets":
        with _opened(path) as file:
            if file["format"].tolist() != [_FORMAT]:
                raise ValueError(f"its format is {file['format'].tolist()}, not {_FORMAT}")
            classes = Names.from_stored(file["classes"], file["class_ends"])
            ids = Names.from_stored(file["ids"], file["id_ends"])
            rates = Rates(*file["rates"]) if len(file["rates"]) else None
            found = cls(file["begins"], file["columns"], file["values"], classes, ids, rates)
            found._check()
            return found

    def _check(self) -> None:
        begins, columns, values = self.begins, self.columns, self.values
        if columns.dtype != np.int32 or values.dtype != np.float16 or columns.shape != values.shape or columns.ndim > 1:
            raise ValueError("its columns and values do not belong together")
        if begins.dtype != np.int64 or begins.shape != (len(self.ids) + 1,):
            raise ValueError("it has not as many rows as images")
        if begins[0] != 0 or begins[-1] != len(columns) or (np.diff(begins) < 0).any():
            raise ValueError("its rows do not follow each other")
        if columns.size and not (columns.min() >= 0 and columns.max() < len(self.classes)):
            raise ValueError("a column is not that of a class")
        if not ((values >= 0) & (values <= 1)).all():
            raise ValueError("a target is not between 0 and 1")
        if self.rates is not None:
            rates = np.stack((self.rates.positives, self.rates.negatives))
            if rates.shape != (2, len(self.classes)) or not ((rates >= 0) & (rates <= 1)).all():
                raise ValueError("a rate of known labels is not between 0 and 1, or not of these classes")

    def sums(self) -> NDArray[np.float64]:
        """C: the sum of the targets of each class."""
        weights = self.values.astype(np.float64).clip(0)  # without LEFT_OUT
        found: NDArray[np.float64] = np.bincount(self.columns, weights, len(self.classes)).astype(np.float64)
        return found


@contextmanager
def _opened(path: str | Path) -> Iterator[Arrays]:
    try:
        with open_input(path) as opened, zipfile.ZipFile(opened) as archive:
            yield Arrays(archive)
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such file of targets; train with --rounds 2 to make one") from None
    except Exception as error:  # zipfile and NumPy raise a dozen kinds of errors for damaged bytes
        raise TrilabelError(
            f"{path}: not a file of targets, or cut short ({one_line(error)}); make it again"
        ) from error


def count_targets(path: str | Path) -> int:
    """The targets in a file, of all its images."""
    with _opened(path) as file:
        return file.shape("columns")[0]


def thinned(targets: NDArray[np.float32]) -> sp.csr_array:
    """Images × classes of probabilities without those near 0."""
    return sp.csr_array(np.where(targets >= LOWEST, targets, np.float32(0)))
