"""The columns of a table of Hugging Face: which hold images, and the names of classes that stand for numbers."""

import json
from typing import Any

_SCALARS = ("bool", "int", "uint", "float", "double", "halffloat", "null")
_NESTED = ("Sequence", "List", "LargeList")


class Features:
    """What a schema of pyarrow says, with what `datasets` adds to it."""

    def __init__(self, schema: Any) -> None:
        self.names: list[str] = list(schema.names)
        self.types = {field.name: str(field.type) for field in schema}
        self._features = _stored(schema.metadata)
        images = [name for name in self.names if self._is_image(name)]
        self.images = sorted(images, key=lambda name: name not in ("image", "img"))

    def _is_image(self, name: str) -> bool:
        feature = self._features.get(name)
        is_one = isinstance(feature, dict) and feature.get("_type") == "Image"
        kind = self.types[name]
        return kind.startswith("struct<bytes: ") or (is_one and "binary" in kind)

    def has_paths(self, image: str) -> bool:
        """Whether the images of this column come with the names of their files."""
        return "path: " in self.types[image]

    def plain_columns(self) -> list[str]:
        """The columns of numbers and of true and false."""
        return [name for name in self.names if self.types[name].startswith(_SCALARS)]

    def classes(self, column: str) -> list[str]:
        """The names of the classes in a column of labels or objects; none if it does not have them."""
        return _class_names(self._features.get(column))

    def named(self, column: str, cell: Any) -> Any:
        """A cell with the names of classes in place of their numbers; −1, which stands for none, becomes None."""
        feature = self._features.get(column)
        return cell if feature is None else _named(cell, feature)


def _stored(metadata: Any) -> dict[str, Any]:
    """The features that `datasets` stores in a schema."""
    try:
        found = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
    except (LookupError, TypeError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _class_names(feature: Any) -> list[str]:
    if isinstance(feature, list):
        return next((inside for one in feature if (inside := _class_names(one))), [])
    if not isinstance(feature, dict):
        return []
    names = feature.get("names")
    if feature.get("_type") == "ClassLabel" and isinstance(names, list) and all(isinstance(n, str) for n in names):
        return names
    return next((inside for one in feature.values() if (inside := _class_names(one))), [])


def _named(cell: Any, feature: Any) -> Any:
    if isinstance(feature, list) and feature:
        feature = {"_type": "List", "feature": feature[0]}
    if cell is None or not isinstance(feature, dict):
        return cell
    if feature.get("_type") == "ClassLabel":
        names = _class_names(feature)
        return names[cell] if type(cell) is int and 0 <= cell < len(names) else None if cell == -1 else cell
    inner = feature.get("feature") if feature.get("_type") in _NESTED else feature
    if isinstance(cell, list):
        return [named for one in cell if (named := _named(one, inner)) is not None or one is None]
    if isinstance(cell, dict) and isinstance(inner, dict):
        # A sequence of objects is stored as an object of sequences.
        return {key: _named_each(value, inner.get(key)) for key, value in cell.items()}
    return cell


def _named_each(value: Any, feature: Any) -> Any:
    is_list = isinstance(value, list) and not (isinstance(feature, dict) and feature.get("_type") in _NESTED)
    if is_list and not isinstance(feature, list):
        return [_named(one, feature) for one in value]
    return _named(value, feature)
