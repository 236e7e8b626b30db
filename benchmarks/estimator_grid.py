"""Test mAP of TriLabelClassifier with each method, beside scikit-learn, on feature vectors with most labels hidden.

    python benchmarks/estimator_grid.py --features shared/features --voc f320.npz --out estimator.json

Sets: scene and yeast (files with X_train, Y_train, X_test, Y_test), VOC 2012 (--voc: a file with features `plain`,
labels `Y` and `ntrain`), and words drawn by scikit-learn's make_multilabel_classification. Labels of the training
samples are hidden, by each of five seeds: 10 % are known, or one positive per sample and nothing else. Peers are
one-vs-rest logistic regressions on standardized features, with scikit-learn's C = 1 and with the best C of four by
cross-validation on what is known:

known      on the known labels of each class
absent     unknown taken for absent
elkan-noto unknown as unlabelled, weighted by how likely each is an unnamed positive (Elkan and Noto 2008, section 3)
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.estimator import TriLabelClassifier
from trilabel.labels import Labels, simulate
from trilabel.log import log

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]
CHOICES = (0.001, 0.01, 0.1, 1.0)
FOLDS = 4
PEERS = ("known", "known cv", "absent", "absent cv", "elkan-noto", "elkan-noto cv")
LINEAR = "auto, linear"
METHODS = (
    *("auto", LINEAR, "known-only", "assume-negative", "posterior", "expected-positive", "role", "large-loss", "focal"),
    *("asymmetric", "hill", "splc", "selective", "ranking", "imcl", "self-training", "latent-noise"),
)
SETTINGS: dict[str, Callable[[Labels, int], Labels]] = {
    "10 %": lambda labels, seed: simulate.keep_share(labels, 0.1, seed=seed),
    "one positive": lambda labels, seed: simulate.single_positive(labels, seed=seed),
}


class Data(NamedTuple):
    """Features and full labels, +1 and −1."""

    X: Floats
    Y: Signs
    others: Floats  # of the test samples
    truth: Signs


def data_sets(features: Path | None, voc: Path | None) -> Iterator[tuple[str, Data]]:
    """Those whose files are given, and the one that is drawn."""
    for name in ("scene", "yeast") if features else ():
        with np.load(features / f"{name}.npz", allow_pickle=False) as found:
            parts = found["X_train"], found["Y_train"], found["X_test"], found["Y_test"]
            yield name, Data(parts[0], signs(parts[1]), parts[2], signs(parts[3]))
    if voc:
        with np.load(voc, allow_pickle=False) as found:
            X, Y, train = found["plain"].astype(np.float32), signs(found["Y"]), int(found["ntrain"])
        yield "voc2012", Data(X[:train], Y[:train], X[train:], Y[train:])
    X, Y = make_multilabel_classification(4_000, 300, n_classes=20, n_labels=3, length=60, random_state=0)
    yield "words", Data(X[:2_000], signs(Y[:2_000]), X[2_000:], signs(Y[2_000:]))


def signs(values: NDArray[np.integer]) -> Signs:
    """+1 where present, else −1."""
    return np.where(values > 0, 1, -1).astype(np.int8)


def peers(data: Data, known: Signs) -> Iterator[tuple[str, Floats]]:
    """(name, scores of the test samples); scores are 0 for a class of which only one value is known."""
    scaler = StandardScaler().fit(data.X)
    X, others = scaler.transform(data.X), scaler.transform(data.others)
    for name, fit in {"known": known_only, "absent": unknown_as_absent, "elkan-noto": elkan_noto}.items():
        for suffix, choices in (("", (1.0,)), (" cv", CHOICES)):
            yield name + suffix, np.stack([fit(X, column, others, choices) for column in known.T], 1)


def known_only(X: Floats, column: Signs, others: Floats, choices: tuple[float, ...]) -> Floats:
    """Logits by the known labels of a class."""
    return logits(X[column != 0], column[column != 0], others, choices)


def unknown_as_absent(X: Floats, column: Signs, others: Floats, choices: tuple[float, ...]) -> Floats:
    """Logits with unknown as absent."""
    return logits(X, np.where(column > 0, 1, -1), others, choices)


def logits(X: Floats, signed: Signs, others: Floats, choices: tuple[float, ...]) -> Floats:
    """Logits of others."""
    if len(np.unique(signed)) < 2:
        return np.zeros(len(others))
    return regression(best(X, signed, choices)).fit(X, signed).decision_function(others)


def elkan_noto(X: Floats, column: Signs, others: Floats, choices: tuple[float, ...]) -> Floats:
    """Logits with each unknown sample once as present, by its weight, and once as absent, by the rest."""
    named = np.where(column > 0, 1, -1)
    if (column > 0).sum() < FOLDS:
        return logits(X, named, others, choices)
    C = best(X, named, choices)
    guesses = cross_val_predict(regression(C), X, named, cv=folds(), method="predict_proba")[:, 1].clip(1e-6, 1 - 1e-6)
    rate = guesses[column > 0].mean()  # of positives that are named
    unknown, weights = column == 0, np.minimum(1.0, (1 - rate) / rate * guesses / (1 - guesses))
    inputs = np.vstack((X[~unknown], X[unknown], X[unknown]))
    targets = np.concatenate((column[~unknown], np.ones(unknown.sum()), -np.ones(unknown.sum())))
    shares = np.concatenate((np.ones((~unknown).sum()), weights[unknown], 1 - weights[unknown]))
    return regression(C).fit(inputs, targets, sample_weight=shares).decision_function(others)


def best(X: Floats, signed: Signs, choices: tuple[float, ...]) -> float:
    """The C with the highest AP of samples left out; 1 where there are too few."""
    if len(choices) == 1 or min((signed > 0).sum(), (signed < 0).sum()) < FOLDS:
        return 1.0
    found = [cross_val_predict(regression(C), X, signed, cv=folds(), method="decision_function") for C in choices]
    return choices[int(np.argmax(metrics.average_precision(np.stack(found, 1), np.stack([signed] * len(found), 1))))]


def regression(C: float) -> LogisticRegression:
    """As it comes."""
    return LogisticRegression(C=C, max_iter=200, tol=1e-3)


def folds() -> StratifiedKFold:
    """The same for all."""
    return StratifiedKFold(FOLDS, shuffle=True, random_state=0)


def precision(scores: Floats, truth: Signs) -> float:
    """Test mAP %."""
    return 100 * float(np.nanmean(metrics.average_precision(scores, truth)))


def ours(data: Data, known: Labels, methods: list[str], seed: int) -> Iterator[tuple[str, Floats | None]]:
    """(method, scores of the test samples), None where it cannot learn from such labels."""
    options: dict[str, Any] = {"thresholds": 0.5, "device": "cpu", "random_state": seed}
    chosen = TriLabelClassifier(**options).fit(data.X, known)
    shape = {"hidden": chosen.hidden_, "reach": chosen.reach_}  # which is the same for every method
    for method in methods:
        given = {"hidden": ()} if method == LINEAR else shape
        model = TriLabelClassifier("auto" if method == LINEAR else method, **options, **given)
        try:
            if method == "auto" or (method, {}) == (chosen.method_, chosen.settings_):
                model = chosen
            else:
                model.fit(data.X, known)
            yield method, model.decision_function(data.others)
        except TrilabelError as error:
            print(f"{method}: {error}", flush=True)
            yield method, None


def main() -> None:
    """A line for each fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=Path)
    parser.add_argument("--voc", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="a JSON file; what it has already is not run again")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--methods", nargs="*", default=METHODS)
    args = parser.parse_args()
    torch.set_num_threads(1)
    log.setLevel("ERROR")
    found: dict[str, float] = json.loads(args.out.read_text()) if args.out.exists() else {}
    for name, data in data_sets(args.features, args.voc):
        for seed, (setting, hide) in product(range(args.seeds), SETTINGS.items()):
            place, known = f"{name} | {setting} | {seed} | ", hide(Labels.from_signed(data.Y), seed)
            missing = [method for method in args.methods if place + method not in found]
            scored = [] if place + PEERS[-1] in found else [peers(data, known.to_signed())]
            scored += [ours(data, known, missing, seed)] if missing else []
            for method, scores in chain(*scored):
                found[place + method] = float("nan") if scores is None else round(precision(scores, data.truth), 3)
                args.out.write_text(json.dumps(found, indent=0))
                print(f"{time.strftime('%H:%M:%S')} {place}{method} {found[place + method]:.2f}", flush=True)


if __name__ == "__main__":
    main()
