"""Fewer labels than are known, in two ways: spread over all images, or all labels of some images (Durand 2019)."""

import numpy as np
import scipy.sparse as sp

from trilabel.labels import Labels


def spread(labels: Labels, count: int, seed: int) -> Labels:
    """So many of the known labels, drawn at random; images that are left with none are left out."""
    found = sp.csr_array(labels.csr, copy=True)
    dropped = np.random.default_rng(seed).permutation(found.nnz)[count:]
    found.data[dropped] = 0
    found.eliminate_zeros()
    return _labelled(Labels.from_csr(found, labels.classes, labels.ids))


def whole_images(labels: Labels, count: int, seed: int) -> Labels:
    """All known labels of images drawn at random, of so many that their labels are as near to `count` as can be."""
    known = np.diff(labels.csr.indptr)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(known))
    sums = np.cumsum(known[order])
    chosen = order[: int(np.argmin(np.abs(sums - count))) + 1]
    return labels[np.sort(chosen)]


def labels_per_image(labels: Labels) -> float:
    """Mean number of known labels of the images that have any."""
    known = np.diff(labels.csr.indptr)
    return float(known.sum() / max(1, np.count_nonzero(known)))


def _labelled(labels: Labels) -> Labels:
    return labels[np.flatnonzero(np.diff(labels.csr.indptr))]
