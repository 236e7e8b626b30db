"""What known labels weigh where they are no fair sample: each stands for as many as it takes to have one known.

People name what they see more often than what they do not see, so that among known labels too many are present.
"""

import numpy as np
from numpy.typing import NDArray

from trilabel.labels.matrix import Labels
from trilabel.labels.rates import Numbers, Rates, full_rows

_CHANCE = 2.0  # times the images there are: the most that images which are full by chance stand for


def known_weights(labels: Labels, rates: Rates) -> Numbers | None:
    """n: of each known label, image by image, 1 ÷ its chance to be known, up to a factor of its class; None: all equal.

    Labels of images that were labelled in full, not by chance, weigh 1, for these are no selection. The factor is such
    that the known labels say as much of how common a class is as they would without weights: with n⁺ and n⁻ of them
    n⁺n⁻ ÷ (n⁺ + n⁻) stays as it is.

    >>> labels = Labels.from_signed([[1, 0], [1, -1], [-1, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]])
    >>> known_weights(labels, Rates(np.array([0.6, 0.3]), np.array([0.2, 0.3]))).round(2)
    array([0.5, 0.5, 1. , 1.5, 0.5, 1. ])
    """
    full = full_rows(labels)
    if full.all() or not len(labels):
        return None
    if _full_by_chance(labels[full], rates, len(labels)):
        full[:] = False
    of_class = _of_class(*labels[~full].counts_per_class(), int((~full).sum()), rates)
    rows = np.repeat(np.arange(len(labels)), np.diff(labels.csr.indptr))
    found: Numbers = np.where(full[rows], 1.0, of_class[(labels.csr.data < 0).astype(int), labels.csr.indices])
    return None if (found == 1).all() else found


def _full_by_chance(full: Labels, rates: Rates, images: int) -> bool:
    """Whether fully labelled images are no more than there are to be: each stands for 1 ÷ P(all of it is known).

    With the rates at hand this is exact, where `full_rows` has to do without.
    """
    present = full.csr.data.reshape(full.shape) > 0
    with np.errstate(divide="ignore", over="ignore"):
        stands_for = np.exp(-np.log(np.where(present, rates.positives, rates.negatives)).sum(1))
    return bool(stands_for.sum() <= _CHANCE * images)


def _of_class(present: NDArray[np.int64], absent: NDArray[np.int64], images: int, rates: Rates) -> Numbers:
    """2×C: what a known positive and a known negative weigh. present, absent: how many are known, C each."""
    times = np.ones(len(present))  # as often as an absent label a present one is known
    # Of a rate of 0 there can be no known label: where there is one, the rates are not of these labels.
    fits = ((rates.positives > 0) | (present == 0)) & ((rates.negatives > 0) | (absent == 0))
    used = fits & (rates.positives != rates.negatives)
    n, m = np.maximum(present, 1)[used], np.maximum(absent, 1)[used]
    # All known labels of a class stand for no more labels than there are images.
    positives, negatives = (
        np.maximum(rate[used], count / images) for rate, count in ((rates.positives, n), (rates.negatives, m))
    )
    times[used] = positives / negatives
    of_absent = np.ones(len(present))
    of_absent[used] = (n + times[used] * m) / (n + m)
    return np.stack((of_absent / times, of_absent))
