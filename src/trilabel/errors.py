"""The one exception that means "the input is at fault, and here is what to do about it"."""

from collections.abc import Iterable
from difflib import get_close_matches

_MOST_NAMES = 150  # all recipes, but not all classes of Open Images


class TrilabelError(ValueError):
    """A one-line message for the person at the keyboard: what is wrong, where, and what to do.

    The command line prints it without a traceback and exits with 1.
    """


def unknown_name_error(kind: str, name: str, names: Iterable[str]) -> TrilabelError:
    """That there is no head (method, …) of this name, which there are, and which was perhaps meant."""
    known = list(names)
    near = get_close_matches(name, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(known[:_MOST_NAMES]) + (f", … ({len(known):,} in all)" if len(known) > _MOST_NAMES else "")
    return TrilabelError(f"no {kind} named {name!r}; there are: {shown}{meant}")
