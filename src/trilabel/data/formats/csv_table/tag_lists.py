"""Lists of tags in one cell of a table: a;b;c, a|b, a, b or ["a", "b"]."""

import ast
import json
from collections.abc import Iterable

_SEPARATORS = (";", "|", ",")


def usual_separator(texts: Iterable[str]) -> str:
    """The first of ; | , that is in any of the texts, so that "Dog, domestic; Cat" has two tags."""
    plain = [text for text in texts if not is_list(text)]
    return next((separator for separator in _SEPARATORS if any(separator in text for text in plain)), ",")


def tags_of(text: str, separator: str) -> list[str]:
    """The tags in a text, each once; lists are read as JSON, Python and NumPy write them."""
    found = _listed(text.strip()) if is_list(text) else text.split(separator)
    return list(dict.fromkeys(tag for name in found if (tag := name.strip())))


def is_list(text: str) -> bool:
    """Whether a text is in brackets."""
    return text.strip().startswith("[") and text.strip().endswith("]")


def _listed(text: str) -> list[str]:
    for parse in (json.loads, ast.literal_eval):
        try:
            return [str(item) for item in parse(text)]
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    inside = text[1:-1]
    return inside.split(",") if "," in inside else inside.split()
