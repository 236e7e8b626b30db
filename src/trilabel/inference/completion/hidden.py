"""How many of the unknown labels of each class are present: counted, estimated from scores, or assumed, with bounds.

People name what they see, so that what nobody named is less often present than what was: the share among known labels
must not be taken for that among unknown ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, expit, gammaincinv, logit, ndtri

from trilabel.data.side_tables.class_numbers import read_class_numbers
from trilabel.errors import TrilabelError
from trilabel.inference.completion.counts import Counts, total
from trilabel.labels import Labels
from trilabel.labels.fitted_rates import fitted_rates
from trilabel.labels.rates import Rates, class_shares, full_rows, mean_rate
from trilabel.methods.posterior.settings import PosteriorSettings, check_settings

Numbers = NDArray[np.float64]

PARTS = 20  # of the images, each left out once to see how far estimates vary
# Higher than what `posterior` takes: there rates that are somewhat off cost little, here they decide what is promised.
_ENOUGH_IMAGES = 100  # fully labelled, from which their class shares are worth more than a fit
_NOT_ALIKE = 1.2  # known positives ÷ all there should be, beyond which the shares are not of such images
_ENOUGH_NEGATIVES = 30  # known ones of a class, all of them seen; where most classes have fewer, nothing is fitted
_TABLES = ("class,positives", "class,positives,negatives", "class,share")


@dataclass(frozen=True)
class Hidden:
    """Unknown labels that are present, and what follows for known ones; C numbers each."""

    present: Numbers  # unknown labels that are probably present
    most_present: Numbers  # at most
    most_absent: Numbers  # unknown labels that are absent, at most
    positive_weight: Numbers  # unknown positives for each known one, at most; infinite where none is known
    negative_weight: Numbers  # likewise
    certain: bool  # the weights are exact: nothing is left to chance
    note: str  # what they rest on, a sentence for people
    assumption: str | None = None  # what is taken for granted beyond that


def find_hidden(parts: Sequence[Counts], labels: Labels, settings: PosteriorSettings, confidence: float) -> Hidden:
    """By the first of: as given, class shares of fully labelled images, a fit, the share among known labels.

    parts: the same images in `PARTS` parts, by calibrated log-odds of known labels. labels: theirs. confidence: of each
    of the two bounds. settings: those of `posterior`, which name a source.
    """
    check_settings(settings)
    counts = total(parts)
    unknown = counts.unknown.sum(1).astype(np.float64)
    if settings.positives_known is not None or settings.table is not None:
        return _given(settings, labels, counts, confidence)
    wanted = settings.rates
    shares = class_shares(labels, fewest=1 if wanted == "shares" else _ENOUGH_IMAGES)
    if wanted == "shares" and shares is None:
        raise TrilabelError("rates=shares needs fully labelled images that the model did not learn from; leave it out")
    if shares is not None and wanted in ("auto", "shares") and mean_rate(labels, shares) <= _NOT_ALIKE:
        seen, of = shares.shares * shares.images, shares.images
        low, high = 1 - _upper_share(of - seen, of, confidence), _upper_share(seen, of, confidence)
        known = labels.counts_per_class()[0]
        least, present, most = ((len(labels) * share - known).clip(0, unknown) for share in (low, shares.shares, high))
        note = f"how many unknown labels are present: by {of:,.0f} fully labelled images"
        return _bounded(least, present, most, counts, note)
    if wanted == "fit" or (wanted == "auto" and _can_fit(counts)):
        return _fitted(parts, counts, confidence)
    return _equal(counts, confidence)


def _bounded(low: Numbers, present: Numbers, high: Numbers, counts: Counts, note: str) -> Hidden:
    """From an estimate with bounds."""
    unknown = counts.unknown.sum(1)
    weights = _per_known(high, counts.positives), _per_known(unknown - low, counts.negatives)
    return Hidden(present, high, unknown - low, *weights, False, note)


def _per_known(unknown: Numbers, known: NDArray[np.int64]) -> Numbers:
    number = known.sum(1)
    found: Numbers = np.divide(unknown, number, out=np.full(len(number), np.inf), where=number > 0)
    return found


def _by_rates(rates: Rates, counts: Counts, confidence: float, assumption: str) -> Hidden:
    """From rates of known labels that are not doubted."""
    unknown = counts.unknown.sum(1).astype(np.float64)
    sides = []
    for known, rate in ((counts.positives, rates.positives), (counts.negatives, rates.negatives)):
        number = known.sum(1)
        weight = np.divide(1 - rate, rate, out=np.full(len(rate), np.inf), where=rate > 0)
        most = np.where(rate > 0, gammaincinv(number + 1, confidence) * np.where(rate > 0, weight, 0), unknown)
        likely = np.where(rate > 0, (number + 0.5) * np.where(rate > 0, weight, 0), np.nan)
        sides.append((weight, np.minimum(most, unknown), likely))
    (positive_weight, most_present, present), (negative_weight, most_absent, absent) = sides
    absent = np.where(np.isnan(absent), np.maximum(unknown - present, 0), absent)
    share = present / np.maximum(present + absent, 1e-9)
    # Rates of 0 say nothing about how many a known one stands for, except that there are no more than unknown labels.
    negative_weight = np.where(np.isinf(negative_weight), _per_known(unknown, counts.negatives), negative_weight)
    return Hidden(
        unknown * share, most_present, most_absent, positive_weight, negative_weight, True, assumption, assumption
    )


def _given(settings: PosteriorSettings, labels: Labels, counts: Counts, confidence: float) -> Hidden:
    classes, unknown = labels.shape[1], counts.unknown.sum(1)
    if settings.table is None:
        assert settings.positives_known is not None
        rates = Rates(np.full(classes, settings.positives_known), np.full(classes, settings.negatives_known))
        origin = f"{settings.positives_known:.0%} of present labels are known, {settings.negatives_known:.0%} of absent"
    else:
        columns = read_class_numbers(settings.table, labels.classes, _TABLES)
        origin = f"by {settings.table}"
        if "share" in columns:
            number = (len(labels) * columns["share"] - labels.counts_per_class()[0]).clip(0, unknown)
            return replace(_bounded(number, number, number, counts, origin), certain=True, assumption=_as_given(origin))
        rates = Rates(columns["positives"], columns.get("negatives", np.full(classes, settings.negatives_known)))
    return _by_rates(_of_all(rates, labels), counts, confidence, _as_given(origin))


def _as_given(origin: str) -> str:
    return f"how often labels are known is as given ({origin})"


def _of_all(rates: Rates, labels: Labels) -> Rates:
    """Rates are said of images of which something is unknown; with fully labelled ones beside them they are higher."""
    full = float(full_rows(labels).mean()) if len(labels) else 0.0
    return Rates(*(full + (1 - full) * rate for rate in (rates.positives, rates.negatives)))


def _can_fit(counts: Counts) -> bool:
    """Whether at least half of the classes with positives have enough known negatives."""
    seen = counts.positives.sum(1) > 0
    enough = counts.negatives.sum(1)[seen] >= _ENOUGH_NEGATIVES
    return bool(len(enough)) and 2 * int(enough.sum()) >= len(enough)


def _fitted(parts: Sequence[Counts], counts: Counts, confidence: float) -> Hidden:
    """By `labels.fitted_rates`; how far it errs by leaving each part of the images out once (jackknife).

    A class with few known positives is drawn to the mean of all, which hides how little is known of it: so their number
    widens its bounds.
    """
    unknown = counts.unknown.sum(1).astype(np.float64)
    middle = logit(_present_share(counts))
    others = np.stack([logit(_present_share(counts - part)) for part in parts])
    variance = (len(parts) - 1) * others.var(0)
    width = ndtri(confidence) * np.sqrt(variance + 1 / (counts.positives.sum(1) + 1))
    low, present, high = (unknown * expit(middle + step * width) for step in (-1, 0, 1))
    note = (
        f"how many unknown labels are present: fitted on which labels are known ({present.sum():,.0f} of "
        f"{unknown.sum():,.0f}; present labels are known {_times_as_often(present, counts):.2g} times as often as "
        "absent ones)"
    )
    return _bounded(low, present, high, counts, note)


def _times_as_often(hidden: Numbers, counts: Counts) -> float:
    present, absent, unknown = (float(each.sum()) for each in (counts.positives, counts.negatives, counts.unknown))
    rate = present / max(present + float(hidden.sum()), 1e-9)
    return rate / max(absent / max(absent + unknown - float(hidden.sum()), 1e-9), 1e-9)


def _present_share(counts: Counts) -> Numbers:
    """C: the share of the unknown labels that is present, between 0 and 1."""
    rates = (np.maximum(each.numpy(), 1e-6) for each in fitted_rates(counts.for_rates()))
    present, absent = (
        np.maximum(known.sum(1), 0.5) * (1 - rate) / rate
        for known, rate in zip((counts.positives, counts.negatives), rates, strict=True)
    )
    share: Numbers = (present / np.maximum(present + absent, 1e-9)).clip(1e-6, 1 - 1e-6)
    return share


def _equal(counts: Counts, confidence: float) -> Hidden:
    """As among the known labels."""
    known = (counts.positives + counts.negatives).sum(1)
    rate = known / np.maximum(known + counts.unknown.sum(1), 1)
    assumption = "present labels are taken to be known as often as absent ones (too few are known to see whether)"
    return _by_rates(Rates(rate, rate), counts, confidence, assumption)


def _upper_share(found: Numbers, of: float, confidence: float) -> Numbers:
    """The exact upper bound of a share (Clopper and Pearson)."""
    bound: Numbers = np.where(found < of, betaincinv(found + 1, np.maximum(of - found, 1e-9), confidence), 1.0)
    return bound
