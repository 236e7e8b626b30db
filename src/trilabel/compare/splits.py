"""Which rows of a data set its runs learn from and choose the epoch by, worked out once for all of them."""

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.training.splits import TrainingSplit, split_for_training


class TrainingSplits:
    """The splits of one data set, one for each training split and validation setting."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._known: dict[tuple[str, str], TrainingSplit] = {}

    def of(self, config: Config) -> TrainingSplit:
        """The split that such a run uses."""
        key = (config.train_split, config.val)
        if key not in self._known:
            self._known[key] = split_for_training(self._dataset, config)
        return self._known[key]
