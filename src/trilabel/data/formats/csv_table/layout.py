"""The roles of the columns of a table of labels, by their names."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trilabel.data.image_paths import is_image
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError

IMAGE_COLUMNS = ("image", "id", "filename", "file", "path")
TAG_COLUMNS = ("tags", "labels", "classes", "categories", "keywords", "tag")


@dataclass(frozen=True)
class TableLayout:
    """The contents of the header of a table; columns are positions, −1 if there is none."""

    header: list[str]
    image: int
    file: int  # beside a column with the image's name: where its file is
    split: int
    label: int = -1  # of long tables only
    value: int = -1
    tags: int = -1  # of tables with a list of tags in a cell only
    classes: list[int] = field(default_factory=list)  # of wide tables only
    left_out: list[str] = field(default_factory=list)
    sure: bool = False  # whether the user named the layout

    @property
    def taken(self) -> set[int]:
        """The columns that describe images, not labels."""
        return {self.image, self.file, self.split}


def find_columns(
    path: Path,
    delimiter: str,
    header: list[str],
    layout: str = "auto",
    ignore: Iterable[str] = (),
    image_column: int = -1,
    tags_column: int = -1,
    beside_label: bool = False,
) -> TableLayout:
    """The roles of the columns, by their names; `layout` ("wide", "long" or "tags") overrides the detection.

    `beside_label` says that the other columns of a table with a column label are no classes, so they are left out.
    """
    names = [cell.strip().lower() for cell in header]

    def position(*wanted: str) -> int:
        return next((names.index(name) for name in wanted if name in names), -1)

    _refuse_without_header(path, header)
    image, label, value, split = (position(*wanted) for wanted in (IMAGE_COLUMNS, ["label"], ["value"], ["split"]))
    image = image_column if image_column >= 0 else image
    file = position("path", "filename") if image >= 0 and names[image] in ("image", "id") else -1
    rest = _other_columns(path, header, {max(image, 0), file, split}, ignore)
    found = f"{path}: found the columns {', '.join(map(shown, header[:8]))}{', …' if len(header) > 8 else ''};"
    if layout == "tags":
        called = [column for name in (*TAG_COLUMNS, "label") for column in rest if names[column] == name]
        tags = tags_column if tags_column >= 0 else next(iter(called), rest[0] if len(rest) == 1 else -1)
        if tags < 0:
            raise TrilabelError(f"{found} which one contains the tags? pass tags=NAME")
        left_out = [header[column] for column in rest if column != tags]
        return TableLayout(header, max(image, 0), file, split, tags=tags, left_out=left_out)
    if layout == "wide" or (layout == "auto" and not {label, value} & set(rest)):
        if not rest:
            raise TrilabelError(
                f"{found} a wide table needs image and a column for each class (are the cells separated by "
                f"{delimiter!r}? if not, pass delimiter=MARK)"
            )
        return TableLayout(header, max(image, 0), file, split, classes=rest)
    left_out = [header[column] for column in rest if column not in (label, value)]
    if image < 0 and label >= 0:
        raise TrilabelError(f"{found} which one contains the images? pass image=NAME")
    if image < 0 or label < 0:
        raise TrilabelError(
            f"{found} a long table needs image, label and value, or just image and label (if these are classes, "
            "pass layout='wide')"
        )
    if value < 0 and left_out and not beside_label and layout != "long":
        raise TrilabelError(
            f"{found} are {listed(left_out)} classes, or is the label in 'label'? pass layout='long' to read that, or "
            f"ignore=['label'] to read the others"
        )
    return TableLayout(header, image, file, split, label, value, left_out=left_out, sure=layout == "long")


def _refuse_without_header(path: Path, header: list[str]) -> None:
    """Refuses a table whose first row is about an image, also where blanks separate its cells."""
    name, *others = header if len(header) > 1 else header[0].split()
    if is_image(name):
        numbers = not others or not set(others) <= {"0", "1", "-1"}  # two cells of 0 and 1 would be taken for numbers
        hint = ", or pass format='list' if these are numbers of classes" if numbers else ""
        raise TrilabelError(
            f"{path}, row 1: {shown(name)} is an image, not the name of a column; write a header above it (image, and "
            f"the classes, separated like the cells){hint}"
        )


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names for a message: a few, then how many others there are."""
    every = list(map(shown, names))
    rest = [f"{len(every) - most} others"] if len(every) > most + 1 else every[most:]
    every = [*every[:most], *rest]
    return " and ".join(filter(None, (", ".join(every[:-1]), every[-1])))


def _other_columns(path: Path, header: list[str], taken: set[int], ignore: Iterable[str]) -> list[int]:
    """The columns that are neither used nor ignored."""
    first: dict[str, int] = {}
    every = enumerate(header)
    twice = [(first[name], column) for column, name in every if first.setdefault(name, column) != column and name]
    if twice:
        one, two = twice[0]
        both = f"columns {one + 1} and {two + 1} are both called {shown(header[one])}"
        others = f" (and {len(twice) - 1} others)" if len(twice) > 1 else ""
        raise TrilabelError(f"{path}: {both}{others}; rename or remove one")
    ignored = [name.strip() for name in ignore]
    if unknown := [name for name in ignored if name not in first]:
        raise TrilabelError(f"{path}: no column called {listed(unknown)} to ignore")
    # A first column without a name that does not contain the images is the row number that pandas writes.
    rest = [c for c, name in enumerate(header) if c not in taken and name not in ignored and (c or name)]
    if unnamed := [column + 1 for column in rest if not header[column]]:
        what = f"column {unnamed[0]} has" if len(unnamed) == 1 else f"columns {', '.join(map(str, unnamed[:8]))} have"
        raise TrilabelError(f"{path}: {what} no name; give it one or remove it")
    return rest
