"""A summary of a data set: counts of its labels, and warnings."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import existing
from trilabel.labels import Labels
from trilabel.labels.expected_positives import labeled_positives
from trilabel.printable import plural

_MOST_PAIRS = 10
_FEW_POSITIVES = 10
_MOST_ALIKE = 5


def inspect(dataset: Dataset, split: str = "all") -> dict[str, Any]:
    """A summary that prints as JSON: sizes, shares, counts per class and image, pairs of classes, warnings."""
    labels = dataset.labels if split == "all" else dataset.labels[dataset.rows_of(split)]
    images, classes = labels.shape
    present, absent = labels.counts_per_class()
    per_image_present, per_image_absent = labels.counts_per_image()
    paths = None if dataset.paths is None else dataset.images_of(dataset.rows_of(split))[1]
    missing = 0 if paths is None else int((~existing(paths)).sum())
    return {
        "images": images,
        "classes": classes,
        "known": labels.known,
        "known_share": labels.known_share,
        "positives": int(present.sum()),
        "negatives": int(absent.sum()),
        "splits": {name: len(rows) for name, rows in dataset.splits.items()},
        "boxes": 0 if dataset.boxes is None else len(dataset.boxes.image),
        "notes": list(dataset.notes),
        "per_class": [
            {"class": name, "present": int(yes), "absent": int(no), "unknown": images - int(yes) - int(no)}
            for name, yes, no in zip(labels.classes, present, absent, strict=True)
        ],
        "per_image": {"present": _spread(per_image_present), "absent": _spread(per_image_absent)},
        "expected_positives": _expected_positives(labels),
        "images_without_known_label": int((per_image_present + per_image_absent == 0).sum()),
        "classes_without_positives": [name for name, yes in zip(labels.classes, present, strict=True) if not yes],
        "classes_without_negatives": [name for name, no in zip(labels.classes, absent, strict=True) if not no],
        "often_together": often_together(labels),
        "images_without_file": missing,
        "warnings": [*advice(labels, _learned(dataset, split)), *_missing_files(missing, len(labels))],
    }


def _learned(dataset: Dataset, split: str) -> Labels | None:
    """The labels of split train where others are inspected beside them, which nothing learns from."""
    train = dataset.splits.get("train", ())
    return dataset.labels[train] if split == "all" and 0 < len(train) < len(dataset) else None


def _missing_files(missing: int, images: int) -> list[str]:
    if not missing:
        return []
    where = "is this the right folder of images?" if missing == images else "training would stop at the first of them"
    has = "has" if missing == 1 else "have"
    return [f"{missing:,} of {images:,} images {has} no file: {where} (--images, --missing drop)"]


def _spread(counts: np.ndarray[Any, Any]) -> dict[str, float]:
    if not len(counts):
        return {"least": 0, "mean": 0.0, "most": 0}
    return {"least": int(counts.min()), "mean": float(counts.mean()), "most": int(counts.max())}


def _expected_positives(labels: Labels) -> dict[str, Any] | None:
    found = labeled_positives(labels)
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": found.high, "images": found.images}


def often_together(labels: Labels, most: int = _MOST_PAIRS) -> list[dict[str, Any]]:
    """The pairs of classes that are known to be present together most often."""
    pairs = sp.coo_array(sp.triu(labels.co_occurrence(), k=1))
    order = np.argsort(-pairs.data, kind="stable")[:most]
    return [
        {
            "classes": [labels.classes[int(pairs.row[place])], labels.classes[int(pairs.col[place])]],
            "images": int(pairs.data[place]),
        }
        for place in order
    ]


def similar_names(classes: Iterable[str]) -> list[list[str]]:
    """Classes with names that differ only in case, blanks, hyphens or a plural."""
    alike: dict[str, list[str]] = {}
    for name in classes:
        alike.setdefault(name.casefold().replace("_", " ").replace("-", " ").removesuffix("s"), []).append(name)
    return [names for names in alike.values() if len(names) > 1]


def advice(labels: Labels, learned: Labels | None = None) -> list[str]:
    """Problems that these labels will cause, and what to do about them.

    learned: those of them that training learns from, if not all.
    """
    present, absent = labels.counts_per_class()
    silent = int((np.diff(labels.csr.indptr) == 0).sum())
    found = []
    if not labels.known:
        return ["no label is known: nothing can be learned; label at least some images"]
    if not absent.any():
        found.append(
            "no label is known to be absent: methods that use only known labels would predict every class everywhere; "
            "use a method for positives only, such as assume-negative"
        )
    elif without := int(((absent == 0) & (present > 0)).sum()):
        classes = plural(without, "class has", "classes have")
        found.append(f"{classes} no known negatives: known-only will predict that everywhere")
    if not present.any():
        found.append("no label is known to be present: there is nothing to learn")
    elif without := int((present == 0).sum()):
        found.append(
            f"{plural(without, 'class has', 'classes have')} no known positives and cannot be learned or scored; label "
            "some, or drop what has none"
        )
    within = "" if learned is None else " in split train"
    taught = present if learned is None else learned.counts_per_class()[0]
    if learned is not None and (untaught := int(((taught == 0) & (present > 0)).sum())):
        classes = plural(untaught, "class has", "classes have")
        found.append(f"{classes} no known positives{within} and cannot be learned; label some there")
    for names in similar_names(labels.classes)[:_MOST_ALIKE]:
        found.append(
            f"{' and '.join(map(repr, names))} are different classes; if they should not be, give them one name"
        )
    if few := int(((taught > 0) & (taught < _FEW_POSITIVES)).sum()):
        classes = plural(few, "class has", "classes have")
        found.append(f"{classes} fewer than {_FEW_POSITIVES} known positives{within}: expect poor scores there")
    if silent:
        found.append(f"{plural(silent, 'image has', 'images have')} no known label: known-only learns nothing there")
    return found
