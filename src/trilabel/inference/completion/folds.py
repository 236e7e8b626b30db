"""Models trained on parts of the images, so that each training image is scored by one that has not learned from it.

For runs whose model has seen its training images (fine-tuned ones). They train in the folder `folds` of the run; what a
killed process has done is not done again.
"""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.inference.loading import load
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.log import log, quiet
from trilabel.training.api import train
from trilabel.training.out_of_fold import fold_of_each
from trilabel.training.run_folder import RunFolder
from trilabel.training.run_lock import lock_run
from trilabel.training.splits import TrainingSplit


def cross_score(run: Path, dataset: Dataset, folds: int, device: str = "auto", workers: int | None = None) -> None:
    """Trains `folds` models, each on all training images but a part, and writes the scores of these parts.

    dataset: has all images that the run learned from and was validated on. Nothing happens where the scores are there.
    """
    folder = RunFolder(run)
    if folder.out_of_fold.is_file():
        return log.info(f"{run}: its training images have scores of models that did not learn from them; no folds")
    learned = Labels.load(folder.labels)
    if not 2 <= folds <= len(learned):
        raise TrilabelError(f"--folds {folds}: give a number from 2 to {len(learned)}, the images to learn from")
    with lock_run(run):
        logits = _cross_scores(folder, dataset, learned, folds, device, workers)
        with replacing(folder.out_of_fold) as temporary, temporary.open("wb") as file:
            np.save(file, logits)
    shutil.rmtree(folder.folds)
    return None


def _cross_scores(
    folder: RunFolder, dataset: Dataset, learned: Labels, folds: int, device: str, workers: int | None
) -> NDArray[np.float32]:
    """N×C, by the labels that the run learned from; NaN for images that cannot be read."""
    config = _as_before(folder.read().config, device, workers)
    rows, val = _rows(folder, dataset, learned.ids), _rows(folder, dataset, Names(folder.seen_images()[1]))
    split = TrainingSplit(_with_learned(dataset, learned, rows), rows, val)
    part = fold_of_each(len(rows), folds)
    logits = np.full(learned.shape, np.nan, np.float32)
    for number in range(folds):
        left_out = np.flatnonzero(part == number)
        out, done = folder.fold(number + 1, folds), folder.fold_scores(number + 1, folds)
        if not done.is_file():
            log.info(f"part {number + 1} of {folds} ({out.path})")
            train(split._replace(train=rows[part != number]), config, out.path, resume=out.is_described())
            with quiet():
                found, good = load(out.path, device).score_rows(
                    split.dataset, rows[left_out], config.batch_size, workers, config.broken
                )
            own = np.full((len(left_out), learned.shape[1]), np.nan, np.float32)
            own[np.isin(rows[left_out], good)] = found.numpy()
            with replacing(done) as temporary, temporary.open("wb") as file:
                np.save(file, own)
        if out.path.is_dir():
            shutil.rmtree(out.path)  # its scores are all that is needed of it
        logits[left_out] = np.load(done, allow_pickle=False)
    return logits


def _as_before(config: Config, device: str, workers: int | None) -> Config:
    """The settings of the run; where it computes may differ."""
    config = config if device == "auto" else replace(config, device=device)
    return config if workers is None else replace(config, workers=workers)


def _rows(folder: RunFolder, dataset: Dataset, ids: Names) -> NDArray[np.int64]:
    """Where these images are in the data set."""
    rows = dataset.labels.ids.positions(ids)
    for place in np.flatnonzero(rows < 0)[:1]:
        raise TrilabelError(
            f"{folder.path}: --folds trains on what the run learned from, and the data has no image {ids[int(place)]!r}"
        )
    return rows


def _with_learned(dataset: Dataset, learned: Labels, rows: NDArray[np.int64]) -> Dataset:
    """The data set with the labels that the run learned from (some may have been hidden), and others as they are."""
    keep = np.ones(len(dataset), bool)
    keep[rows] = False
    known = dataset.labels.csr.tocoo()
    others = keep[known.coords[0]]
    added = learned.csr.tocoo()
    labels = Labels.from_entries(
        np.concatenate((known.coords[0][others], rows[added.coords[0]])),
        np.concatenate((known.coords[1][others], added.coords[1])),
        np.concatenate((known.data[others], added.data)),
        dataset.labels.classes,
        dataset.labels.ids,
    )
    return replace(dataset, labels=labels, truth=None)
