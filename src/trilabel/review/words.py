"""Numbers as the page says them."""

from trilabel.printable import plural, printable, shorten
from trilabel.review.desk import Progress
from trilabel.review.intervals import Share

_LONGEST_NAME = 80
_ENOUGH = 5  # random answers, below which a share says nothing


def shown(name: str) -> str:
    """A name that others chose: control characters visible, not too long."""
    return shorten(printable(name), _LONGEST_NAME)


def duration(seconds: float) -> str:
    """Roughly how long.

    >>> duration(20), duration(500), duration(3 * 3600), duration(300_000)
    ('less than a minute', '8 min', '3 h', '83 h')
    """
    if seconds < 60:
        return "less than a minute"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.0f} h"


def percent(share: float | None) -> str:
    """A probability without decimals, but not as 0 or 100 % where it is neither.

    >>> percent(0.123), percent(0.001), percent(0.9999), percent(None)
    ('12 %', '< 1 %', '> 99 %', 'no score')
    """
    if share is None:
        return "no score"
    if 0 < share < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"


def progress_line(progress: Progress) -> str:
    """How far a view is, and how long the rest takes."""
    line = f"{progress.done:,} of {progress.total:,}"
    if progress.seconds_left is not None and progress.done < progress.total:
        line += f" · about {duration(progress.seconds_left)} left"
    return line


def right_line(share: Share, sign: int, of: str = "") -> str:
    """What random questions say about all proposals, with the exact 95 % interval.

    >>> right_line(Share(193, 200, 0.9292, 0.9858), 1)
    'of what was filled in as present, 96 % right so far (93 to 99 %; 200 asked at random)'
    """
    what = f"of what was filled in as {'present' if sign > 0 else 'absent'}{of and f' for {of}'}"
    if share.asked < _ENOUGH:
        return f"{what}: too few asked at random yet ({share.asked})"
    low, high = f"{100 * share.low:.0f}", f"{100 * share.high:.0f}"
    rounded = f"{100 * share.right / share.asked:.0f}"
    return f"{what}, {rounded} % right so far ({low} to {high} %; {share.asked:,} asked at random)"


def agreement_line(agreeing: int, pairs: int) -> str:
    """How often people agree; empty where nothing was asked twice."""
    if not pairs:
        return ""
    return f"people agree in {100 * agreeing / pairs:.0f} % of {plural(pairs, 'pair')} of answers to one question"
