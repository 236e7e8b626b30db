"""A new head starts where the method wants it: once, after a warm-up, and not where a head is kept."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.runs import tensors_of
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.labels import simulate
from trilabel.methods import create_method
from trilabel.training.api import train

BIAS = "model.head.linear.bias"


@pytest.fixture(scope="module")
def tags(small_scenes: Dataset) -> Dataset:
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "tags=0.4", 0))


@pytest.fixture(scope="module")
def some_known(small_scenes: Dataset) -> Dataset:
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "keep-share=0.5", 0))


@pytest.fixture
def still(quick: Config) -> Config:
    """Training that changes next to nothing."""
    return replace(quick, method="posterior", lr=1e-12, epochs=1)


def test_the_head_starts_at_the_shares_of_the_classes(
    tags: Dataset, still: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = train(tags, still, tmp_path / "run")  # rates by the full labels of validation images
    method = create_method("posterior", {}, tags.labels[tags.rows_of("train")], 0, tags.labels[tags.rows_of("val")])
    expected = method.initial_logits()
    assert expected is not None
    torch.testing.assert_close(tensors_of(run.folder)[BIAS], expected, atol=1e-6, rtol=0)
    assert "rates by class shares of 48 fully labelled images" in caplog.text
    # Of two stages the first one only: the second goes on from there.
    both = replace(still, stages="linear-then-fine-tune", linear_epochs=1, linear_lr=1e-2)
    moved = tensors_of(train(tags, both, tmp_path / "both").folder)[BIAS] - expected
    assert 1e-4 < moved.abs().max() < 1
    # Resumed at the end it stays as it was.
    resumed = train(tags, replace(both, epochs=2), tmp_path / "both", resume=True)
    torch.testing.assert_close(tensors_of(resumed.folder)[BIAS] - expected, moved, atol=1e-6, rtol=0)


def test_a_head_that_is_kept_stays(tags: Dataset, still: Config, tmp_path: Path) -> None:
    other = train(tags, replace(still, method="assume-negative"), tmp_path / "other")
    kept = train(tags, replace(still, weights=str(other.folder), keep_head=True), tmp_path / "kept")
    torch.testing.assert_close(tensors_of(kept.folder)[BIAS], tensors_of(other.folder, "best")[BIAS], atol=1e-6, rtol=0)


def test_after_a_fit_it_starts_at_what_was_fitted(some_known: Dataset, still: Config, tmp_path: Path) -> None:
    settings = {"rates": "fit", "fit_epochs": 2}
    run = train(some_known, replace(still, lr=3e-3, settings=settings, val="none"), tmp_path / "run")
    assert [record.stage for record in run.history] == ["warm-up", "warm-up", "fine-tune"]
    rates = tensors_of(run.folder)["method.rates"]
    assert ((rates.mean(1) > 0.3) & (rates.mean(1) < 0.8)).all()  # half of all labels are known
    labels = some_known.labels[some_known.rows_of("train")]
    present, _ = labels.counts_per_class()
    shares = torch.from_numpy(present / (len(labels) * rates[0].double().numpy()))
    shares = shares.clamp(0.5 / len(labels), 1 - 0.5 / len(labels))
    started, before = tensors_of(run.folder)[BIAS], tensors_of(run.folder, "start")[BIAS]
    assert np.abs(started - shares.logit()).max() < 0.1  # six steps of training later
    assert np.abs(before - shares.logit()).max() > 0.5
