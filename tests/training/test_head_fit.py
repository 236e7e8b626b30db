"""A linear stage without a rate of its own is not behind scikit-learn's logistic regression on the same features."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from tests.support import two_processes
from tests.support.runs import copied_at_batches, same, tensors_of
from tests.support.two_processes import Run
from trilabel import metrics
from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.scenes import scenes
from trilabel.labels import Labels, simulate
from trilabel.recipes import RECIPES
from trilabel.recipes.own import POOLING
from trilabel.training.api import train
from trilabel.training.choices import with_normalized_features
from trilabel.training.reach import choose_reach, class_logits
from trilabel.training.run_folder import RunFolder

A_HAIR = 0.01  # of mAP; on photographs it is ahead (see the results page)


@pytest.fixture(scope="module")
def drawn() -> Dataset:
    return scenes(train=400, val=1, test=200, size=32)


@pytest.fixture
def linear(quick: Config) -> Config:
    return replace(quick, stages="linear", val="none")


def first(dataset: Dataset, count: int, hide: str | None = None) -> Dataset:
    """The first images of a data set, with some labels hidden."""
    rows = dataset.rows_of("train")[:count]
    fewer = replace(dataset, splits={"train": rows, "test": dataset.rows_of("test")})
    return fewer if hide is None else fewer.with_labels(simulate.apply_to_rows(fewer.labels, rows, hide, 0))


@torch.no_grad()
def features_and_scores(folder: Path, dataset: Dataset, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Of the saved model, on the images of a split."""
    model = RunFolder(folder).classifier()[0].eval()
    views = Views(model.backbone.mean, model.backbone.std)
    pixels = views.plain(dataset.images_of(dataset.rows_of(split))[0])
    return model.reduce_features(pixels).numpy(), model(pixels).logits.numpy()


def mean_ap(scores: np.ndarray, dataset: Dataset, split: str) -> float:
    return float(np.nanmean(metrics.average_precision(scores, dataset.labels[dataset.rows_of(split)])))


def logistic_regression(features: np.ndarray, labels: np.ndarray, others: np.ndarray, strength: float) -> np.ndarray:
    """Class by class on the known labels."""
    scores = np.zeros((len(others), labels.shape[1]), np.float32)
    for column, signs in enumerate(labels.T):
        if len(np.unique(signs[signs != 0])) == 2:
            fitted = LogisticRegression(C=strength, max_iter=1000).fit(features[signs != 0], signs[signs != 0])
            scores[:, column] = fitted.decision_function(others)
    return scores


@pytest.mark.parametrize("count", [100, 400])
@pytest.mark.parametrize("hide", ["keep-share=0.333", None])
def test_it_is_not_behind_logistic_regression(
    drawn: Dataset, linear: Config, tmp_path: Path, count: int, hide: str | None
) -> None:
    data = first(drawn, count, hide)
    run = train(data, linear, tmp_path / "run")
    features, _ = features_and_scores(run.folder, data, "train")
    others, scores = features_and_scores(run.folder, data, "test")
    known = data.labels[data.rows_of("train")].to_signed()
    best = max(
        mean_ap(logistic_regression(normalize(features), known, normalize(others), strength), data, "test")
        for strength in (10, 100)  # the best of them on the test images, which nobody could choose
    )
    assert mean_ap(scores, data, "test") > best - A_HAIR
    if count == 400:  # what it was: the rate of a recipe for fine-tuning
        plain = train(data, replace(linear, linear_lr=2e-4), tmp_path / "plain")
        assert mean_ap(features_and_scores(plain.folder, data, "test")[1], data, "test") < best - 5 * A_HAIR


METHODS = ["assume-negative", "role", "posterior", "large-loss", "expected-positive", "selective", "ranking", "imcl"]


@pytest.mark.parametrize("method", METHODS)
def test_methods_learn_on_it(drawn: Dataset, linear: Config, tmp_path: Path, method: str) -> None:
    data = first(drawn, 400, "keep-share=0.5")
    settings = {"expected_positives": 2.0} if method in ("role", "expected-positive") else {}
    run = train(data, replace(linear, method=method, settings=settings, epochs=8), tmp_path / "run")
    shares = (data.labels[data.rows_of("test")].to_signed() > 0).mean()
    assert mean_ap(features_and_scores(run.folder, data, "test")[1], data, "test") > shares + 0.12


def test_the_loaded_model_scores_as_the_run_said(drawn: Dataset, linear: Config, tmp_path: Path) -> None:
    run = train(first(drawn, 100), replace(linear, val="test"), tmp_path / "run")
    _, scores = features_and_scores(run.folder, drawn, "test")
    assert mean_ap(scores, drawn, "test") == pytest.approx(run.metrics["mAP"], abs=1e-6)
    assert run.config.head_settings == {"normalize": True}


def test_it_resumes_where_it_was_killed(drawn: Dataset, linear: Config, tmp_path: Path) -> None:
    data, config = first(drawn, 300), replace(linear, save_minutes=0.0)
    copies = {batch: tmp_path / str(batch) for batch in (20, 60)}
    with copied_at_batches(tmp_path / "whole", copies):
        whole = train(data, config, tmp_path / "whole")
    for folder in copies.values():
        train(data, config, folder, resume=True)
        assert same(tensors_of(folder), tensors_of(whole.folder))


