"""The training and validation images of a run, determined once and passed on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate
from trilabel.log import log, truncate_list
from trilabel.printable import plural
from trilabel.training.plan_kind import HELD_OUT_SHARE, holds_nothing_out

FOLDS = "folds"  # the value of `Config.val` that holds no image out
HELD_OUT = "held-out"  # the split that a share of the training images becomes
_SPLIT_SEED = 0  # not the run's: runs with different seeds should choose their epoch on the same images


_FOR_LATER = ("test", "val", "train")  # splits that everybody knows: nobody is told that they are kept


class TrainingSplit(NamedTuple):
    """A data set, its training rows, and the validation rows on which the epoch is chosen."""

    dataset: Dataset
    train: NDArray[np.int64]
    val: NDArray[np.int64]

    @property
    def labels(self) -> Labels:
        """Labels of the training images."""
        return self.dataset.labels[self.train]

    def hide(self, setting: str, seed: int | None) -> "TrainingSplit":
        """The same with labels of the training images hidden on purpose (see `trilabel.simulate`).

        "images=0.1" leaves other images out of training altogether, "images=0.1+single-positive" hides labels of the
        rest.
        """
        share, setting = simulate.split_images(setting)
        train = self.train if share is None else self.train[simulate.some_images(len(self.train), share, seed)]
        if not len(train):
            raise TrilabelError(f"images={share:g} leaves no image to learn from; keep more")
        if not setting:
            return self._replace(train=train)
        labels = simulate.apply_to_rows(self.dataset.labels, train, setting, seed)
        return self._replace(dataset=self.dataset.with_labels(labels), train=train)


def split_for_training(dataset: Dataset, config: Config) -> TrainingSplit:
    """Training and validation rows from `config.train_split` and `config.val`; a share is held out if requested.

    With `FOLDS` there are no validation rows, as heads fitted to parts of the images take their place.
    """
    name = config.val
    if name == "auto" and len(dataset.splits.get("val", ())):
        name = "val"
    elif name == "auto":
        whole = len(dataset.rows_of(config.train_split))
        name = FOLDS if holds_nothing_out(config, whole) else str(HELD_OUT_SHARE)
    if name in ("none", FOLDS):
        train, val = dataset.rows_of(config.train_split), np.zeros(0, np.int64)
    else:
        if name not in dataset.splits and (share := _as_share(name)) is not None:
            if not 0 < share < 1:
                there = ", ".join(map(repr, dataset.splits)) or "none"
                raise TrilabelError(
                    f"--val {name}: give a share of the training images between 0 and 1, such as 0.2, the name of a "
                    f"split (there are: {there}), folds, or none"
                )
            dataset = dataset.with_split_off(HELD_OUT, share, config.train_split, _SPLIT_SEED)
            name = HELD_OUT
        train, val = dataset.rows_of(config.train_split), dataset.rows_of(name)
        if not len(val):
            raise TrilabelError(
                f"--val {name}: this split has no images to choose an epoch on; give another split, or none"
            )
    if not len(train):
        raise TrilabelError(f"split {config.train_split!r} has no images to learn from")
    if both := len(np.intersect1d(train, val)):
        raise TrilabelError(
            f"{plural(both, 'image is', 'images are')} both in the training split {config.train_split!r} and in "
            f"validation split {name!r}; "
            "an epoch must not be chosen on images that were learned from"
        )
    _tell_unused(dataset, np.union1d(train, val))
    return TrainingSplit(dataset, train, val)


def _tell_unused(dataset: Dataset, used: NDArray[np.int64]) -> None:
    """Says which splits are of no use here, as one with a mistyped name would be."""
    for name, rows in dataset.splits.items():
        unused = len(np.setdiff1d(rows, used)) if name not in _FOR_LATER else 0
        if unused:
            log.info(f"{plural(unused, 'image')} of split {name!r} {'is' if unused == 1 else 'are'} not used")


def _as_share(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def check_validation(labels: Labels, select: str) -> None:
    """Logs what the validation labels cannot measure; raises an error for unusable labels or an unknown metric."""
    if not len(labels):
        return
    sample = metrics.evaluate(np.zeros((2, labels.shape[1])), np.ones((2, labels.shape[1]), np.int8))
    names = [name for name, value in sample.items() if value is None or isinstance(value, float)]
    if select not in names:
        raise TrilabelError(f"no validation metric named {select!r} to choose the epoch; there are: {', '.join(names)}")
    positives, negatives = labels.counts_per_class()
    if not positives.any():
        raise TrilabelError(
            "no validation image is known to have any class, so no epoch can be chosen; "
            "use a validation split with known positives, or --val none"
        )
    without = [name for name, count in zip(labels.classes, positives, strict=True) if not count]
    if without:
        log.warning(
            f"no validation image is known to have {truncate_list(without)}; "
            f"its mAP leaves {plural(len(without), 'class')} out"
        )
    if not negatives.any():
        log.warning(
            "no validation label is known to be absent: unknown counts as absent there, to choose the epoch; the "
            "scores show which epoch is better, not how good it is"
        )
    elif labels.known_share < 1:
        log.info(f"{labels.known_share:.1%} of validation labels are known; scores are over these only")


def judged_labels(config: Config, labels: Labels) -> Labels:
    """The labels of training images that statistics may rest on.

    Where each image's positives are all that the data names (posterior with rates=one-of-k), negatives come from people
    who were asked where a model doubted. They say nothing of other labels, and are left out: absent by default.
    """
    if config.method != "posterior" or config.settings.get("rates") != "one-of-k":
        return labels
    positives = labels.csr.copy()
    positives.data[positives.data < 0] = 0
    positives.eliminate_zeros()
    return Labels.from_csr(positives, labels.classes, labels.ids)


def validation_truth(labels: Labels) -> Labels | NDArray[np.int8]:
    """The labels for validation: the known ones or, if none is absent, with all unknown ones as absent.

    Without negatives nothing can be scored wrong, so all epochs would be equally good.
    """
    if not len(labels) or labels.counts_per_class()[1].any():
        return labels
    return np.where(labels.to_signed() > 0, 1, -1).astype(np.int8)
