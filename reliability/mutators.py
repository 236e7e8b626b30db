"""Ways to damage the bytes of a file: blindly, line by line, or knowing what kind of file it is.

`mutate` draws one to three of them. Everything comes from the given generator, so a case can be made again.
"""

import gzip
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

Draw = random.Random
Mutator = Callable[[bytes, Draw], bytes]
JUNK = (
    b"\xff", b"\0", b'"', b"'", b",", b";", b"\n", b"\r\n", b"\t", b"[", b"]", b"{", b"}", b"<", b">", b"&", b"-", b"-1",
    b"1e999", b"-0", b"NaN", b"nan", b"inf", b"9" * 23, b"0x7f", b"\xed\xa0\x80", b"null", b"true", b"\\ud800", b"\\u0000",
    b"../", b"/", b" ", "é鳥".encode(), "\u202e".encode(), b"\x1b[31m", b"=1+1", b"#", b"!!python/object:os.system", b"*a",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, 1e308, -1e308, 10**30, -(10**30), 2**31, 2**63, 2**64, float("nan"), float("inf"),
    "", " ", "0", "1", "NaN", "\0", "\n", "\ud800", "../../etc/passwd", "/dev/null", "é", [], {}, [[]], [None], {"": None},
    {"a": {"b": []}}, "x" * 5000,
)  # fmt: skip


