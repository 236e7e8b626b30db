"""A second round: training again from the start, on what earlier runs believe of the unknown labels.

The first round is a run of its own in the folder round-1 of the run (with cross-fitting one for each part of the
images, fold-1, …). Then its model scores the training images, `targets.npz` is written, and the last round trains in
the run's own folder with the method `taught`. Killed anywhere, what is done is not done again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from lightning_fabric import Fabric

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.training.checks import check_components
from trilabel.training.out_of_fold import fold_of_each
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import TrainingSplit
from trilabel.training.teacher_scores import Part
from trilabel.training.teachers import check_teachers, only_taught
from trilabel.training.teaching import make_targets

TrainFirst = Callable[[TrainingSplit, Config, RunFolder], None]


def has_rounds(config: Config) -> bool:
    """Whether other runs come before the one that is kept."""
    if config.folds > 1 and config.rounds == 1:
        raise TrilabelError(f"--folds {config.folds} is for a first round; pass --rounds 2, or leave it out")
    return config.rounds > 1 or bool(config.teachers)


def first_config(config: Config) -> Config:
    """The configuration of the first round: the same, and nothing before it."""
    return replace(config, rounds=1, teachers=(), folds=1, teacher_views="mirror")


def last_config(config: Config, folder: RunFolder) -> Config:
    """The configuration of the last round, in this folder."""
    return replace(first_config(config), method="taught", settings={"targets": str(folder.targets.absolute())})


def check_rounds(split: TrainingSplit, config: Config, folder: RunFolder) -> None:
    """Refuses what cannot work before anything is trained or overwritten."""
    check_teachers(config.teachers, split.dataset.classes)
    if only_taught(config) and config.method != "posterior":
        raise TrilabelError(
            f"--method {config.method}: with --teachers alone only taught is trained. Pass --method auto; --rounds 2 "
            "for a first round of this method; or --method posterior, with --set to say how often labels are known"
        )
    if config.rounds > 1 or config.settings:  # where nothing is said of rates, being unknown may say nothing
        check_components(first_config(config), split.labels, validation=split.dataset.labels[split.val])
    check_components(last_config(config, folder), split.labels)
    if config.folds > len(split.train):
        raise TrilabelError(f"--folds {config.folds}, but there are {len(split.train)} training images; use fewer")


def teach(fabric: Fabric, split: TrainingSplit, config: Config, folder: RunFolder, train_first: TrainFirst) -> None:
    """Makes the targets of the last round, unless they are there already: first rounds, then their scores."""
    if fabric.broadcast(folder.targets.is_file()):
        return
    others, parts = [Path(run) for run in config.teachers], [Part(split.train, [])]
    if config.rounds > 1:
        parts = []
        for fold, (own, scored) in enumerate(_folds(split, config.folds), 1):
            part = folder.first_round(fold if config.folds > 1 else None)
            of = f", part {fold} of {config.folds}" if config.folds > 1 else ""
            log.info(f"round 1 of {config.rounds}: {config.method}{of} ({part.path})")
            train_first(own, first_config(config), part)
            parts.append(Part(scored, [part.path]))
    make_targets(fabric, split, config, folder, [Part(part.rows, part.runs + others) for part in parts])


def _folds(split: TrainingSplit, count: int) -> list[tuple[TrainingSplit, np.ndarray]]:
    """(what a first run learns from, rows of the images that it scores): with several, none that it learned from."""
    if count == 1:
        return [(split, split.train)]
    of = fold_of_each(len(split.train), count)
    return [(split._replace(train=split.train[of != fold]), split.train[of == fold]) for fold in range(count)]
