"""Hiding and flipping labels on purpose: what is left of fuller labels in the settings that the papers train under.

Each function takes `Labels` and returns new ones with the same images and classes; equal seeds give equal labels. All
of them act on known labels only: unknown stays unknown, and a share is a share of the known labels. Where a share of a
count is not a whole number, the nearest one is used (halves up).
"""

from itertools import cycle
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.errors import TrilabelError
from trilabel.labels.matrix import Labels


def keep_share(
    labels: Labels, share: float, seed: int = 0, per_image: bool = False, positives_times: float = 1
) -> Labels:
    """Keeps each known label with probability `share`, independently of the others ("partial labels").

    With `positives_times` present labels are kept this many times as often as absent ones (at most always), and `share`
    is that of both together.

    With `per_image`, keeps that share of each image's known labels instead: the nearest whole number of them, and at
    least one where `share` is above 0, so that no image loses all its labels.

    >>> labels = Labels.from_signed([[1, -1, 1, -1], [-1, -1, 1, 1]])
    >>> keep_share(labels, 0.5, per_image=True).known_share
    0.5
    """
    rng = np.random.default_rng(_checked_seed(seed))
    if not per_image:
        return _kept(labels, rng.random(labels.known) < _probabilities(labels, checked_share(share), positives_times))
    sizes = np.diff(labels.csr.indptr)
    wanted = np.maximum(_whole(share, sizes), int(share > 0))
    row = np.repeat(np.arange(len(labels)), sizes)
    # Row in the high bits and chance in the low ones: a stable sort of nearly sorted whole numbers shuffles within
    # rows ten times as fast as a sort by two keys.
    shuffled = np.argsort(row << 31 | rng.integers(1 << 31, size=labels.known), kind="stable")
    place_in_row = np.arange(labels.known) - labels.csr.indptr[row]
    keep = np.empty(labels.known, bool)
    keep[shuffled] = place_in_row < wanted[row]
    return _kept(labels, keep)


def dense_share(labels: Labels, share: float, seed: int = 0) -> Labels:
    """Keeps all known labels of a share of the images and none of the others ("dense labels").

    The share is of the images that have a known label; at least one is kept where `share` is above 0.
    """
    sizes = np.diff(labels.csr.indptr)
    keep = _some_of(np.flatnonzero(sizes), share, len(labels), seed)
    return _kept(labels, np.repeat(keep, sizes))


def noisy(labels: Labels, share: float, seed: int = 0) -> Labels:
    """Flips a share of the known labels, drawn at random: present becomes absent and absent present."""
    rng = np.random.default_rng(_checked_seed(seed))
    flipped = rng.choice(labels.known, int(_whole(share, labels.known)), replace=False, shuffle=False)
    values = labels.csr.data.copy()
    values[flipped] *= -1
    return _with_values(labels, values)


def noisy_plus(labels: Labels, seed: int = 0) -> Labels:
    """Keeps one known present label of each image, drawn at random, and makes every other known label absent."""
    present = np.flatnonzero(labels.csr.data > 0)
    counts, _ = labels.counts_per_image()
    draws = np.random.default_rng(_checked_seed(seed)).integers(np.maximum(counts, 1))
    chosen = (np.cumsum(counts) - counts + draws)[counts > 0]
    values = np.full(labels.known, -1, np.int8)
    values[present[chosen]] = 1
    return _with_values(labels, values)


def per_class(labels: Labels, share: float, seed: int = 0) -> Labels:
    """Keeps all known labels of a share of the classes and none of the others.

    The share is of the classes that have a known label; at least one is kept where `share` is above 0.
    """
    present, absent = labels.counts_per_class()
    keep = _some_of(np.flatnonzero(present + absent), share, labels.shape[1], seed)
    return _kept(labels, keep[labels.csr.indices])


def fixed_per_class(labels: Labels, count: int, seed: int = 0) -> Labels:
    """Keeps this many present and as many absent labels of each class, drawn at random ("fixed per class").

    As Ben-Baruch et al. (2022) mean it; a class that has fewer of either keeps all of them.

    >>> labels = Labels.from_signed([[1, -1], [1, -1], [-1, 1]])
    >>> [counts.tolist() for counts in fixed_per_class(labels, 1).counts_per_class()]
    [[1, 1], [1, 1]]
    """
    if count < 0:
        raise TrilabelError(f"cannot keep {count} labels of each class; give 0 or more")
    rng = np.random.default_rng(_checked_seed(seed))
    kind = 2 * labels.csr.indices.astype(np.int64) + (labels.csr.data > 0)  # class and sign
    shuffled = np.lexsort((rng.random(labels.known), kind))
    sizes = np.bincount(kind, minlength=2 * labels.shape[1])
    place = np.arange(labels.known) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    keep = np.empty(labels.known, bool)
    keep[shuffled] = place < count
    return _kept(labels, keep)


