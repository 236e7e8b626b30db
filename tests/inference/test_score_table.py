"""The scores that labels are completed and reviewed by: of whom, by whom, and what a killed process leaves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trilabel as tl
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.scenes import scenes
from trilabel.errors import TrilabelError
from trilabel.inference import score_table as module
from trilabel.inference.score_table import score_table
from trilabel.training.api import train
from trilabel.training.run_folder import RunFolder


@pytest.fixture(scope="module")
def drawn() -> Dataset:
    dataset = scenes(train=60, val=0, test=30, size=32)
    return replace(dataset, splits={"train": np.arange(60), "test": np.arange(60, 90)})


@pytest.fixture(scope="module")
def run(drawn: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = Config(stages="linear", val="folds", epochs=1, workers=0)
    return train(drawn, config, tmp_path_factory.mktemp("scored") / "run").folder


@pytest.fixture(autouse=True)
def not_scored_before(run: Path) -> None:
    RunFolder(run).scores_done.unlink(missing_ok=True)


def test_training_images_are_scored_by_heads_that_have_not_seen_them(drawn: Dataset, run: Path) -> None:
    found = score_table(run, drawn)
    assert found.held_out.all() and list(found.ids) == list(drawn.ids)
    np.testing.assert_array_equal(found.logits[:60], np.load(RunFolder(run).out_of_fold))
    expected, _ = tl.load(run).score_rows(drawn, np.arange(60, 90))
    np.testing.assert_allclose(found.logits[60:], expected.numpy(), rtol=1e-5, atol=1e-5)


def test_without_such_scores_it_says_whom_the_model_has_seen(drawn: Dataset, tmp_path: Path) -> None:
    run = train(drawn, Config(stages="linear", val="none", epochs=1, workers=0), tmp_path / "run").folder
    found = score_table(run, drawn)
    assert found.held_out.tolist() == [False] * 60 + [True] * 30
    assert not np.isnan(found.logits).any()


def test_the_order_is_that_of_the_data_and_other_data_is_scored_anew(drawn: Dataset, run: Path) -> None:
    whole = np.array(score_table(run, drawn).logits)
    rows = np.random.default_rng(0).permutation(90)[:50]
    np.testing.assert_allclose(score_table(run, drawn.take(rows)).logits, whole[rows], rtol=1e-4, atol=1e-5)


def test_what_a_killed_process_has_scored_is_not_scored_again(
    drawn: Dataset, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = np.array(score_table(run, drawn).logits)
    RunFolder(run).scores_done.unlink()
    monkeypatch.setattr(module, "_AT_ONCE", 8)
    scored: list[int] = []
    real = tl.Model.score_rows

    def dying(self: tl.Model, dataset: Dataset, rows: np.ndarray, *options: object) -> object:
        scored.extend(rows.tolist())
        if len(scored) == 24:
            raise KeyboardInterrupt
        return real(self, dataset, rows, *options)

    monkeypatch.setattr(tl.Model, "score_rows", dying)
    with pytest.raises(KeyboardInterrupt):
        score_table(run, drawn)
    assert scored == list(range(60, 84))
    scored.clear()
    scored.append(-1)
    np.testing.assert_array_equal(score_table(run, drawn).logits, whole)
    assert scored == [-1, *range(76, 90)]
    score_table(run, drawn)
    assert scored == [-1, *range(76, 90)]


def test_other_classes_and_damaged_files_are_refused(drawn: Dataset, run: Path) -> None:
    fewer = replace(drawn, labels=drawn.labels[:, :3])
    with pytest.raises(TrilabelError, match="other classes"):
        score_table(run, fewer)
    score_table(run, drawn)
    RunFolder(run).scores.write_bytes(b"\x93NUMPY")
    with pytest.raises(TrilabelError, match=r"scores\.npy: damaged"):
        score_table(run, drawn)
