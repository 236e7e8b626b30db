"""Label Studio: a project exported as JSON, JSON-MIN, CSV or TSV, labelled with choices, taxonomies or regions."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import get_args

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Entry, Unlisted, assemble
from trilabel.data.formats._shared.json_document import Json, first_key
from trilabel.data.formats.label_studio.images import short_names
from trilabel.data.formats.label_studio.table import is_table, read_records
from trilabel.data.formats.label_studio.tasks import Export, FieldChoice, Task
from trilabel.data.formats.label_studio.writing import write
from trilabel.data.image_paths import UPLOAD_PREFIX, RootedPaths, found_in, is_url, moved, root_of
from trilabel.data.options import check_choice
from trilabel.data.text_files import peek
from trilabel.errors import TrilabelError

__all__ = ["RULE", "detect", "read", "write"]

RULE = "what annotators chose or drew is present, the rest unknown; skipped and unannotated images are unknown"
_MARKS = re.compile(rb'"(was_cancelled|from_name|annotation_id|completions)"\s*:')
_DATA, _LISTS = re.compile(rb'"data"\s*:\s*\{'), re.compile(rb'"(annotations|predictions)"\s*:\s*\[')
_TASK = re.compile(rb'"task"\s*:\s*\{')


def detect(path: Path) -> bool:
    """Whether this is a JSON list or object that starts with keys of Label Studio, or a table with its columns."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return is_table(path)
    start, first = peek(path)[: 1 << 16], first_key(path)
    has_task = _DATA.search(start) and (_LISTS.search(start) or _TASK.search(start))
    if first == "[":
        return bool(_MARKS.search(start) or has_task)
    return bool(first is not None and has_task and _MARKS.search(start))


def read(
    path: Path, *, images: str | Path | None = None, unlisted: Unlisted = "unknown", field: str | None = None
) -> Dataset:
    """Reads an export. `unlisted` is the value of a label that nobody chose or drew in an annotated image.

    `field` reads only one control of the labelling configuration, by its name; otherwise a choice that several
    fields offer is called "field: choice". What is chosen in a field "absent" is absent. A label that only some
    annotators of an image give is unknown, and its boxes are left out. Where annotations are marked as ground truth,
    no others count. A choice in a taxonomy is called by its path, and all that is above it is present as well.
    """
    check_choice(path, "unlisted", unlisted, get_args(Unlisted))
    found = Export(_records(path), field)
    tasks = found.tasks
    if not tasks:
        raise TrilabelError(f"{path}: contains no tasks; export the project as JSON, JSON-MIN or CSV")
    if field is not None and field not in found.fields:
        known = ", ".join(map(repr, found.fields)) or "(none)"
        raise TrilabelError(f"{path}: field={field!r}: nothing was labelled in it; use one of {known}")
    names = short_names([task.image for task in tasks])
    title, classes = _classes(tasks)
    number = {name: position for position, name in enumerate(classes)}
    column = {this: number[name] for this, name in title.items()}
    said = [[{(column[this], sign) for this, sign in one} for one in task.annotations] for task in tasks]
    entries, absent_in, disputed = _agreed(said, unlisted, len(classes))
    present = {entry[:2] for entry in entries if entry[2] > 0} - {entry[:2] for entry in entries if entry[2] < 0}
    all_boxes = [(row, column[this], *box) for row, task in enumerate(tasks) for this, box in task.boxes]
    boxes = [box for box in all_boxes if box[:2] in present]
    odd = {
        "images were skipped: they are unknown": sum(task.skipped and not task.annotations for task in tasks),
        "images have no annotation: they are unknown": sum(not (task.skipped or task.annotations) for task in tasks),
        "tasks have the image of another one: they count as further annotators of it": found.repeated,
        "labels that only some annotators of an image give are unknown": disputed,
        "boxes of labels that are not present left out": len(all_boxes) - len(boxes),
        "classes are called 'field: choice', because several fields offer the choice": len(
            {name for (_, text), name in title.items() if name != text}
        ),
        **{f"results of type {kind!r} left out": count for kind, count in found.others.items()},
    }
    read_from = ", ".join(map(repr, found.fields if field is None else [field]))
    texts = ", ".join(map(repr, found.texts)) if field is None else ""
    splits = [task.data.value.get("split") for task in tasks]
    paths, elsewhere = _paths(path, images, names, tasks)
    return assemble(
        path,
        ids=_ids(tasks, names),
        paths=paths,
        classes=classes,
        entries=entries,
        absent_in=absent_in,
        split_of=[split if isinstance(split, str) else "" for split in splits],
        boxes=boxes or None,
        notes=[
            f"labels are from {read_from or 'no field'}: what was chosen or drawn is present, "
            f"the rest of an annotated image is {unlisted}",
            *([f"texts in {texts} are read as labels, chosen or typed; field selects one field"] if texts else []),
            *(f"{count} {what}" for what, count in odd.items() if count),
            *elsewhere,
        ],
    )


