"""Which rows of a data set its runs learn from and choose the epoch by."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.training.stages import split_for_training


class SplitRows(NamedTuple):
    """Row numbers of a data set."""

    train: NDArray[np.int64]
    val: NDArray[np.int64]


class TrainingSplits:
    """The rows of one data set, worked out once for each training split and validation setting."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._rows: dict[tuple[str, str], SplitRows] = {}

    def rows(self, config: Config) -> SplitRows:
        """The rows that such a run uses."""
        key = (config.train_split, config.val)
        if key not in self._rows:
            _, train, val = split_for_training(self._dataset, config)
            self._rows[key] = SplitRows(train, val)
        return self._rows[key]
