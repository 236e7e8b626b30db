"""The annotation files of a COCO folder and their splits."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from trilabel.data.formats._shared.json_document import first_key
from trilabel.data.image_paths import split_name
from trilabel.data.text_files import peek
from trilabel.errors import TrilabelError

SPLITS = ("train", "val", "test")
_KEYS = ("info", "images", "annotations", "categories", "licenses", "license", "type")
_OTHER_LABELS = ("captions", "person_keypoints", "stuff", "panoptic", "image_info")
_ROBOFLOW = "_annotations.coco.json"
REST = "instances_rest.json"  # where `write` puts images that are in none of the usual splits


def annotation_files(path: Path) -> list[Path]:
    """COCO annotations, by name or content: `path` itself, or the files in it and in its folder annotations."""
    if path.is_file():
        return [path] if path.suffix.lower() == ".json" and _looks_right(path) else []
    inside = [file for folder in (path, path / "annotations") for file in sorted(folder.glob("*.json"))]
    return [file for file in (*inside, *sorted(path.glob(f"*/{_ROBOFLOW}"))) if _looks_right(file)]


def choose_files(path: Path, labels: str, year: int | None) -> tuple[list[Path], list[str]]:
    """The files to read, one per split, and notes on what was left out."""
    others: list[Path] = []
    if path.is_file():
        found = [path]
    else:
        there = annotation_files(path)
        found = _of_kind(there, labels) or (_of_kind(there, "panoptic") if labels == "instances" else [])
        if not found:
            only = f", only {_names(there)}" if there else " (such as annotations/instances_train2014.json)"
            raise TrilabelError(f"{path}: no COCO file of {labels} here{only}; give a file, or choose other labels")
        others = [
            file for file in there if file not in found and not file.name.startswith((*_OTHER_LABELS, "instances_"))
        ]
    if year is not None:
        of_year = [file for file in found if _year(file) == str(year)]
        if not of_year:
            raise TrilabelError(f"{path}: no {labels} of {year} here, only {_names(found)}")
        found = of_year
    years = sorted({_year(file) for file in found})
    if len(years) > 1 and all(years):
        raise TrilabelError(f"{path}: contains {labels} of {', '.join(years)}; choose one with year")
    chosen, notes = _one_a_split(path, found)
    if others:
        notes.append(f"left out: {_names(others)}; give the path of one of these to read it")
    return chosen, notes


def split_of_file(file: Path) -> str:
    """train, val or test, by the name of the file or of its folder; "" if neither names one."""
    words = [split_name(word) for word in (*re.findall("[a-z]+", file.stem.lower()), file.parent.name)]
    return next((word for word in words if word in SPLITS), "")


def _one_a_split(path: Path, found: list[Path]) -> tuple[list[Path], list[str]]:
    if len(found) == 1:
        return found, []
    named = sorted((file for file in found if split_of_file(file)), key=lambda file: SPLITS.index(split_of_file(file)))
    rest = [file for file in found if file.name == REST]
    if not named:
        raise TrilabelError(f"{path}: {_names(found)}: their splits are unclear; give the path of one of them")
    for one, two in pairwise(named):
        if split_of_file(one) == split_of_file(two):
            raise TrilabelError(
                f"{path}: {_names([one, two])} are both of split {split_of_file(one)!r}; give the path of one"
            )
    others = [file for file in found if file not in (*named, *rest)]
    return named + rest, [f"left out, because their names contain no split: {_names(others)}"] if others else []


def _of_kind(files: list[Path], labels: str) -> list[Path]:
    """The files with these labels: as published, or else Roboflow's, or else any."""
    published = [file for file in files if file.name.startswith(f"{labels}_")]
    exported = [file for file in files if file.name == _ROBOFLOW]
    others = [file for file in files if not file.name.startswith(_OTHER_LABELS)]
    return published or (exported or others if labels == "instances" else [])


def _looks_right(file: Path) -> bool:
    # Also by name alone: a damaged file should be reported, not skipped.
    if file.name == _ROBOFLOW or file.name.startswith(("instances_", "captions_", "panoptic_")):
        return True
    if first_key(file) not in _KEYS:
        return False
    start = peek(file)
    found = set(re.findall(rb'"(images|annotations|categories)"\s*:\s*\[', start[: 1 << 16]))
    # Label Studio's notes.json, beside YOLO labels, has categories and no images.
    return bool(found) and (found != {b"categories"} or len(start) > 1 << 16)


def _year(file: Path) -> str:
    found = re.search(r"(?<!\d)\d{4}$", file.stem)
    return found[0] if found else ""


def _names(files: Sequence[Path]) -> str:
    return ", ".join(file.name if file.name != _ROBOFLOW else f"{file.parent.name}/{file.name}" for file in files)
