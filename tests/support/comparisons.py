"""What the tests of comparisons share."""

from dataclasses import asdict, replace

from trilabel.labels import Labels


def without_time(cells):
    """The cells as dictionaries, without what depends on time and place."""
    return [{**asdict(cell), "seconds": None, "command": None} for cell in cells]


def kinds(folders):
    """ "search" or "cells" for each run folder."""
    return [folder.parent.name for folder in folders]


def flipped(dataset, split):
    """The data set with every label of a split flipped."""
    signed = dataset.labels.to_signed()
    signed[dataset.rows_of(split)] *= -1
    return replace(dataset, labels=Labels.from_signed(signed, classes=dataset.classes, ids=dataset.ids))


class Stop:
    """Stops a comparison as Ctrl-C would, after so many runs."""

    def __init__(self, after):
        self.left = after

    def __call__(self):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
