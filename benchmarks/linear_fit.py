"""The linear stage as it comes, beside scikit-learn's logistic regression on the same features of photographs.

    python benchmarks/linear_fit.py VOCdevkit/VOC2012 voc224.npy 100 400 1600

Training images of VOC 2012 at random, a third of their labels known, all, or one positive each; all validation images
as test, and the mean over 200 of them (what a user would have) in brackets. Logistic regression is fitted class by
class on the known labels of L2-normalized features (unknown = absent where only positives are known), for several C;
which is best is read off the test images, so nobody could have chosen it. FEATURES as `fixed_features.py` makes them.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

import trilabel as tl
from fixed_features import train_on_features
from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.log import quiet
from trilabel.recipes import fine_tune
from trilabel.training.run_folder import RunFolder

SEEDS, STRENGTHS = (0, 1), (10, 100)
METHODS = {
    "third": ["known-only"],
    "all": ["known-only"],
    "one": ["assume-negative", "role", "posterior", "large-loss"],
}
SETTINGS = {"posterior": {"rates": "one-of-k"}}


def drawn(dataset: Dataset, count: int, known: str, seed: int) -> Dataset:
    """So many training images with hidden labels; the test images as they are."""
    train = np.random.default_rng(seed).choice(dataset.rows_of("train"), count, replace=False)
    hide = {"third": "keep-share=0.333", "one": "single-positive", "all": None}[known]
    labels = dataset.labels if hide is None else tl.simulate.apply_to_rows(dataset.labels, train, hide, seed)
    return replace(dataset, splits={"train": train, "test": dataset.rows_of("val")}, labels=labels)


def ours(dataset: Dataset, method: str) -> tuple[NDArray[np.float32], float]:
    """Scores of the test images, and the seconds of processor time that training took."""
    config: Config = replace(fine_tune(), stages="linear", val="none", device="cpu", precision="32")
    config = replace(config, method=method, settings=SETTINGS.get(method, {}))
    with tempfile.TemporaryDirectory() as folder, quiet(), torch.inference_mode(False):
        begun = time.process_time()
        run = tl.train(dataset, config, Path(folder) / "run")
        seconds = time.process_time() - begun
        head = RunFolder(run.folder).classifier()[0].head.eval()
    with torch.inference_mode():
        return head(dataset.images_of(dataset.rows_of("test"))[0]).numpy(), seconds


def sklearns(dataset: Dataset, strength: float) -> tuple[NDArray[np.float32], float]:
    """The same of logistic regression."""
    features, others = (normalize(dataset.images_of(dataset.rows_of(split))[0].numpy()) for split in ("train", "test"))
    labels = dataset.labels[dataset.rows_of("train")].to_signed()
    labels = labels if (labels < 0).any() else np.where(labels > 0, 1, -1)
    scores, begun = np.zeros((len(others), labels.shape[1]), np.float32), time.process_time()
    for column, signs in enumerate(labels.T):
        if len(np.unique(signs[signs != 0])) == 2:
            fitted = LogisticRegression(C=strength, max_iter=1000).fit(features[signs != 0], signs[signs != 0])
            scores[:, column] = fitted.decision_function(others)
    return scores, time.process_time() - begun


def main(data: str, features: str, *counts: str) -> None:
    """Prints a row for each number of images, label setting and fit."""
    torch.set_num_threads(2)
    dataset = tl.data.read(data, difficult="absent")
    dataset = replace(dataset, images=torch.from_numpy(np.load(features).astype(np.float32)))
    train_on_features(dataset.images.shape[1])  # type: ignore[union-attr]
    truth = dataset.labels[dataset.rows_of("val")].to_signed()
    some = np.random.default_rng(9).permutation(len(truth))[: len(truth) // 200 * 200].reshape(-1, 200)
    for count in map(int, counts or ("400",)):
        for known, methods in METHODS.items():
            fits = [(f"logistic regression, C={c}", sklearns, c) for c in STRENGTHS] + [(m, ours, m) for m in methods]
            for name, fit, given in fits:
                found = [fit(drawn(dataset, count, known, seed), given) for seed in SEEDS]  # type: ignore[operator]
                maps = [100 * np.nanmean(metrics.average_precision(scores, truth)) for scores, _ in found]
                few = [100 * np.nanmean(metrics.average_precision(found[0][0][r], truth[r])) for r in some]
                seconds = np.mean([each for _, each in found])
                print(
                    f"{count:5} {known:6} {name:28} {np.mean(maps):5.1f} ± {np.std(maps):3.1f} ({np.mean(few):.1f})  "
                    f"{seconds:5.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
