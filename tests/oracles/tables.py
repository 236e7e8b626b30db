"""Tables of labels read cell by cell with the csv module, and images looked for one by one."""

import csv
from pathlib import Path

SIGN = {"": 0, "1": 1, "1.0": 1, "true": 1, "0": -1, "0.0": -1, "false": -1, "-1": -1, "-1.0": -1}


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.reader(file) if row and not (len(row) == 1 and not row[0].strip())]


def wide(path: Path) -> tuple[list[str], list[str], dict[tuple[str, str], int]]:
    """(images, classes, what is known): a column `image` and one column per class."""
    header, *body = rows(path)
    header = [name.strip() for name in header]
    known = {}
    for row in body:
        for name, text in zip(header[1:], row[1:], strict=True):
            if SIGN[text.strip().lower()]:
                known[row[0], name] = SIGN[text.strip().lower()]
    return [row[0] for row in body], header[1:], known


def long(path: Path) -> tuple[list[str], list[str], dict[tuple[str, str], int]]:
    """(images, classes, what is known): columns image, label, value; no label is listed twice."""
    _, *body = rows(path)
    images, classes, known = [], [], {}
    for image, label, text in body:
        if image not in images:
            images.append(image)
        if label and label not in classes:
            classes.append(label)
        if SIGN[text.strip().lower()]:
            known[image, label] = SIGN[text.strip().lower()]
    return images, classes, known


def located(name: str, files: list[str], extensions: tuple[str, ...]) -> set[str]:
    """The files that an image name without extension may stand for."""
    if name.lower().endswith(extensions):
        return {name}
    stems = {file: file.rsplit(".", 1)[0] for file in files}
    return {file for file, stem in stems.items() if name in (stem, stem.rsplit("/", 1)[-1])}