def _records(path: Path) -> list[Json]:
    """The records of an export: of a table, of a list, or the only one."""
    if path.suffix.lower() in (".csv", ".tsv"):
        return read_records(path)
    if first_key(path) not in ("[", None):
        return [Json.read(path)]
    return [record for _, record in Json.read(path, list).items()]


def _ids(tasks: list[Task], names: list[str]) -> list[str]:
    noted = [task.data.value.get("trilabel_id") for task in tasks]
    return [own if isinstance(own, str) else name for own, name in zip(noted, names, strict=True)]


def _paths(path: Path, images: str | Path | None, names: list[str], tasks: list[Task]) -> tuple[RootedPaths, list[str]]:
    """Where the images are, and notes on that. Uploaded files may have their original names there."""
    usual = (path.parent, path.parent / "images")
    before = [
        UPLOAD_PREFIX.sub("", name, count=1) if "/data/upload/" in task.image else name
        for name, task in zip(names, tasks, strict=True)
    ]
    forms = (names, before) if len(set(before)) == len(names) else (names,)
    best = RootedPaths(*max(((root_of(images, usual, form), form) for form in forms), key=lambda pair: found_in(*pair)))
    found, notes = moved(best, usual if images is None else [Path(images)])
    if not notes and not found_in(Path(best.root), best.names):  # none is here: they are where the tasks say
        addresses = [task.image if is_url(task.image) else name for name, task in zip(names, tasks, strict=True)]
        return RootedPaths(best.root, addresses), []
    return found, notes


def _classes(tasks: list[Task]) -> tuple[dict[FieldChoice, str], list[str]]:
    """The name of each class, and all names: those that `write` stored, in that order, then others sorted."""
    given = {this for task in tasks for one in task.annotations for this, _ in one}
    fields = Counter(text for field, text in given if field)
    title = {this: f"{this[0]}: {this[1]}" if this[0] and fields[this[1]] > 1 else this[1] for this in given}
    noted = (names for task in tasks if isinstance(names := task.data.value.get("trilabel_classes"), list))
    first = [name for name in chain.from_iterable(noted) if isinstance(name, str)]
    return title, list(dict.fromkeys([*first, *sorted(title.values())]))


def _agreed(
    said: list[list[set[tuple[int, int]]]], unlisted: Unlisted, classes: int
) -> tuple[list[Entry], Sequence[int], int]:
    """Entries of labels on which the annotators of an image agree, annotated images, and how many others there are."""
    entries: list[Entry] = []
    absent_in, disputed = [], 0
    for row, annotations in enumerate(said):
        lists = annotations if unlisted == "absent" else [one for one in annotations if one]
        counts = Counter(chain.from_iterable(lists))
        given = {column: [sign for sign in (1, -1) if counts[column, sign]] for column, _ in counts}
        before = disputed
        for column, signs in given.items():
            everyone = all(counts[column, sign] == len(lists) for sign in signs)
            if everyone or (signs == [-1] and unlisted == "absent"):
                entries += [(row, column, sign) for sign in signs]
            else:
                disputed += 1
        if lists and unlisted == "absent" and disputed == before:
            absent_in.append(row)
        elif lists and unlisted == "absent":  # disputed labels must not become absent
            entries += [(row, column, -1) for column in range(classes) if column not in given]
    return entries, absent_in, disputed
