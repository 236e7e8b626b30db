"""Visual Genome: its lists of 500 or 200 classes (VG-500, VG-200), or the objects of the original release."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Entry, assemble
from trilabel.data.formats._shared.json_document import Json, first_key
from trilabel.data.formats.visual_genome.objects import read_objects
from trilabel.data.image_paths import RootedPaths, root_of
from trilabel.data.text_files import read_lines
from trilabel.errors import TrilabelError

RULE = "listed classes are present, others absent; of objects.json, images without any object are unknown"
_INDEX = re.compile(r"vg_category_(\d{1,6})_labels_index\.json")
_OBJECTS = re.compile(r"objects(_v\d+(_\d+)*)?\.json")


def detect(path: Path) -> bool:
    """Whether this is an index of labels or a list of objects, or a folder with one in it or its sub-folders."""
    return bool(_find(path, _INDEX)) or any(first_key(file) == "[" for file in _find(path, _OBJECTS))


def read(path: Path, *, images: str | Path | None = None, classes: int | None = None) -> Dataset:
    """Reads vg_category_500_labels_index.json (or 200) with train_list_500.txt and test_list_500.txt, or objects.json.

    `classes` chooses between 500 and 200 if both exist; a smaller number reads only the first classes: VG-200 is the
    first 200 classes of VG-500. For objects.json the classes are that many most frequent names of objects over all
    images, 200 by default, as in work on partial labels (VG-500 is the other usual choice).
    """
    if classes is not None and classes < 1:
        raise TrilabelError(f"{path}: classes={classes}: use 1 or more")
    if indices := _find(path, _INDEX):
        return _read_index(path, _choose(path, indices, classes), classes, images)
    objects = _find(path, _OBJECTS)
    if not objects:
        raise TrilabelError(f"{path}: not Visual Genome, which has vg_category_500_labels_index.json or objects.json")
    if len(objects) > 1:
        raise TrilabelError(
            f"{path}: contains {', '.join(file.name for file in objects)}; give the path of one of them"
        )
    file = objects[0]
    found = read_objects(file, file.with_name("image_data.json"), 200 if classes is None else classes)
    split = _splits(file, 500, set(found.ids))
    return assemble(
        path,
        ids=found.ids,
        paths=_paths(file.parent, images, found.ids),
        classes=found.classes,
        entries=zip(*found.entries.T.tolist(), strict=True),
        absent_in=found.annotated.tolist(),
        split_of=[split.get(name, "") for name in found.ids],
        boxes=None if found.boxes is None else zip(*found.boxes.T.tolist(), strict=True),
        notes=[*found.notes, *_without_split(split, found.ids)],
    )


def _find(path: Path, name: re.Pattern[str]) -> list[Path]:
    if path.is_file():
        return [path] if name.fullmatch(path.name) else []
    inside = [file for file in sorted(path.glob("*.json")) if name.fullmatch(file.name)]
    return inside or [file for file in sorted(path.glob("*/*.json")) if name.fullmatch(file.name)]


# ---- VG-500 and VG-200


def _choose(path: Path, indices: list[Path], classes: int | None) -> Path:
    sizes = sorted((_size(file), file) for file in indices)
    there = ", ".join(str(size) for size, _ in sizes)
    if classes is None and len(sizes) > 1:
        raise TrilabelError(f"{path}: contains labels of {there} classes; choose with classes")
    fitting = [file for size, file in sizes if classes is None or size >= classes]
    if not fitting:
        raise TrilabelError(f"{path}: no labels of {classes} classes here, only of {there}")
    return fitting[0]


def _size(index: Path) -> int:
    found = _INDEX.fullmatch(index.name)
    return int(found[1]) if found else 0


def _read_index(path: Path, file: Path, classes: int | None, images: str | Path | None) -> Dataset:
    document = Json.read(file)
    count = _size(file) if classes is None else classes
    if not document.value:
        raise document.error_at("is empty, so there is nothing to read")
    split = _splits(file, _size(file), document.value)
    ids = list(dict.fromkeys((*split, *document.value)))
    names, unnamed = _class_names(file.parent, _size(file), count)
    entries = list(_entries(document, ids, _size(file), count))
    notes = ["listed classes are present, others absent", *unnamed, *_without_split(split, ids)]
    if bare := len(ids) - len({row for row, _, _ in entries}):
        notes.append(f"{bare} images list no class: all are absent")
    return assemble(
        path,
        ids=ids,
        paths=_paths(file.parent, images, ids),
        classes=names,
        entries=entries,
        absent_in=range(len(ids)),
        split_of=[split.get(name, "") for name in ids],
        notes=notes,
    )


def _entries(document: Json, ids: Sequence[str], size: int, count: int) -> Iterator[Entry]:
    """The classes that each image lists, those below `count` of `size`."""
    for row, name in enumerate(ids):
        for place, number in enumerate(document.get(name, list)):
            if type(number) is not int or not 0 <= number < size:
                raise document.error_at(f"is {number!r}, not the number of a class, 0 to {size - 1}", name, place)
            if number < count:
                yield row, number, 1


def _class_names(folder: Path, size: int, count: int) -> tuple[list[str], list[str]]:
    """Names of the first `count` classes, and a note if they are only numbers: no release has a file of names."""
    file = folder / f"vg_category_{size}.json"
    if not file.exists():
        return [str(number) for number in range(count)], [f"no {file.name} here: classes are named by their numbers"]
    document = Json.read(file, list if first_key(file) == "[" else dict)
    if isinstance(document.value, list):
        names = [name.value for _, name in document.items(str)]
    else:
        numbers = {number.value: name for name, number in document.items(int)}
        names = [numbers[number] for number in range(size) if number in numbers]
    if len(names) != size:
        raise document.error_at(f"names {len(names)} classes, not {size}: a list, or an object from name to number")
    return names[:count], []


# ---- common to both


def _splits(file: Path, size: int, known: Mapping[str, object] | set[str]) -> dict[str, str]:
    """The split of each image, from the lists beside a file; those of VG-200 are also called 500."""
    split: dict[str, str] = {}
    for name in ("train", "val", "test"):
        lists = (file.with_name(f"{name}_list_{number}.txt") for number in (size, 500))
        found = next((one for one in lists if one.exists()), None)
        for line, image in read_lines(found) if found else ():
            if image not in known:
                raise TrilabelError(f"{found}, line {line}: image {image!r} is not in {file.name}")
            if image in split:
                raise TrilabelError(f"{found}, line {line}: image {image!r} is in split {split[image]!r} already")
            split[image] = name
    return split


def _without_split(split: Mapping[str, str], ids: Sequence[str]) -> list[str]:
    left = len(ids) - len(split)
    return [f"{left} images are in no list and have no split"] if split and left else []


def _paths(home: Path, images: str | Path | None, ids: Sequence[str]) -> Sequence[str]:
    """Where the images are: some in VG_100K, some in VG_100K_2, or all in one folder."""
    bases = [home, home / "images", home.parent] if images is None else [root_of(images, [])]
    folders = [base / name for base in bases for name in ("VG_100K", "VG_100K_2") if (base / name).is_dir()]
    if len(folders) < 2:
        return RootedPaths(root_of(None, folders or bases, ids), ids)
    in_second = set(os.listdir(folders[1]))  # noqa: PTH208 (a hundred thousand names, no need for paths of them)
    return [f"{folders[name in in_second]}/{name}" for name in ids]