def mutate(content: bytes, kind: str, draw: Draw) -> bytes:
    """The content with one to three things wrong with it. kind: the extension of the file, without the dot."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        knowing = _BY_KIND.get(kind, ())
        chosen = draw.choice(knowing) if knowing and draw.random() < 0.55 else draw.choice(_BLIND)
        try:
            content = chosen(content, draw)
        except Exception:  # damaged already, so that it cannot be taken apart
            content = draw.choice(_BLIND)(content, draw)
    return content


# ---- blindly


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


_BLIND: tuple[Mutator, ...] = (
    flip_bits, truncate, delete, duplicate, insert, replace, random_bytes, shuffle_lines, change_encoding,
)  # fmt: skip

# ---- JSON


def change_json(content: bytes, draw: Draw) -> bytes:
    """Another value, a missing or a further key somewhere in a JSON document."""
    document = [json.loads(content)]
    spots = list(_spots(document))
    holder, key = draw.choice(spots)
    kind = draw.randrange(6)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[draw.choice(("", "id", "name", "x" * 300, str(key).upper(), f"{key}2"))] = holder.pop(key)
    elif kind == 2:
        other, name = draw.choice(spots)
        holder[key] = other[name]
    elif kind == 3 and isinstance(holder, list) and holder is not document:
        holder.extend([holder[key]] * draw.choice((1, 3, 300)))
    else:
        holder[key] = draw.choice(VALUES)
    return json.dumps(document[0] if document else None).encode()


def change_json_line(content: bytes, draw: Draw) -> bytes:
    lines = content.splitlines()
    number = draw.randrange(len(lines))
    lines[number] = change_json(lines[number], draw)
    return b"\n".join(lines) + b"\n"


def repeat_json_key(content: bytes, draw: Draw) -> bytes:
    found = draw.choice(list(re.finditer(rb'"(?:[^"\\]|\\.)*"\s*:', content)))
    return content[: found.start()] + found[0] + json.dumps(draw.choice(VALUES)).encode() + b"," + content[found.start() :]


def nest_json(content: bytes, draw: Draw) -> bytes:
    """A value within thousands of brackets."""
    depth = draw.choice((50, 990, 5000, 100_000))
    inside = draw.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth, b"[" * depth))
    found = list(re.finditer(rb":\s*", content))
    place = draw.choice(found).end() if found else 0
    return content[:place] + inside + content[place:]


def _spots(value: Any) -> Any:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(inside):
        yield value, key
        if isinstance(item, dict | list):
            yield from _spots(item)


# ---- tables


def change_cells(content: bytes, draw: Draw) -> bytes:
    separator = max((b",", b"\t", b";", b" "), key=content.count)
    rows = [line.split(separator) for line in content.split(b"\n")]
    row = draw.choice(rows)
    cell = draw.randrange(len(row))
    kind = draw.randrange(7)
    if kind == 0:
        row[cell] = draw.choice((*JUNK, b"", b"2", b"0.5", b"-1", b"x" * 20_000, b"a|b|c", b"[]", b"['a'"))
    elif kind == 1:
        del row[cell]
    elif kind == 2:
        row.insert(cell, draw.choice(row))
    elif kind == 3:
        row[cell] = draw.choice(draw.choice(rows))
    elif kind == 4:
        row[cell] = b'"' + row[cell]
    elif kind == 5:
        for each in rows:
            each[cell:cell] = each[:1]
    else:
        rows = [row] * draw.choice((1, 2, 500))
    return b"\n".join(separator.join(row) for row in rows)


# ---- XML, YAML, TOML

_ENTITIES = (
    b'<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, (b"&%c;" % (97 + n)) * 10) for n in range(9)) + b"]>",
    b'<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    b'<?xml version="1.0" encoding="utf-16"?>', b'<?xml version="1.0" encoding="nonsense"?>', b"<![CDATA[", b"<!--",
)  # fmt: skip


def change_xml(content: bytes, draw: Draw) -> bytes:
    kind = draw.randrange(5)
    if kind == 0:
        return draw.choice(_ENTITIES) + content.partition(b"?>")[2].replace(b">1<", b">&j;<").replace(b"car", b"&a;")
    if kind == 1:
        depth = draw.choice((100, 5000, 100_000))
        place = draw.choice([found.start() for found in re.finditer(rb"<", content)])
        return content[:place] + b"<a>" * depth + draw.choice((b"", b"</a>" * depth)) + content[place:]
    patterns = {2: rb"<[^>]*>", 3: rb'"[^"]*"', 4: rb">[^<]*<"}
    found = draw.choice(list(re.finditer(patterns[kind], content)))
    if kind == 2:
        new = draw.choice((b"", found[0] * 2, found[0].lower(), b"<annotations/>", b"<image>"))
    else:
        new = found[0][:1] + draw.choice((*JUNK, b"", b"-1", b"1e400", b"x" * 5000)) + found[0][-1:]
    return content[: found.start()] + new + content[found.end() :]


def change_setting(content: bytes, draw: Draw) -> bytes:
    """Another value after a colon or an equals sign; or lines that only YAML or TOML gives a meaning."""
    if draw.random() < 0.3:
        bomb = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
            b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(8)
        )
        lines = (bomb, b"<<: *a\n", b"? [a]\n: b\n", b"- a\n", b"\tx: 1\n", b"x: !!python/name:os.system\n", b"[rows]\n",
                 b"[rows.x]\n", b"[[rows]]\n", b"a.b.c = 1\n", b"x = 2024-01-01\n", b"[" * 3000 + b"\n", b"path: /\n",
                 b"names: {0: a, 0: b}\n", b"nc: -1\n", b"seeds = [1e9]\n", b"labels = []\n", b"epochs = 0x10\n")  # fmt: skip
        start = content.rfind(b"\n", 0, draw.randrange(len(content) + 1)) + 1
        return content[:start] + draw.choice(lines) + content[start:]
    found = draw.choice(list(re.finditer(rb"([:=])[ ]*([^\n]*)", content)))
    value = draw.choice(VALUES)
    new = draw.choice((json.dumps(value).encode(), str(value).encode(errors="replace"), draw.choice(JUNK)))
    return content[: found.start(2)] + new + content[found.end() :]


# ---- containers


def change_zipped(content: bytes, draw: Draw) -> bytes:
    """Another member, name or size in a zip file (also the arrays of an .npz)."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        members = [(name, opened.read(name)) for name in opened.namelist()]
    number = draw.randrange(len(members))
    name, inside = members[number]
    kind = draw.randrange(6)
    if kind == 0:
        del members[number]
    elif kind == 1:
        members.append((name, draw.choice(members)[1]))
    elif kind == 2:
        members[number] = (draw.choice(("../../x.npy", "x", "", name.upper(), f"{name}.npy")), inside)
    else:
        members[number] = (name, change_npy(inside, draw) if kind < 5 and name.endswith(".npy") else mutate(inside, "", draw))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as out:
        for each, data in members:
            out.writestr(zipfile.ZipInfo(each), data)
    return file.getvalue()


