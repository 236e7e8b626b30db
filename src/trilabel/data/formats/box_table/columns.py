"""Which columns of a table with a row per box say what, by their names."""

from collections.abc import Sequence
from typing import NamedTuple

_IMAGE = ("image", "filename", "image_path", "image_name", "image_id", "imageid", "img", "file", "path", "id")
_LABEL = ("class_name", "label_name", "labelname", "category_name", "label", "class", "category", "name")
_CORNERS = (
    ("xmin", "ymin", "xmax", "ymax"),
    ("x_min", "y_min", "x_max", "y_max"),
    ("x1", "y1", "x2", "y2"),
    ("left", "top", "right", "bottom"),
)
_SIZED = (
    ("x", "y", "w", "h"),
    ("x", "y", "width", "height"),
    ("left", "top", "width", "height"),
    ("bbox_x", "bbox_y", "bbox_width", "bbox_height"),
)
_IMAGE_SIZE = (("image_width", "image_height"), ("img_width", "img_height"), ("width", "height"))


class BoxColumns(NamedTuple):
    """Positions of the columns."""

    image: int
    label: int
    box: tuple[int, ...]  # left, top, and right, bottom or width, height
    corners: bool  # whether right and bottom
    size: tuple[int, ...]  # width and height of the image; empty if they are not there
    split: int


def find_box_columns(header: Sequence[str]) -> BoxColumns | None:
    """The columns of a row per box; None if this is another kind of table."""
    names = [cell.strip().lower() for cell in header]

    def all_of(*choices: tuple[str, ...], other_than: tuple[int, ...] = ()) -> tuple[int, ...]:
        found = (tuple(map(names.index, wanted)) for wanted in choices if set(wanted) <= set(names))
        return next((columns for columns in found if not set(columns) & set(other_than)), ())

    image = next((names.index(name) for name in _IMAGE if name in names), -1)
    label = next((names.index(name) for name in _LABEL if name in names), -1)
    corners = all_of(*_CORNERS)
    box = corners or all_of(*_SIZED)
    if image < 0 or label < 0 or not box or "value" in names:
        return None
    split = names.index("split") if "split" in names else -1
    return BoxColumns(image, label, box, bool(corners), all_of(*_IMAGE_SIZE, other_than=box), split)
