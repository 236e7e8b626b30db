"""Recipe photos with few and many photographs, beside what could be chosen by hand for the same photographs.

    python benchmarks/photo_sizes.py VOCdevkit/VOC2012 resnet50.safetensors 100 400 1600 5717

Training images of VOC 2012 at random, a third of their labels known; mAP, and CF1 at the fitted thresholds, on all
validation images. By hand: a head fitted to fixed features and nothing else; all fine-tuned from there, at three rates
(for 15 epochs, or as many as have 25,000 images, at least 5); and the recipe without the classes that the network was
pretrained on. Seconds are those of training alone, images decoded before. A line of JSON each. VARIANTS names some.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import trilabel as tl
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.recipes import linear_then_fine_tune, photos, small
from trilabel.recipes.own import POOLING

NETWORK = "resnet50-v1"


def variants(images: int) -> dict[str, Config]:
    """The recipe, and what could be chosen by hand."""
    epochs = min(15, max(5, round(25_000 / images)))
    pooled = {"backbone": f"{NETWORK}+1000", "head_settings": POOLING}
    alone = replace(small(), stages="linear", epochs=10, image_size=320, val="folds", **pooled)
    fine_tuned = replace(linear_then_fine_tune(), epochs=epochs, **pooled)
    return {
        "photos": replace(photos(), backbone=NETWORK),
        "head alone": alone,
        "fine-tuned, 1.5e-5": replace(fine_tuned, lr=1.5e-5),
        "fine-tuned, 3e-5": fine_tuned,
        "fine-tuned, 6e-5": replace(fine_tuned, lr=6e-5),
        "photos, no own classes": replace(photos(), backbone=f"{NETWORK}+0"),
    }


def drawn(dataset: Dataset, count: int, seed: int) -> Dataset:
    """So many training images with a third of their labels; the test images as they are."""
    train = np.sort(np.random.default_rng(seed).choice(dataset.rows_of("train"), count, replace=False))
    labels = tl.simulate.apply_to_rows(dataset.labels, train, "keep-share=0.3333", seed)
    return replace(dataset, splits={"train": train, "test": dataset.rows_of("val")}, labels=labels)


def measure(dataset: Dataset, weights: str, count: int, names: Sequence[str], seed: int = 0) -> None:
    """Prints a line for each of the variants."""
    chosen = drawn(dataset, count, seed)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.perf_counter()
            run = tl.train(chosen, replace(variants(count)[name], weights=weights), Path(folder) / "run")
            seconds, stages = time.perf_counter() - begun, run.config.stages
            found = tl.load(run).evaluate(chosen, split="test")
        line = {"images": count, "seed": seed, "how": name, "stages": stages, "seconds": round(seconds, 1)}
        print(json.dumps({**line, "mAP": found["mAP"], "CF1": found["CF1"]}), flush=True)


def main() -> None:
    """Measures what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("weights")
    parser.add_argument("counts", type=int, nargs="+")
    parser.add_argument("--variants", nargs="+", choices=list(variants(1)), default=list(variants(1)))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    dataset = tl.data.read(asked.data, difficult="absent")
    for count in asked.counts:
        measure(dataset, asked.weights, count, asked.variants, asked.seed)


if __name__ == "__main__":
    main()
