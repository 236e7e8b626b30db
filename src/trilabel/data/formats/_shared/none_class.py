"""A class such as "No Finding" that says of an image that it has none of the others."""

from pathlib import Path

import numpy as np

from trilabel.data.formats._shared.assemble import fill_absent
from trilabel.errors import unknown_name_error
from trilabel.labels import Labels


def others_absent(path: Path, labels: Labels, name: str) -> tuple[Labels, list[str]]:
    """The labels with all others absent where this class is present and no other is; and notes on that."""
    if name not in labels.classes:
        raise unknown_name_error(f"class in {path}", name, labels.classes)
    column = list(labels.classes).index(name)
    present = labels.csr.data > 0
    rows = np.repeat(np.arange(len(labels)), np.diff(labels.csr.indptr))
    count = np.bincount(rows[present], minlength=len(labels))
    said = np.zeros(len(labels), bool)
    said[rows[present & (labels.csr.indices == column)]] = True
    alone = np.flatnonzero(said & (count == 1))
    notes = [f"{len(alone)} images have {name!r}: their other labels are absent"]
    if both := int((said & (count > 1)).sum()):
        notes.append(f"{both} images have {name!r} and another label present: this says nothing about their others")
    return fill_absent(path, labels, alone), notes
