"""Ways to damage the bytes of a file: blindly, or knowing what kind of file it is.

`mutate` draws one to three of them. Everything comes from the given generator, so a case can be made again.
"""

from reliability.mutators.blind import BLIND, Draw, Mutator
from reliability.mutators.containers import (
    change_chunk,
    change_gzipped,
    change_image_header,
    change_safetensors,
    change_zipped,
    repeat_gzipped,
)
from reliability.mutators.text import (
    change_cells,
    change_json,
    change_json_line,
    change_setting,
    change_xml,
    nest_json,
    repeat_json_key,
)

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


def mutate(content: bytes, kind: str, draw: Draw) -> bytes:
    """The content with one to three things wrong with it. kind: the extension of the file, without the dot."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        knowing = _BY_KIND.get(kind, ())
        chosen = draw.choice(knowing) if knowing and draw.random() < 0.55 else draw.choice(BLIND)
        try:
            content = chosen(content, draw)
        except Exception:  # damaged already, so that it cannot be taken apart
            content = draw.choice(BLIND)(content, draw)
    return content
