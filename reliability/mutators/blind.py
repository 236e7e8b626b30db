"""Damage that needs to know nothing of the file."""

import random
from collections.abc import Callable

Draw = random.Random
Mutator = Callable[[bytes, Draw], bytes]
JUNK = (
    b"\xff", b"\0", b'"', b"'", b",", b";", b"\n", b"\r\n", b"\t", b"[", b"]", b"{", b"}", b"<", b">", b"&", b"-",
    b"-1", b"1e999", b"-0", b"NaN", b"nan", b"inf", b"9" * 23, b"0x7f", b"\xed\xa0\x80", b"null", b"true", b"\\ud800",
    b"\\u0000", b"../", b"/", b" ", "é鳥".encode(), "\u202e".encode(), b"\x1b[31m", b"=1+1", b"#", b"*a",
    b"!!python/object:os.system",
)  # fmt: skip


def _place(content: bytes, draw: Draw) -> tuple[int, int]:
    start = draw.randrange(len(content) + 1)
    return start, min(len(content), start + draw.choice((1, 1, 2, 4, 7, 40, 500)))


def flip_bits(content: bytes, draw: Draw) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 2, 8, 64)) if changed else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def truncate(content: bytes, draw: Draw) -> bytes:
    return content[: draw.choice((0, 1, draw.randrange(len(content) + 1), max(0, len(content) - 1)))]


def delete(content: bytes, draw: Draw) -> bytes:
    start, end = _place(content, draw)
    return content[:start] + content[end:]


def duplicate(content: bytes, draw: Draw) -> bytes:
    start, end = _place(content, draw)
    return content[:end] + content[start:end] * draw.choice((1, 1, 2, 100)) + content[end:]


def insert(content: bytes, draw: Draw) -> bytes:
    start, _ = _place(content, draw)
    return content[:start] + draw.choice(JUNK) + content[start:]


def replace(content: bytes, draw: Draw) -> bytes:
    start, end = _place(content, draw)
    return content[:start] + draw.choice(JUNK) + content[end:]


def random_bytes(content: bytes, draw: Draw) -> bytes:
    start, end = _place(content, draw)
    return content[:start] + draw.randbytes(end - start) + content[end:]


def shuffle_lines(content: bytes, draw: Draw) -> bytes:
    lines = content.split(b"\n")
    kind = draw.randrange(4)
    if kind == 0:
        draw.shuffle(lines)
    elif kind == 1:
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(lines))
    elif kind == 2:
        del lines[draw.randrange(len(lines))]
    else:
        one, two = draw.randrange(len(lines)), draw.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def change_encoding(content: bytes, draw: Draw) -> bytes:
    kind = draw.randrange(6)
    if kind == 0:
        return b"\xef\xbb\xbf" + content
    if kind == 1:
        return content.replace(b"\n", b"\r\n")
    if kind == 2:
        return content.replace(b"\n", b"\r")
    text = content.decode(errors="replace")
    return text.encode(("utf-16", "latin-1", "utf-32")[kind - 3], errors="replace")


BLIND: tuple[Mutator, ...] = (
    flip_bits, truncate, delete, duplicate, insert, replace, random_bytes, shuffle_lines, change_encoding,
)  # fmt: skip
