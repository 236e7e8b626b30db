"""How many classes an image has on average: k of Cole 2021, estimated from what is labelled and from nothing else."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from trilabel.labels import Labels

_FEWEST_FOR_INTERVAL = 5  # of fewer images, resampling shows little of how much the mean may be off
_RESAMPLES = 4_000
_HIDDEN_PER_KNOWN = 1.5  # a guess: presents there are for each one that is named


@dataclass(frozen=True)
class ExpectedPositives:
    """Presents per image, and how well that is known."""

    value: float
    source: Literal["given", "labelled", "guess"]
    low: float | None = None  # 90 % interval of the mean
    high: float | None = None
    images: int = 0  # fully labelled ones behind it

    def describe(self) -> str:
        """One line for a person."""
        if self.source == "given":
            return f"presents per image: {self.value:g} (given)"
        if self.source == "guess":
            return (
                f"presents per image: {self.value:.2f} is A GUESS, as no fully labelled image has a present; "
                "replace it by --set expected_positives=K, or label a few images fully"
            )
        images = f"{self.images:,} fully labelled image{'s' if self.images > 1 else ''}"
        if self.low is None:
            return f"presents per image: {self.value:.2f} (from {images}: too few to say how far off it may be)"
        return f"presents per image: {self.value:.2f} (90 % interval {self.low:.2f}–{self.high:.2f}, from {images})"


def expected_positives(labels: Labels, sample: Labels | None = None, given: float | None = None) -> ExpectedPositives:
    """Presents per image: as given, else by the fully labelled images of both, else a guess from the labels.

    labels: of the training images. sample: of other images of the same kind, such as those for validation.
    """
    if given is not None:
        return ExpectedPositives(given, "given")
    found = labelled_positives(labels, sample)
    # A mean of 0 would forbid every present: those images were not picked at random.
    return found if found is not None and found.value > 0 else _guess(labels)


def labelled_positives(labels: Labels, sample: Labels | None = None) -> ExpectedPositives | None:
    """Mean presents over images with every class known, and its 90 % interval; None where there is no such image."""
    counts = np.concatenate([_presents_of_full(part) for part in (labels, sample) if part is not None])
    if not len(counts):
        return None
    enough = len(counts) >= _FEWEST_FOR_INTERVAL
    low, high = _interval(counts, labels.shape[1]) if enough else (None, None)
    return ExpectedPositives(float(counts.mean()), "labelled", low, high, len(counts))


def _presents_of_full(labels: Labels) -> NDArray[np.int64]:
    present, absent = labels.counts_per_image()
    classes = labels.shape[1]
    full: NDArray[np.int64] = present[(present + absent == classes) & (classes > 0)]
    return full


def _interval(counts: NDArray[np.int64], classes: int) -> tuple[float, float]:
    """5th and 95th percentile of the mean of as many images, drawn again from these with replacement.

    Few images look more alike than all are, so the percentiles of few lie too close; they are moved apart as Student's
    distribution is wider than the normal one.
    """
    values, times = np.unique(counts, return_counts=True)
    # How often each value is drawn is all that the mean needs: the cost does not grow with the images.
    drawn = np.random.default_rng(0).multinomial(len(counts), times / len(counts), size=_RESAMPLES)
    count = len(counts)
    wider = stats.t.ppf(0.95, count - 1) / stats.norm.ppf(0.95) * np.sqrt(count / (count - 1))
    mean = counts.mean()
    low, high = mean + wider * (np.percentile(drawn @ values / count, [5, 95]) - mean)
    return float(max(low, 0)), float(min(high, classes))


def _guess(labels: Labels) -> ExpectedPositives:
    present, _ = labels.counts_per_image()
    named = present[present > 0]
    mean = float(named.mean()) if len(named) else 1.0
    return ExpectedPositives(min(max(_HIDDEN_PER_KNOWN * mean, 1.0), float(labels.shape[1])), "guess")
