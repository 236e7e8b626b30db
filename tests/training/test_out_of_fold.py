"""Without validation images, heads fitted to parts of the images say how good a run is and where to decide."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import trilabel as tl
from tests.support.runs import killed_at_batch
from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.scenes import scenes
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.training.api import train
from trilabel.training.out_of_fold import fold_of_each, load_out_of_fold
from trilabel.training.run_folder import Run, RunFolder


@pytest.fixture(scope="module")
def drawn() -> Dataset:
    dataset = scenes(train=150, val=1, test=300, size=32)
    return dataset.take(np.concatenate((dataset.rows_of("train"), dataset.rows_of("test"))))


@pytest.fixture
def folds(quick: Config) -> Config:
    return replace(quick, stages="linear", val="folds", epochs=2)


@pytest.fixture(scope="module")
def run(drawn: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    config = Config(stages="linear", val="folds", epochs=2, seed=1, workers=0)
    return train(drawn, config, tmp_path_factory.mktemp("folds") / "run")


def test_nothing_is_held_out_and_the_score_is_that_of_new_images(drawn: Dataset, run: Run) -> None:
    labels = Labels.load(RunFolder(run.folder).labels)
    assert list(labels.ids) == [drawn.ids[row] for row in drawn.rows_of("train")]
    found = tl.load(run).evaluate(drawn, "test")
    assert run.metrics["mAP"] == pytest.approx(found["mAP"], abs=0.08)
    learned_from = tl.load(run).evaluate(drawn, "train")
    assert run.metrics["mAP"] < learned_from["mAP"] - 0.1


def test_no_head_scores_what_it_learned_from(folds: Config, drawn: Dataset, tmp_path: Path) -> None:
    """Labels that nothing explains are learned by heart, and only there."""
    chance = np.where(np.random.default_rng(0).random(drawn.labels.shape) < 0.3, 1, -1)
    random = drawn.with_labels(Labels.from_signed(chance, drawn.labels.classes, drawn.labels.ids))
    run = train(random, folds, tmp_path / "run")
    truth = random.labels[random.rows_of("train")]
    scores = load_out_of_fold(RunFolder(run.folder), truth)
    assert np.nanmean(metrics.average_precision(scores, truth)) < 0.4
    assert tl.load(run).evaluate(random, "train")["mAP"] > 0.6


def test_decisions_rest_on_these_scores(run: Run) -> None:
    model = tl.load(run)
    assert model.decisions is not None
    assert "each scored by a head fitted without it" in model.decisions.basis
    assert run.best.val == RunFolder(run.folder).run().best.val != {}


def test_killed_before_the_end_it_resumes_to_the_same(drawn: Dataset, folds: Config, tmp_path: Path) -> None:
    whole = train(drawn, folds, tmp_path / "whole")
    with killed_at_batch(70):
        train(drawn, folds, tmp_path / "run")
    again = train(drawn, folds, tmp_path / "run", resume=True)
    for file in ("out_of_fold.npy", "decisions.json"):
        assert (again.folder / file).read_bytes() == (whole.folder / file).read_bytes()


@pytest.mark.parametrize("changes", [{"stages": "fine-tune"}, {"relabel": "score"}])
def test_what_takes_long_to_fit_again_is_refused(
    drawn: Dataset, folds: Config, tmp_path: Path, changes: dict[str, object]
) -> None:
    with pytest.raises(TrilabelError, match="--val folds fits a head"):
        train(drawn, folds, tmp_path / "run", **changes)


def test_a_damaged_file_is_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    labels = Labels.load(RunFolder(run.folder).labels)
    folder.out_of_fold.write_bytes(RunFolder(run.folder).out_of_fold.read_bytes()[:-9])
    with pytest.raises(TrilabelError, match=r"out_of_fold\.npy: damaged"):
        load_out_of_fold(folder, labels)


def test_folds_are_equally_large() -> None:
    assert sorted(np.bincount(fold_of_each(23, 5))) == [4, 4, 5, 5, 5]


def test_one_image_has_no_parts(drawn: Dataset, folds: Config, tmp_path: Path) -> None:
    """Refused before a run is replaced; also where the others turn out to be missing."""
    row = drawn.rows_of("train")[(drawn.labels[drawn.rows_of("train")].to_signed() > 0).any(1)][:1]
    with pytest.raises(TrilabelError, match=r"--val folds .* 1 image has none; give more images, or pass --val none"):
        train(replace(drawn, splits={"train": row}), folds, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert drawn.images is not None
    there = tmp_path / "there.png"
    Image.fromarray(drawn.images[row[0]].permute(1, 2, 0).numpy()).save(there)
    two = drawn.take(np.append(row, row + 1))
    two = replace(two, images=None, paths=[str(there), str(tmp_path / "missing.png")], splits={"train": np.arange(2)})
    with pytest.raises(TrilabelError, match="1 image has none"):
        train(two, replace(folds, broken="skip"), tmp_path / "run")
