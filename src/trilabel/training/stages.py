"""What a run will do, worked out before it starts: which images, which stages, which batches."""

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.log import log, truncate_list
from trilabel.methods import METHODS, check_method
from trilabel.models import GRAPHS, HEADS, check_graph, check_head
from trilabel.models.backbone import is_run
from trilabel.training.relabelling import check_relabel
from trilabel.training.run_folder import RunFolder

WARM_UP = "warm-up"
_AUTO_SHARE = 0.2
_SPLIT_SEED = 0  # not the run's: runs with different seeds should choose their epoch on the same images


@dataclass(frozen=True)
class Stage:
    """A stretch of training with one set of trained parameters."""

    name: str
    epochs: int
    lr: float
    linear: bool = False  # only the head, on features computed once


def plan_stages(config: Config, warm_up_epochs: int = 0) -> list[Stage]:
    """The stages of config.stages, in order; a method's warm-up goes before them, as the first of them would."""
    stages = _stages(config)
    if warm_up_epochs:
        stages.insert(0, replace(stages[0], name=WARM_UP, epochs=warm_up_epochs))
    return stages


def _stages(config: Config) -> list[Stage]:
    linear_lr = config.lr * config.head_lr_scale if config.linear_lr is None else config.linear_lr
    fine_tune = Stage("fine-tune", config.epochs, config.lr)
    match config.stages:
        case "fine-tune":
            return [fine_tune]
        case "linear":
            return [Stage("linear", config.epochs, linear_lr, linear=True)]
        case "linear-then-fine-tune":
            return [Stage("linear", config.linear_epochs, linear_lr, linear=True), fine_tune]


def check_parts(config: Config, labels: Labels, goes_on: bool = False) -> None:
    """Refuses parts that do not exist or do not go together, before anything slow begins.

    goes_on: the run has a checkpoint, and needs the weights that it started from no more.
    """
    _refuse_settings_of_other_parts(config)
    check_method(config.method, config.settings, labels)
    check_head(config.head, config.head_settings)
    check_graph(config.graph, config.graph_settings)
    if config.keep_head and not goes_on:
        if config.weights is None or not is_run(config.weights):
            given = "" if config.weights is None else f", not {config.weights}"
            raise TrilabelError(f"keep_head starts from the head of a trained run: name it, --weights RUN{given}")
        if RunFolder(Path(config.weights)).read()["classes"] != list(labels.classes):
            raise TrilabelError(f"{config.weights}: keep_head needs a run on the same classes in the same order")
    heads = METHODS[config.method].heads
    if heads and config.head not in heads:
        raise TrilabelError(f"method {config.method!r} goes with --head {' or '.join(heads)}, not with {config.head!r}")
    if heads and config.graph != "none":
        raise TrilabelError(f"method {config.method!r} looks into its head: no graph can stand behind it")
    if config.relabel == "none":
        if config.relabel_settings:
            names = ", ".join(config.relabel_settings)
            raise TrilabelError(f"{names}: settings of relabelling, but relabel is none; pass --relabel score")
        return
    check_relabel(config.relabel, config.relabel_settings, [stage.epochs for stage in plan_stages(config)])
    if config.relabel == "ensemble" and config.stages != "fine-tune":
        raise TrilabelError("relabelling by ensemble needs images, and a linear stage has only features; fine-tune")


def _refuse_settings_of_other_parts(config: Config) -> None:
    """Says where a setting belongs that was given to the method and is another part's."""
    if config.method not in METHODS:
        return
    parts = {"head": HEADS.get(config.head), "graph": GRAPHS.get(config.graph)}
    own = {f.name for f in fields(METHODS[config.method].Settings)}
    for setting in set(config.settings) - own:
        for part, kind in parts.items():
            if kind is not None and setting in {f.name for f in fields(kind.Settings)}:
                raise TrilabelError(
                    f"method {config.method!r} has no setting {setting!r}, but the {part} has: "
                    f"--set {part}.{setting}=…, or {part}_settings in a Config"
                )


def split_for_training(dataset: Dataset, config: Config) -> tuple[Dataset, NDArray[np.int64], NDArray[np.int64]]:
    """(data set, rows to learn from, rows that choose the epoch), with a share set apart where config.val says so."""
    name = config.val
    if name == "auto":
        name = "val" if len(dataset.splits.get("val", ())) else str(_AUTO_SHARE)
    if name == "none":
        train, val = dataset.rows_of(config.train_split), np.zeros(0, np.int64)
    else:
        if name not in dataset.splits and (share := _as_share(name)) is not None:
            dataset = dataset.with_split_off("held-out", share, config.train_split, _SPLIT_SEED)
            name = "held-out"
        train, val = dataset.rows_of(config.train_split), dataset.rows_of(name)
        if not len(val):
            raise TrilabelError(f"validation split {name!r} has no images to choose an epoch by; name another, or none")
    if not len(train):
        raise TrilabelError(f"split {config.train_split!r} has no images to learn from")
    if both := len(np.intersect1d(train, val)):
        raise TrilabelError(
            f"{both} images are both in the training split {config.train_split!r} and in validation split {name!r}; "
            "an epoch must not be chosen on images that were learned from"
        )
    return dataset, train, val


def _as_share(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def check_validation(labels: Labels, select: str) -> None:
    """Says what the validation labels cannot tell; stops where they can tell nothing, or `select` is no metric."""
    if not len(labels):
        return
    sample = metrics.evaluate(np.zeros((2, labels.shape[1])), np.ones((2, labels.shape[1]), np.int8))
    names = [name for name, value in sample.items() if value is None or isinstance(value, float)]
    if select not in names:
        raise TrilabelError(f"no validation metric {select!r} to choose the epoch by; there are: {', '.join(names)}")
    present, _ = labels.counts_per_class()
    if not present.any():
        raise TrilabelError(
            "no validation image is known to have any class, so no epoch can be chosen; "
            "use a validation split with known positives, or --val none"
        )
    without = [name for name, count in zip(labels.classes, present, strict=True) if not count]
    if without:
        log.warning(
            f"no validation image is known to have {truncate_list(without)}; its mAP leaves {len(without)} classes out"
        )
    if not labels.counts_per_class()[1].any():
        log.warning(
            "no validation label is known to be absent: there unknown counts as absent, to choose the epoch by; its "
            "scores say which epoch is better, not how good it is"
        )
    elif labels.known_share < 1:
        log.info(f"validation labels are {labels.known_share:.1%} known; its scores are over the known ones only")


def validation_truth(labels: Labels) -> Labels | NDArray[np.int8]:
    """What validation scores are compared with: the known labels, or, where none is absent, all others as absent.

    Without negatives nothing can be scored wrong, so every epoch would be as good as any other.
    """
    if not len(labels) or labels.counts_per_class()[1].any():
        return labels
    return np.where(labels.to_signed() > 0, 1, -1).astype(np.int8)


def epoch_batches(
    count: int, batch_size: int, seed: list[int], rank: int = 0, world: int = 1
) -> list[NDArray[np.int64]]:
    """The batches of one process in one epoch: every image once in a random order, the last batch perhaps smaller.

    With several processes the last batch is filled up from the start of the order so that all do equally much.
    """
    order = np.random.default_rng(seed).permutation(count)
    together = batch_size * world
    if rest := -count % world:
        order = np.concatenate((order, np.resize(order, rest)))
    return [order[start : start + together][rank::world] for start in range(0, len(order), together)]
