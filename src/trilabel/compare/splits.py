"""The training and validation rows of a data set, determined once for all runs."""

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.training.splits import TrainingSplit, split_for_training


class TrainingSplits:
    """The splits of one data set, one for each training split and validation setting."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._known: dict[tuple[str, str], TrainingSplit] = {}

    def of(self, config: Config) -> TrainingSplit:
        """The split for a run with this configuration."""
        key = (config.train_split, config.val)
        if key not in self._known:
            self._known[key] = split_for_training(self._dataset, config)
        return self._known[key]
