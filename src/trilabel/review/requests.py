"""What people send, checked: names, views in addresses, answers. Anything else is a `BadRequest`."""

import json
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

from trilabel.errors import TrilabelError
from trilabel.printable import printable
from trilabel.review.desk import Given
from trilabel.review.orders import DEFAULT, Order
from trilabel.review.views import KINDS, View

_LONGEST_NAME, _LONGEST_ID = 40, 64
_MOST_ANSWERS = 100


class BadRequest(Exception):
    """A request that our own page would not make; its message is shown."""


class Sent(NamedTuple):
    """Answers that a page sends together."""

    batch: str
    sheet: str
    view: str
    answers: list[Given]


def person(name: str) -> str:
    """The name of a person, as it is stored.

    >>> person("  Anna   Berg ")
    'Anna Berg'
    """
    found = " ".join(unicodedata.normalize("NFC", name).split())
    if not found or len(found) > _LONGEST_NAME or printable(found) != found or "/" in found or found in (".", ".."):
        raise BadRequest(f"A name has 1 to {_LONGEST_NAME} letters, and no slash.")
    return found


def view_of(kind: str, column: int, query: Mapping[str, str], classes: int) -> View:
    """The view that an address names."""
    if kind not in KINDS or (kind == "grid" and not 0 <= column < classes):
        raise BadRequest("There is no such page.")
    try:
        return View(
            kind,
            column,
            cast(Order, query.get("order") or DEFAULT),
            query.get("text", "").strip(),
            query.get("split", ""),
            float(query.get("low") or 0) + 0.0,
            float(query.get("high") or 1) + 0.0,
        )
    except (TrilabelError, ValueError) as error:
        raise BadRequest(f"There is no such page ({error}).") from None


def sent_answers(body: bytes, images: int, classes: int) -> Sent:
    """The answers in the body of a request."""
    value = _object(body)
    answers = value.get("answers")
    if not isinstance(answers, list) or not 0 < len(answers) <= _MOST_ANSWERS:
        raise BadRequest(f"Send 1 to {_MOST_ANSWERS} answers.")
    view = value.get("view")
    if view not in (*KINDS, "answers"):
        raise BadRequest("Answers say where they were asked.")
    batch, sheet = _text(value, "batch"), _text(value, "sheet")
    if not batch:
        raise BadRequest("Answers have a batch.")
    return Sent(batch, sheet, view, [_given(one, images, classes) for one in answers])


def left_sheets(body: bytes) -> list[str]:
    """The sheets whose pages were closed."""
    sheets = _object(body).get("sheets")
    if not isinstance(sheets, list) or len(sheets) > _MOST_ANSWERS or not all(isinstance(one, str) for one in sheets):
        raise BadRequest("Sheets are a list of names.")
    return sheets


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("Send JSON.") from None
    if not isinstance(value, dict):
        raise BadRequest("Send a JSON object.")
    return value


def _text(value: Mapping[str, Any], name: str) -> str:
    found = value.get(name, "")
    if not isinstance(found, str) or len(found) > _LONGEST_ID or not found.isascii() or printable(found) != found:
        raise BadRequest(f"{name} is a short text.")
    return found


def _given(one: Any, images: int, classes: int) -> Given:
    match one:
        case {"row": int(row), "column": int(column), "value": int(value)}:
            undone = one.get("undone", False)
        case _:
            raise BadRequest("An answer has row, column and value.")
    if not 0 <= row < images or not 0 <= column < classes or value not in (1, -1, 0) or type(undone) is not bool:
        raise BadRequest("There is no such label or value.")
    return Given(int(row), int(column), int(value), undone)
