"""The default command on a few photographs, beside what people would use today, on the same images and weights.

    python benchmarks/first_hour.py VOCdevkit/VOC2012 resnet50.safetensors --images 400 --test 200 --seeds 0 1 2 \
        --fastai FASTAI/bin/python

Photographs of VOC 2012 at random; a third of their labels known, or one tag each. `trilabel train` as the README
prints it; scikit-learn's logistic regression, class by class, on features of the same network (L2-normalized, C 1, 10
and 100, the best on the test images, which nobody could choose), with unknown labels left out and as absent: on
features averaged over the image, as is usual, and on those that our head pools; and fastai's multi-label learner,
where the Python of an environment with it is given. And the script that people write today, from the start of its
process to the last fit: torchvision, 224 pixels, averaged features, logistic regression with C 10. Test mAP; CF1 at the
thresholds that each gives (ours fitted, others 0.5) and at the best common threshold on the test images; seconds.
"""

import argparse
import csv
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

import trilabel as tl
from trilabel import metrics
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource, in_order

SETTINGS = {"a third of labels": "keep-share=0.3333", "one tag": "single-positive"}
SCRIPTED = {"known": "known labels", "absent": "unknown = absent"}
PEERS = Path(__file__).parent / "peers"
Scores = NDArray[np.float32]


def draw(dataset: Dataset, images: int, test: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and rows to test on."""
    draw = np.random.default_rng(seed)
    train = draw.choice(dataset.rows_of("train"), images, replace=False)
    return np.sort(train), np.sort(draw.choice(dataset.rows_of("val"), test, replace=False))


def write_table(path: Path, dataset: Dataset, rows: NDArray[np.int64], labels: tl.Labels) -> None:
    """A column per class: 1 present, 0 absent, empty unknown."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image", *dataset.classes])
        for row, signs in zip(rows, labels.to_signed(), strict=True):
            writer.writerow([Path(dataset.paths[row]).name, *({1: "1", -1: "0", 0: ""}[int(s)] for s in signs)])


def judged(name: str, probabilities: Scores, truth: tl.Labels, limits: Any, seconds: float) -> dict[str, Any]:
    """mAP, CF1 at the given thresholds, the best CF1 of a common threshold, seconds."""
    at = metrics.evaluate(probabilities, truth, threshold=limits)
    common = [metrics.evaluate(probabilities, truth, threshold=t)["CF1"] for t in np.linspace(0.02, 0.9, 45)]
    best = max(value for value in common if value is not None)
    return {"method": name, "mAP": at["mAP"], "CF1": at["CF1"], "best common CF1": best, "seconds": round(seconds, 1)}


def ours(table: Path, images: Path, weights: str, test: Sequence[str], truth: tl.Labels, out: Path) -> dict[str, Any]:
    """The command of the README."""
    begun = time.perf_counter()
    command = ["train", str(table), "--images", str(images), "--weights", weights, "--out", str(out)]
    subprocess.run([sys.executable, "-m", "trilabel", *command], check=True)
    seconds = time.perf_counter() - begun
    model = tl.load(out)
    found = model.predict(list(test))
    return judged("trilabel train", found.scores, truth, np.array(model.thresholds), seconds)


def features_of(run: Path, paths: Sequence[str]) -> tuple[dict[str, Scores], float]:
    """(features of the images: averaged over the map, and as the run's head pools them; seconds)."""
    model, begun = tl.load(run), time.perf_counter()  # (the loaded model is not counted: a script has it loaded, too)
    source = ImageSource(paths, model.image_size, torch.device("cpu"), 2)
    averaged, pooled, backbone = [], [], model.classifier.backbone
    usual = backbone.features - backbone.classes
    with torch.inference_mode():
        for batch in source.batches(in_order(len(paths), 16)):
            maps = backbone(model.prepare(batch.images))
            averaged.append(maps[:, :usual].mean((2, 3)))
            pooled.append(model.classifier.head.reduce_features(maps))
    features = {"averaged": normalize(torch.cat(averaged).numpy()), "our": normalize(torch.cat(pooled).numpy())}
    return features, time.perf_counter() - begun


