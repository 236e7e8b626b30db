"""A run keeps the scores of its validation images: those of its best epoch, with their labels."""

from pathlib import Path

import numpy as np
import pytest

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.training import validation_scores
from trilabel.training.api import train
from trilabel.training.run_folder import RunFolder
from trilabel.training.validation_scores import load_validation_scores


def test_they_are_those_of_the_best_epoch(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, quick, tmp_path / "run")
    folder = RunFolder(run.folder)
    found = load_validation_scores(folder)
    assert found is not None
    logits, labels = found
    assert labels == small_scenes.labels[small_scenes.rows_of("val")]
    assert metrics.evaluate(np.array(logits), labels, threshold=0.0) == run.best.val
    np.save(folder.validation_scores, np.zeros((2, 2), np.float32))
    with pytest.raises(TrilabelError, match=r"validation_scores.npy: damaged .*restore it, or train again"):
        load_validation_scores(folder)
    folder.validation_labels.unlink()
    assert load_validation_scores(folder) is None


def test_too_many_are_not_kept(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation_scores, "_MOST_KEPT", 100)
    folder = RunFolder(train(small_scenes, quick, tmp_path / "run").folder)
    assert load_validation_scores(folder) is None and folder.decisions.is_file()