def change_npy(content: bytes, draw: Draw) -> bytes:
    """Another shape or type in the header of an array."""
    length = int.from_bytes(content[8:10], "little")
    header, data = content[10 : 10 + length], content[10 + length :]
    shape = draw.choice((b"(-1,)", b"(9223372036854775807,)", b"(1000000000,)", b"()", b"(2, 2)", b"(0,)", b"(1e3,)"))
    kind = draw.choice((b"'|O'", b"'<f8'", b"'<i8'", b"'|V1000000000'", b"'<U1000000'", b"'>i4'", b"[('a', '<i8')]"))
    header = re.sub(rb"\([^)]*\)", shape, header) if draw.random() < 0.5 else re.sub(rb"'[<>|][^']*'", kind, header)
    header = header.rstrip() + b" " * (-(len(header.rstrip()) + 11) % 64) + b"\n"
    return content[:8] + (len(header) % 65536).to_bytes(2, "little") + header + data


def change_safetensors(content: bytes, draw: Draw) -> bytes:
    """Another length or content of the header."""
    length = int.from_bytes(content[:8], "little")
    if draw.random() < 0.25:
        wrong = draw.choice((0, 1, length - 1, length + 1, len(content), 2**31, 2**40, 2**63, 2**64 - 1))
        return wrong.to_bytes(8, "little") + content[8:]
    header = json.loads(content[8 : 8 + length])
    about = header.get("__metadata__")
    if isinstance(about, dict) and draw.random() < 0.6:  # what is not a tensor is JSON within JSON
        key = draw.choice(list(about))
        change = draw.choice((change_json, change_json, repeat_json_key, nest_json))
        about[key] = change(about[key].encode(), draw).decode(errors="replace")
        changed = json.dumps(header).encode()
    else:
        changed = change_json(content[8 : 8 + length], draw)
    return len(changed).to_bytes(8, "little") + changed + content[8 + length :]


def change_gzipped(content: bytes, draw: Draw) -> bytes:
    inside = gzip.decompress(content)
    changed = change_cells(inside, draw) if draw.random() < 0.7 else mutate(inside, "", draw)
    return gzip.compress(changed, 1, mtime=0)


def repeat_gzipped(content: bytes, draw: Draw) -> bytes:
    """A few megabytes of the same, which compress to nothing; or another member that is damaged."""
    more = gzip.compress(draw.choice((b"0" * 4_000_000, b",\n" * 500_000, b"")), 6, mtime=0)
    return content + (more if draw.random() < 0.5 else flip_bits(more, draw))


# ---- images


def change_chunk(content: bytes, draw: Draw) -> bytes:
    """Another value in a chunk of a PNG, with a checksum that is right again."""
    found = draw.choice(list(re.finditer(rb"IHDR|PLTE|IDAT|tRNS|eXIf|iCCP|tEXt|gAMA|pHYs", content)))
    length = int.from_bytes(content[found.start() - 4 : found.start()], "big")
    data = bytearray(content[found.end() : found.end() + length])
    for _ in range(draw.choice((1, 2, 5))):
        data[draw.randrange(len(data))] = draw.choice((0, 1, 255, 127, draw.randrange(256)))
    check = zlib.crc32(found[0] + bytes(data)).to_bytes(4, "big")
    return content[: found.end()] + bytes(data) + check + content[found.end() + length + 4 :]


def change_image_header(content: bytes, draw: Draw) -> bytes:
    """Other numbers in the first bytes, where sizes and offsets are."""
    changed, place = bytearray(content), draw.randrange(min(len(content) - 4, 200))
    changed[place : place + 4] = draw.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\x40\0", b"\0@\0\0"))
    return bytes(changed)


_JSON: tuple[Mutator, ...] = (change_json, change_json, change_json, repeat_json_key, nest_json)
_IMAGE: tuple[Mutator, ...] = (change_image_header,)
_BY_KIND: dict[str, tuple[Mutator, ...]] = {
    "json": _JSON,
    "jsonl": (change_json_line, change_json_line, repeat_json_key, nest_json),
    "csv": (change_cells,),
    "tsv": (change_cells,),
    "txt": (change_cells,),
    "names": (change_cells,),
    "xml": (change_xml,),
    "yaml": (change_setting,),
    "toml": (change_setting,),
    "zip": (change_zipped,),
    "npz": (change_zipped,),
    "safetensors": (change_safetensors,),
    "trilabel": (change_safetensors,),
    "gz": (change_gzipped, repeat_gzipped),
    "png": (change_chunk, change_chunk, change_image_header),
    "jpg": _IMAGE,
    "webp": _IMAGE,
    "tif": _IMAGE,
    "gif": _IMAGE,
    "bmp": _IMAGE,
}
