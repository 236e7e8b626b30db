"""TrilabelError: the input is wrong; the message explains what to do about it."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_NAMES = 150  # enough for all recipes, but not for the classes of Open Images


class TrilabelError(ValueError):
    """Wrong input. Its message is one line: what is wrong, where, and what to do.

    The command line prints the message without a traceback and exits with 1.
    """


def unknown_name_error(kind: str, name: str, names: Iterable[str]) -> TrilabelError:
    """The error for an unknown name of this `kind`; lists the known names and suggests the most similar one.

    >>> print(unknown_name_error("head", "weldom", ["gap", "weldon"]))
    no head named 'weldom'; there are: gap, weldon; did you mean 'weldon'?
    """
    known = list(names)
    near = get_close_matches(name, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(known[:_MOST_NAMES]) + (f", … ({len(known):,} in all)" if len(known) > _MOST_NAMES else "")
    return TrilabelError(f"no {kind} named {name!r}; there are: {shown}{meant}")
