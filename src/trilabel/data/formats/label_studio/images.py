"""The addresses of images in Label Studio, and ids made from them."""

import re
from urllib.parse import unquote

from trilabel.data.formats._shared.json_document import Json
from trilabel.data.image_paths import is_image

_ADDRESS = re.compile(r"(?:\w[\w+.-]*://([^/?#]*)|(?=/))([^?#]*)")
_LOCAL_FILE = re.compile(r"[?&]d=([^&]+)")


def address_of(data: Json) -> str:
    """The address of a task's image: the value of "image", or else the first text that looks like an image."""
    if data.value.get("image") not in (None, ""):
        return data.get("image", str)
    for value in data.value.values():
        if isinstance(value, str) and is_image(short_names([value])[0]):
            return value
    raise data.error_at("has no image; call the column with the images' addresses 'image'")


def short_names(addresses: list[str]) -> list[str]:
    """For each address its shortest unique ending: the file name, the path, or all of it.

    Local files (…?d=photos/1.jpg) and relative paths are short already.
    """
    wanted = len(set(addresses))
    forms = list(zip(*map(_forms, addresses), strict=True))
    return list(next((names for names in forms if len(set(names)) == wanted and all(names)), addresses))


def _forms(address: str) -> tuple[str, str, str]:
    if local := _LOCAL_FILE.search(address):
        return (unquote(local[1]),) * 3
    found = _ADDRESS.match(address)
    if not found:
        return (unquote(address),) * 3
    path = unquote(found[2]).strip("/")
    return path.rpartition("/")[2], path, f"{found[1] or ''}/{path}".lstrip("/")