def tags(labels: Labels, low: float, high: float | None = None, seed: int = 0, full: float = 0) -> Labels:
    """Keeps present labels only, each with the rate of its class: people name some classes more often than others.

    Rates are drawn evenly from `low` to `high`, one for each class; without `high` all are `low`. Of a share `full` of
    the images all known labels are kept.
    """
    high, full = low if high is None else high, checked_share(full)
    if checked_share(low) > checked_share(high):
        raise TrilabelError(f"rates of tags from {low} to {high}: give the lower one first")
    rng = np.random.default_rng(_checked_seed(seed))
    rates = rng.uniform(low, high, labels.shape[1])
    keep = (labels.csr.data > 0) & (rng.random(labels.known) < rates[labels.csr.indices])
    if full:
        whole = np.zeros(len(labels), bool)
        whole[rng.permutation(len(labels))[: int(_whole(full, len(labels)))]] = True
        keep |= np.repeat(whole, np.diff(labels.csr.indptr))
    return _kept(labels, keep)


def single_positive(labels: Labels, seed: int = 1200, positives: int = 1, negatives: int = 0) -> Labels:
    """Keeps this many present and absent labels of each image, drawn at random, or all if an image has fewer.

    Given full labels, equals the sampler that Cole et al. (2021) released, bit for bit; theirs has seed 1200.
    """
    if min(positives, negatives) < 0:
        raise TrilabelError(f"cannot keep {positives} present and {negatives} absent labels; give 0 or more")
    # Their sampler calls RandomState.choice without replacement, image by image: present, then absent. Each call
    # shuffles all candidates, even to choose none of them, and the next call continues the same random stream.
    rng = np.random.RandomState(_checked_seed(seed))
    counts = np.stack(labels.counts_per_image(), axis=1)
    row = np.repeat(np.arange(len(labels)), counts.sum(1))
    grouped = np.lexsort((labels.csr.data < 0, row))
    keep = np.zeros(labels.known, bool)
    start = 0
    for count, wanted in zip(counts.ravel().tolist(), cycle((positives, negatives)), strict=False):
        shuffled = rng.permutation(count)
        if wanted:
            keep[grouped[start + shuffled[:wanted]]] = True
        start += count
    return _kept(labels, keep)


def some_images(count: int, share: float, seed: int | None = None) -> NDArray[np.int64]:
    """Which of `count` images are kept, in order: a random share of them, at least one where it is above 0."""
    return np.flatnonzero(_some_of(np.arange(count), share, count, seed or 0))


def checked_share(share: float) -> float:
    if not 0 <= share <= 1:
        raise TrilabelError(f"a share must be between 0 and 1, not {share}")
    return share


def _probabilities(labels: Labels, share: float, times: float) -> float | NDArray[np.float64]:
    """With which probability each known label is kept, so that the share of all is this: one number, or one each."""
    if not times > 0:
        raise TrilabelError(f"present labels cannot be kept {times} times as often as absent ones; give more than 0")
    if times == 1:
        return share
    present: NDArray[np.bool_] = labels.csr.data > 0
    count, positives = len(present), int(present.sum())
    of_positives = min(1, share * count * times / max(times * positives + count - positives, 1))
    of_negatives = min(1, (share * count - of_positives * positives) / max(count - positives, 1))
    return np.where(present, of_positives, of_negatives)


def _checked_seed(seed: int) -> int:
    if not 0 <= seed < 1 << 32:
        raise TrilabelError(f"a seed must be a whole number from 0 to {(1 << 32) - 1}, not {seed}")
    return seed


def _whole(share: float, count: Any) -> NDArray[np.int64]:
    """That share of a count (or of each in an array) as the nearest whole number, halves up."""
    return np.floor(checked_share(share) * np.asarray(count) + 0.5).astype(np.int64)


def _some_of(candidates: NDArray[np.int64], share: float, size: int, seed: int) -> NDArray[np.bool_]:
    """A mask over `size` things, true for a random share of the candidates, and for at least one if share > 0."""
    count = max(int(_whole(share, len(candidates))), int(share > 0))
    mask = np.zeros(size, bool)
    mask[np.random.default_rng(_checked_seed(seed)).permutation(candidates)[:count]] = True
    return mask


def _kept(labels: Labels, keep: NDArray[np.bool_]) -> Labels:
    """Only the known labels for which `keep` (in storage order) is true."""
    csr = labels.csr
    ends = np.concatenate(([0], np.cumsum(keep)))[csr.indptr].astype(csr.indptr.dtype)
    kept = sp.csr_array((csr.data[keep], csr.indices[keep], ends), shape=csr.shape)
    return Labels(kept, labels.classes, labels.ids)


def _with_values(labels: Labels, values: NDArray[np.int8]) -> Labels:
    """The same known labels with other values (in storage order)."""
    csr = labels.csr
    return Labels(sp.csr_array((values, csr.indices, csr.indptr), shape=csr.shape), labels.classes, labels.ids)
