"""Labels as plain dense arrays and dictionaries: what the sparse ones must agree with."""

import numpy as np


def counts(dense, axis):
    return (dense == 1).sum(axis), (dense == -1).sum(axis)


def co_occurrence(dense):
    images, classes = dense.shape
    result = np.zeros((classes, classes), int)
    for i in range(images):
        for a in range(classes):
            for b in range(classes):
                result[a, b] += dense[i, a] == 1 and dense[i, b] == 1
    return result


def from_entries(entries, images, classes, conflict):
    """Dense labels from (row, column, value) entries; None where the rule is to raise an error."""
    said = {}
    for row, column, value in entries:
        said.setdefault((row, column), []).append(value)
    dense = np.zeros((images, classes), np.int8)
    for place, values in said.items():
        if len(set(values)) > 1 and conflict == "error":
            return None
        if len(set(values)) > 1 and conflict == "unknown":
            continue
        dense[place] = np.sign(sum(values))
    return dense


def as_dict(dense, ids, classes):
    """{(image, class): value} of known labels."""
    return {(ids[i], classes[j]): int(dense[i, j]) for i, j in zip(*np.nonzero(dense), strict=True)}


def merge(one, two, conflict):
    """Two dictionaries of known labels in one; None where the rule is to raise an error."""
    merged = {**two, **one}
    for place in one.keys() & two.keys():
        if one[place] != two[place]:
            if conflict == "error":
                return None
            if conflict == "unknown":
                del merged[place]
            else:
                merged[place] = one[place] if conflict == "first" else two[place]
    return merged


def factorize(names):
    """(codes, first) by a dictionary."""
    seen = {}
    codes = [seen.setdefault(name, len(seen)) for name in names]
    return codes, [list(names).index(name) for name in seen]
