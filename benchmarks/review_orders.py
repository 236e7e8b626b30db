"""How many questions each order of asking needs: a simulated annotator, one positive per image to begin with.

    python benchmarks/review_orders.py voc320.npz --out orders        (features of photographs and their labels)
    python benchmarks/review_orders.py scenes --out orders            (drawn by code; a small network trained on others)

After each batch of answers a head is fitted to the features of the training images, with the method that `train` would
choose; test images, of which all labels are known, say how good it is. What to ask next is decided by scores of heads
that were fitted without the image, as in a run. The .npz has plain (N×D), Y (N×C, +1 and −1) and ntrain: the first so
many images are learned from, the others are the test.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import trilabel as tl
from trilabel import metrics
from trilabel.config import Config
from trilabel.files import write_text
from trilabel.labels import Labels
from trilabel.log import quiet
from trilabel.methods import METHODS, check_method, choose_method
from trilabel.models import FeatureClassifier, Output, create_head
from trilabel.recipes import fine_tune, small
from trilabel.review import orders
from trilabel.review.proposals import sigmoid
from trilabel.training.feature_fit import FeatureFit
from trilabel.training.out_of_fold import fold_of_each

ORDERS: tuple[orders.Order, ...] = ("valuable", "positives", "uncertain", "random")
GRID, SEEDS, FOLDS = (0, 100, 200, 400, 800, 1600, 3200, 6400, 12800), (0, 1, 2), 4


class Bench:
    """Images by their features, all their labels, and how a head is fitted to what is known of them."""

    def __init__(self, features: Tensor, truth: NDArray[np.int8], train: int) -> None:
        self.features, self.truth, self.train = features, truth, train
        self.config: Config = replace(fine_tune(), stages="linear", val="none", device="cpu", precision="32", ema=0.0)
        self.config = replace(self.config, head="gap", head_settings={"normalize": True})

    def start(self, setting: str, seed: int) -> NDArray[np.int8]:
        """The labels that are known before anything is asked; they also choose the method."""
        labels = tl.simulate.apply_to_rows(Labels.from_signed(self.truth), np.arange(self.train), setting, seed)
        labels = labels[np.arange(self.train)]
        chosen = choose_method(labels)
        self.config = replace(self.config, method=chosen.method, settings=chosen.settings)
        if chosen.method == "posterior" and not labels.counts_per_class()[1].any():
            self.config = replace(self.config, settings={"rates": "one-of-k"})  # as `train --answers`
        return labels.to_signed().copy()

    def fit(self, signed: NDArray[np.int8], rows: NDArray[np.int64]) -> FeatureFit:
        """A head that has learned from these rows."""
        labels, config, width = Labels.from_signed(signed[rows]), self.config, self.features.shape[1]
        torch.manual_seed(0)
        settings = check_method(config.method, config.settings, labels)
        head = create_head(config, width, labels.shape[1], labels)
        method = METHODS[config.method](settings, labels, width)
        model = FeatureClassifier(head)
        fit = FeatureFit(config, model, method, self.features[: self.train][rows], labels, reach=1.0)
        fit.run()
        return fit

    def test(self, signed: NDArray[np.int8]) -> float:
        """mAP of the test images."""
        scores = self.fit(signed, np.arange(self.train)).score(self.features[self.train :]).numpy()
        return metrics.mean_average_precision(scores, self.truth[self.train :])

    def chances(self, signed: NDArray[np.int8]) -> NDArray[np.float32]:
        """Probabilities of the training images, each by a head that was fitted without it."""
        fold, found = fold_of_each(self.train, FOLDS), np.empty(signed.shape, np.float32)
        for part in range(FOLDS):
            left_out = np.flatnonzero(fold == part)
            found[left_out] = self.fit(signed, np.flatnonzero(fold != part)).score(self.features[left_out]).numpy()
        return sigmoid(found)

    def curve(self, order: orders.Order, setting: str, seed: int) -> list[float]:
        """mAP after each number of questions in GRID, as far as there are so many."""
        signed, truth, found = self.start(setting, seed), self.truth[: self.train], list[float]()
        for asked, until in zip(GRID, (*GRID[1:], 0), strict=True):
            found.append(self.test(signed))
            if until == 0 or (signed == 0).sum() < until - asked:
                break
            chances = np.zeros(signed.shape, np.float32) if order == "random" else self.chances(signed)
            worth = orders.worth(order, chances, signed, (signed > 0).sum(0), seed=1000 * seed + asked)
            questions = orders.best_first(worth, until - asked)
            signed.ravel()[questions] = truth.ravel()[questions]
        return found


def read_features(file: str) -> Bench:
    """Features and labels from an .npz."""
    with np.load(file) as arrays:
        return Bench(torch.from_numpy(arrays["plain"].astype(np.float32)), arrays["Y"], int(arrays["ntrain"]))


def scene_features(folder: Path) -> Bench:
    """Features of scenes by a small network that was trained on other scenes, of which all labels were known."""
    with quiet():
        other, drawn = tl.data.scenes(seed=99), tl.data.scenes(seed=0)
        tl.train(other, replace(small(), method="known-only"), folder / "backbone", overwrite=True)
    train, parts = drawn.rows_of("train"), dict[int, Tensor]()
    rows = np.concatenate((train, drawn.rows_of("test")))

    def keep(found: NDArray[np.int64], output: Output) -> None:
        parts.update(zip(found.tolist(), output.features.float().cpu(), strict=True))

    tl.load(folder / "backbone").score_rows(drawn, rows, on_batch=keep)
    features = torch.stack([parts[row] for row in rows.tolist()])
    return Bench(features, drawn.labels[rows].to_signed(), len(train))


def questions_for(curve: NDArray[Any], target: float) -> float:
    """How many questions reach an mAP, between those of the grid linearly; infinite where it is not reached."""
    best = np.maximum.accumulate(curve)
    if best[-1] < target:
        return float("inf")
    return float(np.interp(target, best, GRID[: len(best)]))


def draw(curves: dict[str, list[list[float]]], full: float, title: str, file: Path) -> None:
    """mAP against questions, the mean over seeds and their range."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2), dpi=110)
    for name, color in zip(curves, ("tab:blue", "tab:green", "tab:orange", "tab:gray"), strict=True):
        values = 100 * np.array(curves[name])
        asked = np.array(GRID[: values.shape[1]])
        axes.plot(asked, values.mean(0), "o-", color=color, markersize=3, label=orders.ORDERS[name])  # type: ignore[index]
        axes.fill_between(asked, values.min(0), values.max(0), color=color, alpha=0.15, linewidth=0)
    axes.axhline(100 * full, color="black", linewidth=0.8, linestyle="--", label="all labels known")
    axes.set_xscale("symlog", linthresh=100)
    axes.set_xticks(GRID, [f"{number:,}" for number in GRID], rotation=45)
    axes.set_xlim(-25, 1.2 * GRID[-1])
    axes.minorticks_off()
    axes.set(xlabel="questions answered", ylabel="test mAP (%)", title=title)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    """Measures all orders; writes NAME.json and NAME.png, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--labels", default="single-positive", help="what is known at first, as in `train --hide`")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    chosen.out.mkdir(parents=True, exist_ok=True)
    bench = scene_features(chosen.out) if chosen.data == "scenes" else read_features(chosen.data)
    name = f"{Path(chosen.data).stem}-{chosen.labels.replace('=', '-')}"
    curves: dict[str, list[list[float]]] = {}
    for order in ORDERS:
        curves[order] = [bench.curve(order, chosen.labels, seed) for seed in SEEDS]
        print(f"{order:10}", *(f"{100 * value:6.2f}" for value in np.mean(curves[order], 0)), flush=True)
    bench.config = replace(bench.config, method="known-only", settings={})
    full = bench.test(bench.truth[: bench.train])
    print(f"all labels known: {100 * full:.2f}\nquestions for the mAP that random reaches after so many, by seed:")
    for place in range(2, len(curves["random"][0])):
        row = []
        for order in ORDERS:
            needed = [questions_for(np.array(curves[order][s]), max(curves["random"][s][: place + 1])) for s in SEEDS]
            row.append(f"{order} {' '.join(f'{number:,.0f}' for number in needed)}")
        print(f"{GRID[place]:>6,}:", "; ".join(row))
    write_text(chosen.out / f"{name}.json", json.dumps({"grid": GRID, "curves": curves, "full": full}, indent=1))
    draw(curves, full, f"{Path(chosen.data).stem}, {chosen.labels}", chosen.out / f"{name}.png")


if __name__ == "__main__":
    main()
