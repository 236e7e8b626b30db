"""How many classes an image has on average (k of Cole 2021), estimated from the labels alone."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.labels.matrix import Labels

_FEWEST_FOR_INTERVAL = 5  # with fewer images, resampling gives no useful error of the mean
_RESAMPLES = 4_000
_HIDDEN_PER_KNOWN = 1.5  # a guess: the number of positives for each known one


@dataclass(frozen=True)
class ExpectedPositives:
    """Positives per image, and how reliable that number is."""

    value: float
    source: Literal["given", "labeled", "guess"]
    low: float | None = None  # 90 % interval of the mean
    high: float | None = None
    images: int = 0  # how many fully labelled images it is computed from

    def describe(self) -> str:
        """One line for a person."""
        if self.source == "given":
            return f"positives per image: {self.value:g} (given)"
        if self.source == "guess":
            return (
                f"positives per image: {self.value:.2f} is A GUESS, as no fair sample of images is fully labelled; "
                "replace it with --set expected_positives=K, or label a few images fully"
            )
        images = f"{self.images:,} fully labelled image{'s' if self.images > 1 else ''}"
        if self.low is None:
            return f"positives per image: {self.value:.2f} (from {images}: too few to estimate the error)"
        return f"positives per image: {self.value:.2f} (90 % interval {self.low:.2f}–{self.high:.2f}, from {images})"


def expected_positives(labels: Labels, sample: Labels | None = None, given: float | None = None) -> ExpectedPositives:
    """Positives per image: as given, else from the fully labelled images, else a guess from the labels.

    labels: of the training images. sample: of other images of the same kind, such as those for validation.

    >>> expected_positives(Labels.from_signed([[1, -1, 1], [1, -1, -1], [0, 1, 0]])).value
    1.5
    """
    if given is not None:
        return ExpectedPositives(given, "given")
    found = labeled_positives(labels, sample)
    return found if found is not None and _can_be(found, labels) else _guess(labels)


def labeled_positives(labels: Labels, sample: Labels | None = None) -> ExpectedPositives | None:
    """Mean positives over images with every class known, and its 90 % interval; None if there is no such image.

    Those of `sample` are preferred: among training images, the fully labelled ones are often a biased selection.
    """
    for part in (sample, labels):
        if part is not None and len(counts := _positives_of_full_images(part)):
            enough = len(counts) >= _FEWEST_FOR_INTERVAL
            low, high = _interval(counts, part.shape[1]) if enough else (None, None)
            return ExpectedPositives(float(counts.mean()), "labeled", low, high, len(counts))
    return None


def _positives_of_full_images(labels: Labels) -> NDArray[np.int64]:
    present, absent = labels.counts_per_image()
    if not absent.any():  # only positives are known: an image with every class present is not a sample of the others
        return present[:0]
    full: NDArray[np.int64] = present[present + absent == labels.shape[1]]
    return full


def _can_be(found: ExpectedPositives, labels: Labels) -> bool:
    """Whether fully labelled images have as many known positives as all images, as a random sample would."""
    present, absent = labels.counts_per_image()
    known = present[present + absent > 0]
    most = found.value if found.high is None else found.high
    return found.value > 0 and (not len(known) or most >= known.mean())


def _interval(counts: NDArray[np.int64], classes: int) -> tuple[float, float]:
    """5th and 95th percentile of the mean of as many images, resampled from these with replacement (bootstrap).

    A small sample varies less than its population, so its percentiles are too close; they are moved apart by as much
    as Student's distribution is wider than the normal one.
    """
    values, times = np.unique(counts, return_counts=True)
    # The mean only needs how often each value is drawn, so the cost does not grow with the number of images.
    resampled = np.random.default_rng(0).multinomial(len(counts), times / len(counts), size=_RESAMPLES)
    count = len(counts)
    from scipy.special import ndtri, stdtrit  # quantiles; all of scipy.stats takes a second to import

    wider = stdtrit(count - 1, 0.95) / ndtri(0.95) * np.sqrt(count / (count - 1))
    mean = counts.mean()
    low, high = mean + wider * (np.percentile(resampled @ values / count, [5, 95]) - mean)
    return float(max(low, 0)), float(min(high, classes))


def _guess(labels: Labels) -> ExpectedPositives:
    present, _ = labels.counts_per_image()
    known = float(present[present > 0].mean()) if present.any() else 1.0
    return ExpectedPositives(min(max(_HIDDEN_PER_KNOWN * known, 1.0), float(labels.shape[1])), "guess")
