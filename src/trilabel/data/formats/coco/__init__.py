"""MS-COCO annotation files (2014, 2017), COCO captions, LVIS, and what tools such as Roboflow export in this form."""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import assemble
from trilabel.data.formats.coco.annotation_file import open_annotations
from trilabel.data.formats.coco.captions import Captions
from trilabel.data.formats.coco.files import annotation_files, choose_files
from trilabel.data.formats.coco.instances import Instances
from trilabel.data.formats.coco.writing import write
from trilabel.data.options import check_choice
from trilabel.errors import TrilabelError

__all__ = ["RULE", "detect", "read", "write"]

WRITES_FOLDER = True  # for a file per split
RULE = (
    "annotated categories are present, others absent, or unknown where the image lists negative categories (LVIS); "
    "images without annotations are unknown"
)


def detect(path: Path) -> bool:
    """Whether this is a COCO annotation file, the folder annotations, or the folder around it."""
    return bool(annotation_files(path))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    labels: Literal["instances", "captions", "panoptic"] = "instances",
    year: int | None = None,
    empty: Literal["unknown", "absent"] = "unknown",
    unlisted: Literal["auto", "absent", "unknown"] = "auto",
    words: int = 1000,
) -> Dataset:
    """Reads all splits: train, val and test, by the names of files or folders.

    `empty` is the value of all labels of an image without annotations, `unlisted` that of a category that an
    annotated image does not list: "auto" is absent, but unknown where the image lists negative categories, as in
    LVIS. `labels` "panoptic" reads the segments of panoptic files in place of objects. An image may name its `split`
    itself, as it does in files that trilabel writes.

    With `labels` "captions" the classes are the `words` most frequent words in the captions of the train split (of
    all, where there is none), ties in the order of the alphabet. A word is a run of letters and digits of any
    script, with apostrophes inside, in lower case; no words are left out for being common. A word is present in an
    image if one of its captions has it, else absent; images without captions are unknown.
    """
    check_choice(path, "labels", labels, ("instances", "captions", "panoptic"))
    check_choice(path, "empty", empty, ("unknown", "absent"))
    check_choice(path, "unlisted", unlisted, ("auto", "absent", "unknown"))
    if words < 1:
        raise TrilabelError(f"{path}: words={words}: use 1 or more")
    files, left_out = choose_files(path, labels, year)
    found = Captions(path, words) if labels == "captions" else Instances(empty, unlisted)
    ids: list[list[str]] = []
    paths: list[str] = []
    split_of: list[str] = []
    joined: list[str] = []
    for file in files:
        part_ids, part_paths, part_splits, notes = _take(file, images, found, start=len(paths))
        ids.append(part_ids)
        paths += part_paths
        split_of += part_splits
        joined += notes
    if not paths:
        raise TrilabelError(f"{path}: the list of images is empty, so there is nothing to read")
    content = found.content(split_of)
    names, renamed = _ids(ids, split_of)
    return assemble(
        path,
        ids=names,
        paths=paths,
        classes=content.classes,
        entries=content.entries,
        absent_in=content.absent_in,
        split_of=split_of,
        boxes=content.boxes if len(content.boxes) else None,
        notes=[*content.notes, *joined, *renamed, *left_out],
    )


def _take(
    file: Path, images: str | Path | None, found: Instances | Captions, start: int
) -> tuple[list[str], Sequence[str], list[str], list[str]]:
    """Passes a file to `found` and keeps only a summary: the file itself takes gigabytes while it is open."""
    part = open_annotations(file, images)
    found.add(part, start)
    return part.ids, part.paths, part.split_of, part.notes


def _ids(parts: Sequence[Sequence[str]], split_of: Sequence[str]) -> tuple[list[str], list[str]]:
    """The ids of all images; if splits share file names, the split is put in front."""
    names = list(chain.from_iterable(parts))
    repeated = len(names) - len(set(names))
    if not repeated:
        return names, []
    note = f"{repeated} file names are in two splits: ids are split/file_name"
    return [f"{split}/{name}" for split, name in zip(split_of, names, strict=True)], [note]
