"""The settings of `posterior`: where the rates of known labels come from."""

from dataclasses import dataclass
from typing import Literal

from trilabel.errors import TrilabelError


@dataclass(frozen=True)
class PosteriorSettings:
    """Where it is known from how often labels are known, and what else shapes the loss."""

    rates: Literal["auto", "shares", "fit", "one-of-k", "given"] = "auto"
    """given: `positives_known` or a table. shares: from how common classes are in fully labelled images or a table.
    fit: from a model of known labels. one-of-k: drawn from all an image has. auto: the first of these that the labels
    allow."""
    positives_known: float | None = None
    """The share of the present labels that are known, in images of which something is unknown."""
    negatives_known: float = 0.0
    """The share of the absent labels that are known."""
    table: str | None = None
    """A table of rates (class,positives,negatives) or of class shares (class,share)."""
    warm_up: int | None = None
    """First epochs of the first stage in which unknown counts as absent where it speaks for absent at all; none: a
    quarter of them, at least 1, where no negative is known, else 0."""
    fit_epochs: int = 3
    """With rates=fit: epochs of the model of known labels, which learns from every second image."""
    smoothing: float = 0.1
    """Share of a target moved to its opposite at first, as far as being unknown says something."""
    smoothing_until: float | None = 0.5
    """Share of a stage's epochs over which smoothing fades to nothing; none: it stays."""


def check_settings(settings: PosteriorSettings) -> None:
    """Refuses settings out of range or at odds."""
    named = settings.positives_known
    if named is not None and not 0 < named <= 1:
        raise TrilabelError(f"posterior: positives_known is a share above 0 and up to 1, not {named}")
    if not 0 <= settings.negatives_known < 1 or not 0 <= settings.smoothing <= 1:
        raise TrilabelError("posterior: negatives_known is a share below 1, smoothing a share")
    if settings.smoothing_until is not None and not 0 < settings.smoothing_until <= 1:
        raise TrilabelError(
            f"posterior: smoothing_until is a share of the epochs above 0, or none, not {settings.smoothing_until}"
        )
    if settings.fit_epochs < 1 or (settings.warm_up or 0) < 0:
        raise TrilabelError("posterior: give fit_epochs of 1 or more, warm_up of 0 or more")
    if settings.table is not None and named is not None:
        raise TrilabelError("posterior: give positives_known or a table, not both")
    if settings.rates == "given" and named is None and settings.table is None:
        raise TrilabelError("posterior: rates=given needs numbers. Use --set positives_known=0.3, or a table of rates")
    if settings.rates in ("fit", "one-of-k") and (named is not None or settings.table is not None):
        raise TrilabelError(f"posterior: rates={settings.rates} takes neither positives_known nor a table; leave rates")
    if settings.rates == "shares" and named is not None:
        raise TrilabelError("posterior: rates=shares takes no positives_known; leave out one of them")
