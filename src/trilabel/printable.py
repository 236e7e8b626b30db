"""Text that others wrote (names of classes and files, cells of tables), made safe to show on a terminal or in a log.

A terminal obeys control characters: an escape sequence in the name of a class can hide lines, change the title of the
window or worse. So what is printed or logged passes through here, in the few places where that happens.
"""

import os
import re
import shlex
import unicodedata
from collections.abc import Callable
from pathlib import Path

# Control characters, lone surrogates, line and paragraph separators, and what changes the direction of text or is
# invisible (Unicode's Cc, Cs, Zl, Zp and Cf). The joiners U+200C and U+200D stay: languages and emoji need them. So do
# signs that are visible although they are Cf (Arabic number signs and the like), and the flags of regions: a black flag
# and a short code in letters that are invisible elsewhere.
_CONTROL = "\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029"
_FORMAT = (
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
_FLAG = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
_UNSAFE = re.compile(f"{_FLAG}|[{_CONTROL}{_FORMAT}]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OF_ONE = {"have": "has", "are": "is", "were": "was", "their": "its", "they": "it"}
_LONG_WORD = re.compile(r"\S{400,}")
_LONGEST_MESSAGE = 8000


def printable(text: str) -> str:
    r"""The text with control and format characters visible, on one line.

    >>> print(printable("\x1b[2J cat\n"))
    \x1b[2J cat\n
    """
    return _replaced(text, _escape)


def without_controls(text: str) -> str:
    r"""The text without control and format characters, for documents, where an escape would be noise.

    >>> without_controls("\x1b[2J cat\n")
    '[2J cat'
    """
    return _replaced(text, lambda letter: "")


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
    return f"{text[: cut_before(text, letters - end - 1)]}…{text[cut_after(text, len(text) - end) :]}"


def cut_before(text: str, place: int) -> int:
    """The last place up to this one where a text can be cut: an accent or a part of an emoji stays with its letter.

    >>> "cafe\N{COMBINING ACUTE ACCENT}"[: cut_before("cafe\N{COMBINING ACUTE ACCENT}", 4)]
    'caf'
    """
    while 0 < place < len(text) and _belong_together(text[place - 1], text[place]):
        place -= 1
    return place


def cut_after(text: str, place: int) -> int:
    """The first place from this one on where a text can be cut."""
    while 0 < place < len(text) and _belong_together(text[place - 1], text[place]):
        place += 1
    return place


def _belong_together(before: str, after: str) -> bool:
    joined = "\N{ZERO WIDTH JOINER}"
    return joined in (before, after) or unicodedata.category(after).startswith("M")


def plural(count: int, one: str, many: str = "") -> str:
    """How many there are, in the right number; `many` where that is more than an s or es.

    >>> plural(1, "image"), plural(1200, "class"), plural(1, "image has", "images have")
    ('1 image', '1,200 classes', '1 image has')
    """
    if count == 1:
        return f"1 {one}"
    return f"{count:,} {many or one + ('es' if one.endswith('s') else 's')}"


def in_number(note: str) -> str:
    """A note that begins with how many there are, in the right number where that is one.

    >>> in_number("1 images have no annotation: they are unknown"), in_number("2 images have no file")
    ('1 image has no annotation: it is unknown', '2 images have no file')
    """
    found = re.match(r"1 ([a-z]+)s\b", note)
    if found is None:
        return note
    noun = re.sub(r"(ss|x)e$", r"\1", found[1])
    rest = re.sub(r"\b(have|are|were|their|they)\b", lambda word: _OF_ONE[word[0]], note[found.end() :])
    return f"1 {noun}{rest}"


def command_line(*words: str | Path) -> str:
    """A command that can be pasted into a shell, whatever its words contain.

    >>> command_line("trilabel", "train", "--resume", "my runs/a")
    "trilabel train --resume 'my runs/a'"
    """
    texts = list(map(str, words))
    if os.name != "nt":
        return shlex.join(texts)
    from subprocess import list2cmdline

    return list2cmdline(texts)


def json_escaped(text: str) -> str:
    """JSON with the same value and without control and format characters, except for the ends of its lines."""
    return _UNSAFE.sub(
        lambda found: found[0] if found[0] == "\n" or len(found[0]) > 1 else _json_escape(found[0]), text
    )


def _replaced(text: str, replacement: Callable[[str], str]) -> str:
    """The text with a replacement for each unsafe letter; a flag, which is several letters, stays."""
    return _UNSAFE.sub(lambda found: found[0] if len(found[0]) > 1 else replacement(found[0]), text)


def _escape(letter: str) -> str:
    number = ord(letter)
    return _NAMED.get(letter) or (f"\\x{number:02x}" if number < 256 else _long_escape(number))


def _long_escape(number: int) -> str:
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _json_escape(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[place : place + 2].hex()}" for place in range(0, len(units), 2))
