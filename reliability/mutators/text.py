"""Damage to JSON, tables, XML, YAML and TOML by what they mean."""

import json
import re
from typing import Any

from reliability.mutators.blind import JUNK, Draw

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, 1e308, -1e308, 10**30, -(10**30), 2**31, 2**63, 2**64, float("nan"),
    float("inf"), "", " ", "0", "1", "NaN", "\0", "\n", "\ud800", "../../etc/passwd", "/dev/null", "é", [], {}, [[]],
    [None], {"": None}, {"a": {"b": []}}, "x" * 5000,
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
    return (
        content[: found.start()] + found[0] + json.dumps(draw.choice(VALUES)).encode() + b"," + content[found.start() :]
    )


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
        lines = (
            bomb, b"<<: *a\n", b"? [a]\n: b\n", b"- a\n", b"\tx: 1\n", b"x: !!python/name:os.system\n", b"[rows]\n",
            b"[rows.x]\n", b"[[rows]]\n", b"a.b.c = 1\n", b"x = 2024-01-01\n", b"[" * 3000 + b"\n", b"path: /\n",
            b"names: {0: a, 0: b}\n", b"nc: -1\n", b"seeds = [1e9]\n", b"labels = []\n", b"epochs = 0x10\n",
        )  # fmt: skip
        start = content.rfind(b"\n", 0, draw.randrange(len(content) + 1)) + 1
        return content[:start] + draw.choice(lines) + content[start:]
    found = draw.choice(list(re.finditer(rb"([:=])[ ]*([^\n]*)", content)))
    value = draw.choice(VALUES)
    new = draw.choice((json.dumps(value).encode(), str(value).encode(errors="replace"), draw.choice(JUNK)))
    return content[: found.start(2)] + new + content[found.end() :]
