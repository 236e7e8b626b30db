"""Shows docstrings as they are written: plain text with `code` in backticks, not reStructuredText.

A paragraph of lines such as "share: how much to keep" becomes a list, where the words before the colons are parameters.
Examples (`>>>`) stay what they are. NumPy's types are shown by their short names.
"""

import inspect
import pydoc
import re
from typing import Any

_SPECIAL = re.compile(r"([\\*_|])")
_CODE = re.compile(r"`+([^`]+)`+")
_DOTTED = r"~?(?:\w+\.)*"
_TYPES = (
    (
        re.compile(rf"{_DOTTED}ndarray\[tuple\[{_DOTTED}Any, \.\.\.\], {_DOTTED}dtype\[{_DOTTED}(\w+)\]\]"),
        r"NDArray[\1]",
    ),
    (re.compile(rf"{_DOTTED}_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]"), "ArrayLike"),
)
_ENTRY = re.compile(r"((?:\*{0,2}\w+)(?:, \*{0,2}\w+)*): (.*)")


def escaped(text: str) -> str:
    """Text that reStructuredText shows as it is, with what stood in backticks as code."""
    parts = _CODE.split(text)
    return "".join(f"``{part}``" if place % 2 else _SPECIAL.sub(r"\\\1", part) for place, part in enumerate(parts))


def parameters_of(obj: Any) -> set[str]:
    """The names that a docstring may explain."""
    try:
        return set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        return set()


def paragraph(lines: list[str], names: set[str]) -> list[str]:
    """A paragraph as text, or as a list where it explains parameters."""
    if lines[0].lstrip().startswith(">>>"):
        return lines
    entries = [_ENTRY.fullmatch(line) for line in lines]
    first = entries[0]
    if first is None or not set(first[1].replace("*", "").split(", ")) <= names:
        return [escaped(line) for line in lines]
    shown = []
    for line, entry in zip(lines, entries, strict=True):
        if entry and set(entry[1].replace("*", "").split(", ")) <= names:
            shown.append(f"- **{escaped(entry[1])}**: {escaped(entry[2])}")
        else:
            shown.append("  " + escaped(line.strip()))
    return shown


def to_rst(lines: list[str], names: set[str]) -> list[str]:
    """The lines of a docstring as reStructuredText."""
    shown: list[str] = []
    for block in "\n".join(lines).split("\n\n"):
        content = [line for line in block.split("\n") if line.strip()]
        if content:
            shown += [*paragraph(content, names), ""]
    return shown


def with_short_types(text: str) -> str:
    """A signature in which NumPy's types are what they are called in the source.

    >>> with_short_types("(a: ndarray[tuple[Any, ...], dtype[int8]]) -> ndarray[tuple[Any, ...], dtype[Any]]")
    '(a: NDArray[int8]) -> NDArray[Any]'
    """
    for pattern, short in _TYPES:
        text = pattern.sub(short, text)
    return text


def process_signature(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Called by autodoc for each signature."""
    return signature and with_short_types(signature), returned and with_short_types(returned)


def comment_of(name: str) -> str:
    """What the source says behind a field of a class, after the #."""
    owner, _, field = name.rpartition(".")
    found = re.search(rf"^ +{field}: [^\n]*?# (.*)", inspect.getsource(pydoc.locate(owner)), re.MULTILINE)
    return found[1] if found else ""


def process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Called by autodoc for each docstring."""
    if lines[:1] and lines[0].startswith("Alias for field number"):  # of a NamedTuple
        lines[:] = [comment_of(name)]
    lines[:] = to_rst(lines, parameters_of(obj))


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", process_signature)
    return {"parallel_read_safe": True}
