"""Duplicate images: the same bytes under two names."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.input_files import open_input, size_of
from trilabel.log import track

_BLOCK = 1 << 20


def content_codes(paths: Sequence[str]) -> NDArray[np.int64]:
    """A number for each file: equal for files of equal content, different for others; −1 for missing files.

    Only files that share their size with another are read: most images have a unique size.
    """
    sizes = np.array([_size(path) for path in track(paths, "sizes of files", len(paths))], np.int64)
    _, group, count = np.unique(sizes, return_inverse=True, return_counts=True)
    alike = np.flatnonzero((count[group] > 1) & (sizes >= 0))
    keys: dict[bytes, int] = {}
    codes = np.arange(len(paths))
    with ThreadPoolExecutor() as pool:
        digests = pool.map(_digest, (paths[row] for row in alike.tolist()))
        for row, digest in zip(alike.tolist(), track(digests, "comparing files", len(alike)), strict=True):
            codes[row] = keys.setdefault(digest, row) if digest else -1
    codes[sizes < 0] = -1
    return codes


def find_duplicates(dataset: Dataset) -> dict[str, Any]:
    """Which images have the same content, whether they are in one split, and whether their labels agree."""
    if dataset.paths is None:
        raise TrilabelError("these images were drawn in memory: there are no files to compare")
    codes = content_codes(dataset.paths)
    there = np.flatnonzero(codes >= 0)
    order = there[np.argsort(codes[there], kind="stable")]
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    groups = [rows for rows in np.split(order, starts[1:]) if len(rows) > 1] if len(order) else []
    split_of = np.array(dataset.first_split()[0], object)
    return {
        "images_without_file": int((codes < 0).sum()),
        "groups": [[dataset.ids[int(row)] for row in rows] for rows in groups],
        "across_splits": sum(len({*split_of[rows]} - {""}) > 1 for rows in groups),
        "contradicting": sum(_contradicting(dataset, rows) for rows in groups),
    }


def _contradicting(dataset: Dataset, rows: NDArray[np.int64]) -> bool:
    signed = dataset.labels.rows(rows)
    return bool(((signed > 0).any(0) & (signed < 0).any(0)).any())


def _size(path: str) -> int:
    try:
        return size_of(path)
    except (OSError, TrilabelError):
        return -1


def _digest(path: str) -> bytes:
    """A hash of the content; empty if it cannot be read."""
    found = hashlib.blake2b(digest_size=16)
    try:
        with open_input(path) as file:
            left = size_of(path)  # a file of /proc may have no end
            while block := file.read(min(_BLOCK, left)):
                found.update(block)
                left -= len(block)
    except (OSError, TrilabelError):
        return b""
    return found.digest()
