"""Lists of tags in one cell of a table: a;b;c, a|b, a, b or ["a", "b"]."""

import re
from collections.abc import Iterable

_SEPARATORS = (";", "|", ",")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""")


def usual_separator(texts: Iterable[str]) -> str:
    """The first of ; | , that stands in any of the texts, so that "Dog, domestic; Cat" has two tags."""
    texts = list(texts)
    return next((separator for separator in _SEPARATORS if any(separator in text for text in texts)), ",")


def tags_of(text: str, separator: str) -> list[str]:
    """The tags in a text, each once; a list as Python and JSON write it is taken apart at its quotes."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        quoted = [one or two for one, two in _QUOTED.findall(text)]
        found = quoted or text[1:-1].split(",")
    else:
        found = text.split(separator)
    return list(dict.fromkeys(tag for name in found if (tag := name.strip())))
