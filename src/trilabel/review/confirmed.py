"""What people confirmed, put into the labels of a data set."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from trilabel.data.dataset import Dataset
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.printable import plural
from trilabel.review.store import Answer, confirmed


class Applied(NamedTuple):
    """How many labels became what."""

    confirmed: int  # labels that people confirmed as present or absent
    changed: int  # of them, those of which the data said the contrary
    undecided: int  # labels that they could not tell, or were of two minds about: as the data has them
    elsewhere: int  # labels of other images or classes

    def describe(self) -> str:
        """A line for people.

        >>> Applied(120, 1, 2, 0).describe()
        '120 labels confirmed by people, 1 of them against the data; 2 undecided'
        """
        parts = [f"{plural(self.confirmed, 'label')} confirmed by people, {self.changed:,} of them against the data"]
        parts += [f"{self.undecided:,} undecided"] if self.undecided else []
        return "; ".join(parts + ([f"{self.elsewhere:,} of other images or classes"] if self.elsewhere else []))


def with_answers(dataset: Dataset, answers: Sequence[Answer]) -> tuple[Dataset, Applied]:
    """The data set with what people confirmed as known labels; they are right where the data says the contrary.

    Where several answered, the majority counts; without one, the label stays as it is.
    """
    values = confirmed(answers)
    rows = dataset.labels.ids.positions(Names([image for image, _ in values]))
    columns = dataset.labels.classes.positions(Names([cls for _, cls in values]))
    signs = np.fromiter(values.values(), np.int8, len(values))
    here = (rows >= 0) & (columns >= 0)
    chosen = here & (signs != 0)
    given = Labels.from_entries(
        rows[chosen], columns[chosen], signs[chosen], dataset.labels.classes, dataset.labels.ids
    )
    before = dataset.labels.csr.multiply(given.csr)
    told = Applied(given.known, int((before.data < 0).sum()), int((here & (signs == 0)).sum()), int((~here).sum()))
    return replace(dataset, labels=dataset.labels.merge(given, conflict="second")), told