def logistic(x: Scores, signs: NDArray[np.int8], others: Scores, truth: tl.Labels, name: str) -> dict[str, Any]:
    """One-vs-rest logistic regression on the known labels of each class."""
    begun, best = time.perf_counter(), dict[str, Any]()
    for strength in (1, 10, 100):
        found = np.zeros((len(others), signs.shape[1]), np.float32)
        for column, own in enumerate(signs.T):
            if len(np.unique(own[own != 0])) == 2:
                fitted = LogisticRegression(C=strength, max_iter=1000).fit(x[own != 0], own[own != 0])
                found[:, column] = fitted.predict_proba(others)[:, 1]
        result = judged(f"{name}, C {strength}", found, truth, 0.5, (time.perf_counter() - begun))
        best = max(best or result, result, key=lambda each: each["mAP"])
    return best


def script(
    table: Path, images: Path, weights: str, test: Sequence[str], truth: tl.Labels, unknown: str
) -> dict[str, Any]:
    """The plain script, as a process of its own."""
    names, out = table.with_name("test.csv"), table.with_name("scores.npz")
    names.write_text("image\n" + "\n".join(Path(path).name for path in test) + "\n")
    command = [PEERS / "logistic_photos.py", table, names, images, weights, out, unknown]
    subprocess.run([sys.executable, *map(str, command)], check=True)
    with np.load(out) as found:
        scores = found["scores"].astype(np.float32)
        return judged(f"a plain script, {SCRIPTED[unknown]}", scores, truth, 0.5, float(found["seconds"]))


def fastai(
    python: str, rows: NDArray[np.int64], labels: tl.Labels, dataset: Dataset, test: Sequence[str], weights: str
) -> tuple[Scores, float]:
    """(probabilities in the order of the classes, seconds) of fastai's learner, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        place, names = Path(folder), list(dataset.classes)
        with (place / "tags.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["image", "tags"])
            for row, signs in zip(rows, labels.to_signed(), strict=True):
                tags = ";".join(names[column] for column in np.flatnonzero(signs > 0))
                writer.writerow([Path(dataset.paths[row]).name, tags])
        (place / "test.csv").write_text("image\n" + "\n".join(Path(path).name for path in test) + "\n")
        images, out = Path(test[0]).parent, place / "scores.npz"
        script = [PEERS / "fastai_multilabel.py", place / "tags.csv", place / "test.csv", images, weights, out]
        subprocess.run([python, *map(str, script)], check=True)
        with np.load(out) as found:
            scores = np.zeros((len(test), len(names)), np.float32)
            scores[:, [names.index(str(name)) for name in found["classes"]]] = found["scores"]
            return scores, float(found["seconds"])


def main() -> None:
    """Prints a line per method, label setting and seed, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data")
    parser.add_argument("weights")
    parser.add_argument("--images", type=int, default=400)
    parser.add_argument("--test", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--settings", nargs="+", choices=list(SETTINGS), default=list(SETTINGS))
    parser.add_argument("--fastai", default="")
    asked = parser.parse_args()
    dataset = tl.data.read(asked.data, difficult="absent")
    for seed in asked.seeds:
        train, test = draw(dataset, asked.images, asked.test, seed)
        truth, full = dataset.labels[test], dataset.labels[train]
        paths, test_paths = ([dataset.paths[row] for row in rows.tolist()] for rows in (train, test))
        for setting in asked.settings:
            labels = tl.simulate.apply(full, SETTINGS[setting], seed)
            with tempfile.TemporaryDirectory() as folder:
                table, run = Path(folder) / "labels.csv", Path(folder) / "run"
                write_table(table, dataset, train, labels)
                photos, signs = Path(paths[0]).parent, labels.to_signed()
                results = [ours(table, photos, asked.weights, test_paths, truth, run)]
                for unknown in ("known", "absent") if (signs < 0).any() else ("absent",):
                    results.append(script(table, photos, asked.weights, test_paths, truth, unknown))
                (x, seconds), (others, _) = features_of(run, paths), features_of(run, test_paths)
            for name, own in {"known labels": signs, "unknown = absent": np.where(signs > 0, 1, -1)}.items():
                for kind in x if (own < 0).any() else ():
                    title = f"logistic regression, {kind} features, {name}"
                    result = logistic(x[kind], own, others[kind], truth, title)
                    results.append({**result, "seconds": round(result["seconds"] / 3 + seconds, 1)})
            if asked.fastai:
                scores, took = fastai(asked.fastai, train, labels, dataset, test_paths, asked.weights)
                results.append(judged("fastai, unknown = absent", scores, truth, 0.5, took))
            for result in results:
                print(json.dumps({"seed": seed, "labels": setting, **result}), flush=True)


if __name__ == "__main__":
    main()
