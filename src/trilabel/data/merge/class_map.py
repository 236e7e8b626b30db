"""Maps of class names: the new names of the classes of a data set, so that sets can be merged."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from trilabel.data.boxes import Boxes
from trilabel.data.dataset import Dataset
from trilabel.data.tables import first_bytes, open_table, read_rows, usual_delimiter
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.labels import Labels

ClassMap = Mapping[str, Mapping[str, str]]  # set ("" for all) → class there → class here ("" for none)


def read_class_map(file: Path) -> dict[str, dict[str, str]]:
    """A table with the columns from and to, and set for rows about one data set only; an empty `to` drops a class."""
    try:
        with open_table(file) as opened:
            start = first_bytes(opened)
    except FileNotFoundError:
        raise TrilabelError(f"{file}: no such file") from None
    except OSError as error:
        raise TrilabelError(f"{file}, row 1: cannot be read as a table ({error})") from None
    rows = read_rows(file, usual_delimiter(file, start))
    _, header = next(rows, (1, list[str]()))
    names = [cell.strip().lower() for cell in header]
    if not {"from", "to"} <= set(names) <= {"set", "from", "to"}:
        raise TrilabelError(f"{file}, row 1: a class map needs the columns from and to, and optionally set")
    found: dict[str, dict[str, str]] = {}
    for line, cells in rows:
        if len(cells) != len(names):
            raise TrilabelError(f"{file}, row {line}: {len(cells)} cells, but the header has {len(names)}")
        row = {name: cell.strip() for name, cell in zip(names, cells, strict=True)}
        if not row["from"]:
            raise TrilabelError(f"{file}, row {line}: the cell 'from' is empty; name the class to rename")
        if found.setdefault(row.get("set", ""), {}).setdefault(row["from"], row["to"]) != row["to"]:
            raise TrilabelError(f"{file}, row {line}: class {row['from']!r} is renamed differently in an earlier row")
    return found


def check_class_map(sets: Mapping[str, Dataset], classes: ClassMap) -> None:
    """Raises an error if the map names a set or class that does not exist."""
    for name, renamed in classes.items():
        if name and name not in sets:
            raise unknown_name_error("data set for the class map", name, sets)
        there = {one for key, dataset in sets.items() if name in ("", key) for one in dataset.classes}
        for old in renamed:
            if old not in there:
                raise unknown_name_error(f"class in {name or 'any set'} to rename", old, sorted(there))


def joined_of_some(sets: Mapping[str, Dataset], classes: ClassMap) -> list[dict[str, Any]]:
    """Cases where several classes become one and a set has only some of them: its labels of those count for all."""
    found = []
    for name, dataset in sets.items():
        there, parts_of = set(dataset.classes), dict[str, list[str]]()
        for old, new in {**classes.get("", {}), **classes.get(name, {})}.items():
            parts_of.setdefault(new, []).append(old)
        for joined, parts in parts_of.items():
            has = [old for old in parts if old in there]
            if joined and has and len(has) < len(parts):
                lacks = [old for old in parts if old not in there]
                found.append({"set": name, "class": joined, "has": has, "lacks": lacks})
    return found


def renamed(name: str, dataset: Dataset, classes: ClassMap) -> Dataset:
    """The set with its classes renamed.

    If several classes become one, it is present if any of them is, and absent if all of them are.
    """
    new_name = {**classes.get("", {}), **classes.get(name, {})}
    if not any(one in new_name for one in dataset.classes):
        return dataset
    new = [new_name.get(one, one) for one in dataset.classes]
    names = list(dict.fromkeys(one for one in new if one))
    place = {one: number for number, one in enumerate(names)}
    column = np.array([place.get(one, -1) for one in new], np.int64)
    kept = np.flatnonzero(column >= 0)
    onto = sp.csr_array((np.ones(len(kept), np.int32), (kept, column[kept])), shape=(len(new), len(names)))
    csr, shape = dataset.labels.csr, dataset.labels.csr.shape
    present = sp.coo_array(sp.csr_array((np.int32(csr.data > 0), csr.indices, csr.indptr), shape=shape) @ onto)
    absent = sp.coo_array(sp.csr_array((np.int32(csr.data < 0), csr.indices, csr.indptr), shape=shape) @ onto)
    any_of = present.data > 0
    all_of = absent.data == np.bincount(column[kept], minlength=len(names))[absent.col]
    rows = np.concatenate([present.row[any_of], absent.row[all_of]])
    columns = np.concatenate([present.col[any_of], absent.col[all_of]])
    signs = np.repeat(np.array([1, -1], np.int8), [any_of.sum(), all_of.sum()])
    labels = Labels.from_entries(rows, columns, signs, names, dataset.labels.ids)
    boxes = dataset.boxes
    if boxes is not None:
        kept_boxes = np.flatnonzero(column[boxes.cls] >= 0)
        boxes = Boxes(boxes.image[kept_boxes], column[boxes.cls[kept_boxes]], boxes.xyxy[kept_boxes])
    return Dataset(labels.ids, dataset.paths, labels, dataset.splits, boxes, notes=dataset.notes)
