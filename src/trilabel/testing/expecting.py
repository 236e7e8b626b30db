"""What checks are written with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from trilabel.errors import TrilabelError


def expect(holds: object, otherwise: str) -> None:
    """Raises an AssertionError that says what is wrong, unless something holds; unlike `assert` also under -O."""
    if not holds:
        raise AssertionError(otherwise)


@contextmanager
def case(*what: Any) -> Iterator[None]:
    """Names the case in the report of what fails inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {' '.join(map(str, what))}")
        raise


@contextmanager
def reading_no_value() -> Iterator[None]:
    """For code on the meta device, which has no values: code that reads one, and so would wait for a GPU, fails."""
    try:
        yield
    except (RuntimeError, NotImplementedError) as error:
        raise AssertionError(f"it reads a value, and so would wait for the device: {error}") from error


def refusal(call: Callable[[], Any], otherwise: str) -> str:
    """The message with which a call is refused, which is one line; an AssertionError if it is not refused."""
    try:
        call()
    except TrilabelError as error:
        expect("\n" not in str(error), f"a message must be one line, not {str(error)!r}")
        return str(error)
    raise AssertionError(otherwise)
