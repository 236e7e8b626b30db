"""File names for pictures of images."""

import re
from collections.abc import Iterable

from trilabel.data.image_paths import is_image

_MOST_LETTERS = 50  # file systems allow about 250 bytes, and a letter may have four


class FileNames:
    """Names for the files of images, without suffix: safe on every system, each given once."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._used = {name.lower(): 1 for name in reserved}  # some file systems ignore upper and lower case

    def __call__(self, id_: str) -> str:
        """A name made from the last part of an image's id.

        >>> name = FileNames()
        >>> name("photos/cat 7.jpg"), name("other/cat 7.jpg")
        ('cat_7', 'cat_7-2')
        """
        last = id_.replace("\\", "/").rstrip("/").rpartition("/")[2]
        stem = last.rpartition(".")[0] if is_image(last) else last
        name = base = re.sub(r"[^\w.-]+", "_", stem).strip(".")[:_MOST_LETTERS] or "image"
        while name.lower() in self._used:
            self._used[base.lower()] += 1
            name = f"{base}-{self._used[base.lower()]}"
        self._used[name.lower()] = 1
        return name