@pytest.mark.parametrize("pooling", [{}, POOLING])
def test_fine_tuning_goes_on_from_the_fit(
    drawn: Dataset, linear: Config, tmp_path: Path, pooling: dict[str, float]
) -> None:
    linear = replace(linear, head_settings=pooling)
    config = replace(linear, stages="linear-then-fine-tune", linear_epochs=1, epochs=1, lr=1e-12)
    data = first(drawn, 100)
    tuned, fitted = train(data, config, tmp_path / "both"), train(data, replace(linear, epochs=1), tmp_path / "one")
    weights = [tensors_of(run.folder)["model.head.linear.weight"] for run in (tuned, fitted)]
    torch.testing.assert_close(*weights, atol=1e-6, rtol=0)


def test_two_processes_fit_as_one(in_two: Run, drawn: Dataset, linear: Config, tmp_path: Path) -> None:
    data = first(drawn, 101)
    one = train(data, linear, tmp_path / "one")
    two = two_processes.trained(in_two, data, replace(one.config, devices=2), tmp_path / "two")
    weights = [tensors_of(run.folder)["model.head.linear.weight"] for run in (one, two)]
    torch.testing.assert_close(*weights, atol=1e-3, rtol=1e-3)  # a batch of 101 in one process, of 51 and 50 in two


# ---- who gets it


def test_a_head_that_is_kept_normalizes_as_it_did(drawn: Dataset, linear: Config, tmp_path: Path) -> None:
    data = first(drawn, 40)
    fitted = train(data, replace(linear, head_settings=POOLING), tmp_path / "fitted")
    changes = {"weights": str(fitted.folder), "keep_head": True, "stages": "fine-tune", "lr": 1e-12, "epochs": 1}
    kept = train(data, replace(linear, **changes), tmp_path / "kept")
    assert kept.config.head_settings == fitted.config.head_settings
    names = [f"model.head.{name}" for name in ("linear.weight", "center", "scale")]
    for name in names:
        torch.testing.assert_close(tensors_of(kept.folder)[name], tensors_of(fitted.folder)[name], atol=1e-6, rtol=0)


def test_a_rate_that_is_given_is_taken(drawn: Dataset, linear: Config, tmp_path: Path) -> None:
    run = train(first(drawn, 40), replace(linear, linear_lr=0.01), tmp_path / "run")
    assert [record.lr for record in run.history] == [0.01, 0.01] and not run.config.head_settings
    off = replace(linear, head_settings={"normalize": False}, lr=0.02)
    assert [record.lr for record in train(first(drawn, 40), off, tmp_path / "off").history] == [0.02, 0.02]


def test_recipes_of_papers_stay_as_printed() -> None:
    papers = {name: recipe() for name, recipe in RECIPES.items() if "20" in name}
    assert sum(config.stages != "fine-tune" for config in papers.values()) > 15
    for name, config in papers.items():
        assert with_normalized_features(config, None) == config, name


# ---- how far the weights move


def test_a_bias_starts_at_the_share_of_known_positives() -> None:
    labels = Labels.from_signed([[1, 0], [-1, 0], [-1, 1], [0, 0]])
    torch.testing.assert_close(class_logits(labels), torch.tensor([np.log(1.5 / 2.5), np.log(1.5 / 0.5)]).float())


def test_known_labels_say_how_far_weights_should_move() -> None:
    draw = np.random.default_rng(0)
    # What tells the classes apart is a hundredth of what there is to see: weights must move far.
    spread = np.where(np.arange(40) < 20, 1.4, 0.02)
    features = (draw.standard_normal((600, 40)) * spread).astype(np.float32)
    hidden = features @ (draw.standard_normal((40, 12)) * (spread < 1)[:, None])
    labels = np.where(hidden > np.quantile(hidden, 0.7, axis=0), 1, -1).astype(np.int8)
    assert choose_reach(torch.from_numpy(features), labels) > 1
    # The largest part of what there is to see tells the classes apart, and labels are noisy: the less they move.
    features = (draw.standard_normal((900, 200)) * np.where(np.arange(200) < 12, 3, 0.67)).astype(np.float32)
    signal = features[:, :12] / 3 + 1.5 * draw.standard_normal((900, 12))
    assert choose_reach(torch.from_numpy(features), np.where(signal > 1, 1, -1).astype(np.int8)) < 1
    # Too little to see anything.
    assert choose_reach(torch.from_numpy(features), np.where(signal > 99, 1, -1).astype(np.int8)) == 1
    assert choose_reach(torch.from_numpy(features[:8]), np.ones((8, 12), np.int8)) == 1


def test_labels_of_an_epoch_of_several_passes_are_counted_once(small_scenes, linear, tmp_path):
    run = train(small_scenes, linear, tmp_path / "run")
    labels = Labels.load(run.folder / "labels.npz")
    positives, negatives = (int(counts.sum()) for counts in labels.counts_per_class())
    for record in run.history:
        counted = {kind: sum(counts) for kind, counts in record.probabilities.items()}
        unknown = labels.shape[0] * labels.shape[1] - positives - negatives
        assert counted == counted | {
            "known_positives": positives, "known_negatives": negatives, "unknown": unknown
        }  # fmt: skip
