"""Text that others wrote (names of classes and files, cells of tables), made safe to show on a terminal or in a log.

A terminal obeys control characters: an escape sequence in the name of a class can hide lines, change the title of the
window or worse. So what is printed or logged passes through here, in the few places where that happens.
"""

import re

# Control characters, lone surrogates, line and paragraph separators, and what changes the direction of text or is
# invisible (Unicode's Cc, Cs, Zl, Zp and Cf). The joiners U+200C and U+200D stay: languages and emoji need them.
_CONTROL = "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
_FORMAT = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_UNSAFE = re.compile(f"[{_CONTROL}{_FORMAT}]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_LONG_WORD = re.compile(r"\S{400,}")
_LONGEST_MESSAGE = 8000


def printable(text: str) -> str:
    r"""The text with control and format characters visible, on one line.

    >>> print(printable("\x1b[2J cat\n"))
    \x1b[2J cat\n
    """
    return _UNSAFE.sub(lambda found: _escape(found[0]), text)


def message(text: str) -> str:
    """An error or a line of the log: printable, with very long names shortened."""
    text = _LONG_WORD.sub(lambda found: shorten(found[0], 300), printable(text))
    return shorten(text, _LONGEST_MESSAGE)


def shorten(text: str, letters: int) -> str:
    """The start and the end of a text that is too long.

    >>> shorten("a very long name indeed", 12)
    'a very l…eed'
    """
    if len(text) <= letters:
        return text
    end = letters // 4
    return f"{text[: letters - end - 1]}…{text[-end:]}"


def json_escaped(text: str) -> str:
    """JSON with the same value and without control and format characters, except for the ends of its lines."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] == "\n" else _json_escape(found[0]), text)


def _escape(letter: str) -> str:
    number = ord(letter)
    return _NAMED.get(letter) or (f"\\x{number:02x}" if number < 256 else _long_escape(number))


def _long_escape(number: int) -> str:
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _json_escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
