"""Where the rates of known labels come from: the first source that the labels allow, or the one that was asked for."""

from dataclasses import dataclass

import numpy as np

from trilabel.data.side_tables.class_numbers import read_class_numbers
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.labels.rates import (
    ClassShares,
    Rates,
    class_shares,
    full_rows,
    mean_rate,
    most_positives,
    rates_by_shares,
)
from trilabel.methods.posterior.settings import PosteriorSettings

_ENOUGH_IMAGES = 30  # fully labelled, from which class shares are worth more than what follows in the order
_ENOUGH_NEGATIVES = 60  # of a class, half of which the fit sees
_NOT_ALIKE = 1.2  # known positives ÷ all there should be, beyond which the shares are not of such images
_EXCLUSIVE = 1.25  # positives per image below which labels nearly exclude each other
_TABLES = ("class,positives", "class,positives,negatives", "class,share")
_HELPS = (
    "--method posterior --set rates=given positives_known=0.3 (if three of ten are known), or 100 fully labelled "
    "validation images"
)


@dataclass(frozen=True)
class Source:
    """What is known of the rates before training. Those of a fit follow later, those of one-of-k are for the start."""

    kind: str  # "rates", "fit" or "one-of-k"
    rates: Rates
    notes: tuple[str, ...]


def find_source(settings: PosteriorSettings, labels: Labels, validation: Labels | None) -> Source:
    """The source that the settings name; by default the first of given, shares, fit and one-of-k that is possible."""
    if settings.positives_known is not None or settings.table is not None:
        return _given(settings, labels)
    if full_rows(labels).all() and settings.rates == "auto":
        return Source("rates", _constant(labels, 0, 0), ("posterior: every label is known, as in plain BCE",))
    if settings.rates in ("auto", "shares"):
        counted = class_shares(labels, validation, _ENOUGH_IMAGES if settings.rates == "auto" else 1)
        if counted is not None and mean_rate(labels, counted) <= _NOT_ALIKE:
            return _by_shares(labels, counted, f"class shares of {counted.images:,.0f} fully labelled images")
        if settings.rates == "shares":
            raise TrilabelError(
                f"posterior: {_why_no_shares(counted)}. Use {_HELPS}, or --set table=FILE with the columns class,share"
            )
    if settings.rates == "fit" or (settings.rates == "auto" and _can_fit(labels)):
        return _fit(labels)
    if settings.rates == "one-of-k" or (most_positives(labels) == 1 and labels.shape[1] > 1):
        return _one_of_k(labels, validation)
    raise TrilabelError(f"posterior: how often labels are known cannot be learned from {_seen(labels)}. Use {_HELPS}")


def _given(settings: PosteriorSettings, labels: Labels) -> Source:
    if settings.table is None:
        assert settings.positives_known is not None
        rates, origin = _constant(labels, settings.positives_known, settings.negatives_known), "rates as given"
    else:
        wanted = {"shares": _TABLES[2:], "given": _TABLES[:2]}.get(settings.rates, _TABLES)
        columns = read_class_numbers(settings.table, labels.classes, wanted)
        if "share" in columns:
            return _by_shares(labels, ClassShares(columns["share"], np.inf), f"class shares of {settings.table}")
        negatives = columns.get("negatives", np.full(labels.shape[1], settings.negatives_known))
        if (negatives >= 1).any():
            name = labels.classes[int(negatives.argmax())]
            raise TrilabelError(f"{settings.table}: negatives of class {name!r} are all known; give a share below 1")
        rates, origin = Rates(columns["positives"], negatives), f"rates of {settings.table}"
    return Source("rates", rates, (f"posterior, {origin}: {rates.describe()}",))


def _by_shares(labels: Labels, counted: ClassShares, origin: str) -> Source:
    rates = rates_by_shares(labels, counted)
    notes = [f"posterior, rates by {origin}: {rates.describe()}"]
    if counted.images < _ENOUGH_IMAGES:
        notes.append(f"posterior: shares of {counted.images:.0f} images are rough; 100 fully labelled ones are enough")
    return Source("rates", rates, tuple(notes))


def _fit(labels: Labels) -> Source:
    if not labels.counts_per_class()[1].any():
        raise TrilabelError(f"posterior: rates=fit needs known negatives, and there are none. Use {_HELPS}")
    note = "posterior: the rates of known labels are fitted in a warm-up that learns known labels alone"
    if not _can_fit(labels):
        note += f"; most classes have fewer than {_ENOUGH_NEGATIVES} known negatives, so expect them to be rough"
    return Source("fit", _constant(labels, 0, 0), (note,))


def _one_of_k(labels: Labels, validation: Labels | None) -> Source:
    expected = expected_positives(labels, validation)
    notes = [
        "posterior: each image's known positives are taken as drawn at random from all that it has: the more the model "
        "sees in an image, the less it means that a label is unknown"
    ]
    if expected.source == "guess":
        notes.append(
            "posterior: one-of-k takes labels as independent; where they nearly exclude each other (about one positive "
            "per image) assume-negative is better, and 100 fully labelled validation images would settle it"
        )
    elif expected.value < _EXCLUSIVE:
        notes.append(
            f"posterior: labels nearly exclude each other ({expected.value:.2f} positives per image), which one-of-k "
            "does not know; use --set rates=shares, or assume-negative"
        )
    if negatives := int(labels[~full_rows(labels)].counts_per_class()[1].sum()):
        notes.append(
            f"posterior: the {negatives:,} known negatives are taken for what people were asked of, which says nothing "
            "of other labels; --set rates=auto, if labels are missing in another way"
        )
    # One of each image at first; people who were asked may have added others.
    present, _ = labels[~full_rows(labels)].counts_per_image()
    named = float(present[present > 0].mean()) if present.any() else 1.0
    return Source("one-of-k", _constant(labels, min(1, named / max(expected.value, 1)), 0), tuple(notes))


def _can_fit(labels: Labels) -> bool:
    """Whether at least half of the classes with positives have enough known negatives."""
    positives, negatives = labels[~full_rows(labels)].counts_per_class()
    enough = negatives[positives > 0] >= _ENOUGH_NEGATIVES
    return bool(len(enough)) and 2 * int(enough.sum()) >= len(enough)


def _constant(labels: Labels, positives: float, negatives: float) -> Rates:
    classes = labels.shape[1]
    return Rates(np.full(classes, float(positives)), np.full(classes, float(negatives)))


def _why_no_shares(counted: ClassShares | None) -> str:
    if counted is None:
        return "rates=shares needs fully labelled images, and there are none"
    return "the fully labelled images have too few positives to be like the others, where more are known"


def _seen(labels: Labels) -> str:
    negatives = int(labels.counts_per_class()[1].sum())
    return f"so few known negatives ({negatives:,})" if negatives else "positives alone"
