"""Loops over many cheap cases inside one test."""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def case(*names: object) -> Iterator[None]:
    """What fails inside says in which case: `with case("bce", dtype): …` in a loop over cases."""
    try:
        yield
    except BaseException as error:  # pytest's own failures are no Exception
        error.add_note("case: " + ", ".join(map(str, names)))
        raise
