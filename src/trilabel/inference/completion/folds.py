"""Models trained on parts of the images, so that each training image is scored by one that has not learned from it.

For runs whose model has seen its training images (fine-tuned ones). The runs are in the folder `folds` of the run, and
what a killed process has trained is not trained again.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.inference.predictor import load
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.log import log, quiet
from trilabel.training.api import train
from trilabel.training.out_of_fold import fold_of_each
from trilabel.training.plan import describe_seconds
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import TrainingSplit


def cross_score(
    run: Path, dataset: Dataset, folds: int, device: str = "auto", batch_size: int = 64, workers: int | None = None
) -> None:
    """Trains `folds` models, each on all training images but a part, and writes the scores of these parts.

    dataset: has all images that the run learned from and was validated on. Nothing happens where the scores are there.
    """
    folder = RunFolder(run)
    if folder.out_of_fold.is_file():
        return
    learned, config = Labels.load(folder.labels), folder.read().config
    if not 2 <= folds <= len(learned):
        raise TrilabelError(f"--folds {folds}: give a number from 2 to {len(learned)}, the images to learn from")
    rows, val = _rows(run, dataset, learned.ids), _rows(run, dataset, Names(folder.seen_images()[1]))
    own = replace(dataset, labels=_own_labels(dataset, learned, rows), truth=None)
    part = fold_of_each(len(rows), folds)
    logits = np.full(learned.shape, np.nan, np.float32)
    for number in range(folds):
        out = _folder(folder, number + 1)
        log.info(f"part {number + 1} of {folds} ({out.path})")
        split = TrainingSplit(own, rows[part != number], val)
        if not _is_done(out):
            train(split, replace(config, device=device if device != "auto" else config.device), out.path, resume=out.is_described())
            out.best_of_folds.touch()
        with quiet():
            found, scored = load(out.path, device).score_rows(own, rows[part == number], batch_size, workers, config.broken)
        place = np.full(len(dataset), -1)
        place[rows] = np.arange(len(rows))
        logits[place[scored]] = found.numpy()
    with replacing(folder.out_of_fold) as temporary, temporary.open("wb") as file:
        np.save(file, logits)
    shutil.rmtree(folder.folds)  # five models that nobody needs any more
