"""TriLabelClassifier beside scikit-learn's one-vs-rest logistic regression: processor time of a fit, and test mAP.

    python benchmarks/bench_estimator.py            # 5,000 × 200 features, 200 classes: a minute
    python benchmarks/bench_estimator.py --full     # 20,000 × 500 features, 1,000 classes: some ten minutes

Every label is known. The features have as many directions as they have columns, some much stronger than others; a class
is what lies beyond a threshold in a direction of its own, with noise, in 0.5 to 10 % of the samples. Logistic
regression (as it comes, on standardized features) is fitted to 40 of the classes, and its time multiplied; both mAPs
are over these. One thread each, so that a busy machine changes the ratio little. "fitted": with thresholds, the
default; "0.5": without. Exit 1 when the default is less than 10 times as fast, or its mAP lower.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from trilabel import metrics
from trilabel.estimator import TriLabelClassifier

SMALL, FULL = (5_000, 200, 200), (20_000, 500, 1_000)
TEST, PEER_CLASSES, AT_LEAST = 4_000, 40, 10.0
Arrays = tuple[NDArray[np.float32], NDArray[np.int8]]


def made(samples: int, features: int, classes: int, seed: int = 0) -> Arrays:
    """(X, Y in 0 and 1)."""
    draw = np.random.default_rng(seed)
    strengths = np.linspace(2.0, 0.2, features)
    X = draw.normal(size=(samples, features)) * strengths @ np.linalg.qr(draw.normal(size=(features, features)))[0]
    seen = X @ draw.normal(size=(features, classes))
    seen = seen / seen.std(0) + 0.5 * draw.normal(size=seen.shape)
    shares = np.exp(draw.uniform(np.log(0.005), np.log(0.1), classes))
    return X.astype(np.float32), np.stack([c > np.quantile(c, 1 - s) for c, s in zip(seen.T, shares, strict=True)], 1)


def timed(fit: Callable[[], NDArray[np.float64]]) -> tuple[NDArray[np.float64], float]:
    """(scores of the test samples, seconds of processor time)."""
    begun = time.process_time()
    scores = fit()
    return scores, time.process_time() - begun


def main() -> int:
    """Prints a row for each, and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    samples, features, classes = FULL if parser.parse_args().full else SMALL
    torch.set_num_threads(1)
    X, Y = made(samples + TEST, features, classes)
    X, others, truth, Y = X[:samples], X[samples:], Y[samples:], Y[:samples]
    chosen = np.sort(np.random.default_rng(1).permutation(classes)[:PEER_CLASSES])
    print(
        f"{samples:,} × {features:,} features, {classes:,} classes, all labels known; mAP % over {len(chosen)} classes"
    )

    def peer() -> NDArray[np.float64]:
        models = [make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y[:, column]) for column in chosen]
        return np.stack([model.decision_function(others) for model in models], 1)

    def ours(thresholds: str | float) -> NDArray[np.float64]:
        model = TriLabelClassifier(thresholds=thresholds, device="cpu", random_state=0)
        return model.fit(X, Y).decision_function(others)[:, chosen]

    def precision(scores: NDArray[np.float64]) -> float:
        return 100 * float(np.mean(metrics.average_precision(scores, np.where(truth[:, chosen], 1, -1))))

    with threadpool_limits(1):
        scores, seconds = timed(peer)
    slow, reference = seconds * classes / len(chosen), precision(scores)
    print(f"{'logistic regression':28} {slow:8.1f} s  mAP {reference:5.2f}  ({len(chosen)} classes, multiplied)")
    for thresholds in (0.5, "fitted"):
        with threadpool_limits(1):
            scores, seconds = timed(lambda given=thresholds: ours(given))  # type: ignore[misc]
        ratio, found = slow / seconds, precision(scores)
        name = f"TriLabelClassifier, {thresholds}"
        print(f"{name:28} {seconds:8.1f} s  mAP {found:5.2f}  {ratio:.1f} times as fast", flush=True)
    return int(ratio < AT_LEAST or found < reference)


if __name__ == "__main__":
    sys.exit(main())
