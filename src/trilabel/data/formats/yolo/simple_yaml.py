"""The little of YAML that descriptions of data sets use: keys with texts, lists and maps of texts, of one level."""

import re
from pathlib import Path

from trilabel.data.formats._shared.source_files import read_text
from trilabel.errors import TrilabelError

Value = str | list[str] | dict[str, str] | None
_QUOTED = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'"""
_KEY = re.compile(rf"({_QUOTED}|[^\s#\-\[\]{{}}\"'][^\n]*?)\s*:(?:\s+(.*))?$", re.S)
_WORD = r"(?:[^\s,\[\]{}:]|:(?![\s,\]}]|$))+"
_TOKEN = re.compile(
    rf"(?P<blank>\s+(?:\#[^\n]*)?)|(?P<mark>[\[\]{{}},]|:(?=[\s\]}},]|$)|(?<=[\"']):)|(?P<quoted>{_QUOTED})"
    rf"|(?P<plain>{_WORD}(?:\s+(?!\#){_WORD})*)",  # all words, so that a quote inside is no quoted text
    re.S,
)
_FOLD = r"[ \t]*\n\s*"  # a quoted text goes on in the next line: a space
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "_": "\xa0"}
_ESCAPES |= {"N": "\x85", "L": "\u2028", "P": "\u2029"}


def read_yaml(file: Path, wanted: tuple[str, ...]) -> dict[str, tuple[int, Value]]:
    """(line, value) of the wanted keys at the top level; whatever other keys hold is passed over.

    A value is a text, a list or a map of texts in flow ([a, b], {0: a}) or in block form, or None where nothing
    stands. Nothing is made of texts: 007, yes and null stay what they are.
    """
    lines = [line.rstrip() for line in read_text(file).split("\n")]
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise TrilabelError(f"{file}, line {number}: holds a zero byte, so it is no text; write it again")
    found: dict[str, tuple[int, Value]] = {}
    number = 0
    while number < len(lines):
        key = _KEY.match(lines[number])
        number += 1
        name = key and _scalar(file, number, key[1])
        if not key or name not in wanted:
            continue
        if name in found:
            raise TrilabelError(f"{file}, line {number}: {name} stands in line {found[name][0]} already; remove one")
        start, rest = number, key[2] or ""
        if rest[:1] in ("[", "{"):
            value, number = _flow(file, lines, number, len(lines[number - 1]) - len(rest))
        elif text := _scalar(file, number, rest):
            value = text
        else:
            value, number = _block(file, lines, number)
        found[name] = start, value
    return found


def _block(file: Path, lines: list[str], number: int) -> tuple[Value, int]:
    """The list or map that stands below a key, and the number of lines up to its end."""
    items: list[str] = []
    pairs: dict[str, str] = {}
    while number < len(lines):
        text = lines[number].strip()
        if text and not text.startswith("#"):
            if text == "-" or text.startswith("- "):
                items.append(_scalar(file, number + 1, text[1:].strip()))
            elif not lines[number].startswith((" ", "\t")):
                break
            elif pair := _KEY.match(text):
                _add(file, number + 1, pairs, _scalar(file, number + 1, pair[1]), _scalar(file, number + 1, pair[2]))
            else:
                raise _beyond(file, number + 1, text)
            if items and pairs:
                raise _beyond(file, number + 1, text)
        number += 1
    return items or pairs or None, number


def _flow(file: Path, lines: list[str], number: int, column: int) -> tuple[Value, int]:
    """The list or map in brackets that opens in line `number`, and the number of the line in which it closes."""
    text = "\n".join(lines[number - 1 :])
    items: list[str] = []
    pairs: dict[str, str] = {}
    key: str | None = None
    word: str | None = None
    is_map, position = text[column] == "{", column + 1
    while token := _TOKEN.match(text, position):
        line = number + text.count("\n", 0, position)
        position = token.end()
        if token["blank"]:
            continue
        if token["plain"] or token["quoted"]:
            if word is not None:
                raise _beyond(file, line, token[0])
            word = _scalar(file, line, re.sub(r"\s+", " ", token[0]) if token["plain"] else token[0])
        elif token["mark"] == ":" and is_map and key is None and word is not None:
            key, word = word, None
        elif token["mark"] in (",", "}" if is_map else "]"):
            if is_map and key is not None:
                _add(file, line, pairs, key, word or "")
            elif word is not None and not is_map:
                items.append(word)
            elif word is not None:
                raise _beyond(file, line, word)
            key = word = None
            if token["mark"] != ",":
                return (pairs if is_map else items) or None, line
        else:
            raise _beyond(file, line, token["mark"])
    raise TrilabelError(f"{file}, line {number}: the bracket {text[column]} is not closed; write its end")


def _add(file: Path, line: int, pairs: dict[str, str], key: str, value: str) -> None:
    if key in pairs:
        raise TrilabelError(f"{file}, line {line}: {key} is listed twice; remove one")
    pairs[key] = value


def _scalar(file: Path, line: int, text: str | None) -> str:
    """A text without its quotes and the comment behind it; empty where nothing stands."""
    text = text or ""
    if quoted := re.match(rf"({_QUOTED})\s*(?:\s#.*)?$", text, re.S):
        inside = quoted[1][1:-1]
        return re.sub(_FOLD, " ", inside).replace("''", "'") if text[0] == "'" else _unescape(file, line, inside)
    if text[:1] in ("'", '"', "|", ">", "&", "*", "!", "%", "@", "`"):
        raise _beyond(file, line, text)
    return re.split(r"(?:^|\s+)#", text, maxsplit=1)[0]


def _unescape(file: Path, line: int, text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        code = found[1]
        if code is None:
            return " "
        if code[0] == "\n":  # the text goes on in the next line, without a space
            return ""
        if len(code) == 1:
            return _ESCAPES.get(code, code)
        value = int(code[1:], 16)
        if value == 0 or value > 0x10FFFF or 0xD800 <= value < 0xE000:
            raise TrilabelError(f"{file}, line {line}: \\{code} is no letter; write the letter itself")
        return chr(value)

    hexadecimal = r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}"
    return re.sub(rf"\\({hexadecimal}|\n\s*|.)|{_FOLD}", letter, text, flags=re.S)


def _beyond(file: Path, line: int, text: str) -> TrilabelError:
    return TrilabelError(f"{file}, line {line}: {text[:40]!r} is beyond the YAML read here; write a text, list or map")
