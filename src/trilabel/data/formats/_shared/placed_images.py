"""Putting images where a format wants them, as links, without copying what need not be."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from trilabel.archives import find_member
from trilabel.data.dataset import Dataset
from trilabel.data.decode import open_image
from trilabel.data.image_paths import is_image
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.input_files import IMAGE_BYTES, open_input
from trilabel.log import track

Placing = Literal["link", "copy", "none"]
_ENDS = {"JPEG": ".jpg", "MPO": ".jpg", "PNG": ".png", "WEBP": ".webp", "BMP": ".bmp", "GIF": ".gif", "TIFF": ".tif"}


def names_of_images(dataset: Dataset, path: Path) -> list[str]:
    """A name for the file of each image, from its id, with folders and never above them; `path` is for messages.

    Formats look for labels by names without their endings, so two that differ only in these are refused.
    """
    names, first = [], dict[str, int]()
    for row, name in enumerate(dataset.ids):
        parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        file = "/".join(parts) or "image"
        names.append(file if is_image(file) else file + _ending(dataset, row))
        stem = names[-1].rpartition(".")[0]
        if first.setdefault(stem, row) != row:
            other = dataset.ids[first[stem]]
            raise TrilabelError(f"{path}: images {other!r} and {name!r} would have the same labels; rename one")
    return names


def place_images(dataset: Dataset, targets: Sequence[Path], how: Placing, notes: list[str]) -> None:
    """Puts the image of each row at its target; one that is in an archive is copied in any case."""
    check_choice(targets[0].parent, "files", how, get_args(Placing))
    if how == "none" or dataset.paths is None:
        notes.append("no images are written, only their labels")
        return
    missing = 0
    for source, target in zip(track(dataset.paths, "placing images", len(targets)), targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        if os.path.isfile(source):  # noqa: PTH113 (never raises)
            _place_file(Path(source), target, how)
        elif find_member(source) is not None:
            with open_input(source, IMAGE_BYTES) as opened, replacing(target) as temporary:
                temporary.write_bytes(opened.read())
        else:
            missing += 1
    notes += [f"{missing} images have no file: only their labels are written"] if missing else []


def _place_file(source: Path, target: Path, how: Placing) -> None:
    if target.exists() and target.samefile(source):
        return
    target.unlink(missing_ok=True)
    if how == "link":
        # Some programs refuse symbolic links that lead out of the folder; a file may have two names on one disk only.
        for link in (target.hardlink_to, target.symlink_to):
            with suppress(OSError):
                link(source.resolve())
                return
    with replacing(target) as temporary:
        shutil.copyfile(source, temporary)


def _ending(dataset: Dataset, row: int) -> str:
    path = dataset.paths[row] if dataset.paths is not None else ""
    if os.path.isfile(path) and is_image(path):  # noqa: PTH113
        return path[path.rfind(".") :]
    try:
        with open_image(path) as file:
            return _ENDS.get(file.format or "", ".jpg")
    except Exception:  # there is no such file, or it is damaged
        return ".jpg"
