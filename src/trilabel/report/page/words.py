"""Numbers in sentences."""

_NO_BREAK = "\N{NO-BREAK SPACE}"


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; a dash for None.

    >>> percent(0.12345).replace("\N{NO-BREAK SPACE}", " "), percent(None)
    ('12.3 %', '—')
    """
    return "—" if share is None else f"{100 * share:.{digits}f}{_NO_BREAK}%"
