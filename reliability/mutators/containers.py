"""Damage to archives, checkpoints and images: sizes in headers, members, checksums that are right again."""

import gzip
import io
import json
import re
import zipfile
import zlib

from reliability.mutators.blind import BLIND, Draw, flip_bits
from reliability.mutators.text import change_cells, change_json, nest_json, repeat_json_key


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
        members[number] = (
            name,
            change_npy(inside, draw) if kind < 5 and name.endswith(".npy") else draw.choice(BLIND)(inside, draw),
        )
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
    changed = change_cells(inside, draw) if draw.random() < 0.7 else draw.choice(BLIND)(inside, draw)
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
    changed[place : place + 4] = draw.choice(
        (b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"\0\0\x40\0", b"\0@\0\0")
    )
    return bytes(changed)
