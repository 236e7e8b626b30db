"""Methods on fixed features (the linear protocol of Cole 2021), any data set and any spec, on CPUs.

    python benchmarks/fixed_features.py VOCdevkit/VOC2012 resnet50.safetensors benchmarks/specs/fixed_*.toml \
        --features voc448.npy --out runs/voc2012-fixed --difficult absent --published voc2012
    python benchmarks/fixed_features.py coco.csv resnet50.safetensors benchmarks/specs/fixed_*.toml \
        --images train2017 --features coco256.npy --out runs/coco-fixed --image-size 256 --published coco2014
    python benchmarks/fixed_features.py yeast.npz none benchmarks/specs/fixed_breadth.toml --out runs/yeast-fixed

DATA is whatever `trilabel train` reads. Features are the output of a ResNet-50 (`resnet50-v1`) in bf16, averaged over
the map, or as recipe photos has them (--pooling photos: pooled in its way, and the classes of the weights). They are
computed once, on a GPU where there is one (half an hour for VOC 2012 at 448 pixels on two cores), and kept in a file,
whereas `trilabel train --stages linear` computes them for each run. The rest is the same as `trilabel compare`.
DATA may also be features already: X_train, Y_train (0 and 1), X_test, Y_test in an .npz; each is scaled to mean 0 and
deviation 1.
Several processes may be started at once, each on one thread: each makes the runs that no other is working on.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor, nn

import trilabel as tl
from trilabel import metrics
from trilabel.compare import Comparison, Spec, read_spec
from trilabel.compare.runs import RunExecutor
from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource, in_order
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.log import shown, track
from trilabel.models import Backbone, Classifier, check_head, create_model
from trilabel.models.backbone import with_own_classes
from trilabel.models.device import choose_device
from trilabel.models.heads.gap import GapHead
from trilabel.recipes import fine_tune
from trilabel.recipes.own import POOLING
from trilabel.report.comparison import run_and_report
from trilabel.training import setup, stage_setup, trained_model
from trilabel.training.run_folder import Run, RunFolder

BACKBONE = "resnet50-v1"


def features_of(dataset: Dataset, weights: str, size: int, file: Path, pooling: str = "average") -> Tensor:
    """N×D float32, from the file (of any precision) or into it."""
    file = file.with_suffix(".npy")
    with FileLock(file.with_suffix(".lock")):  # of several processes one computes, the others wait
        if not file.is_file():
            found = compute_features(dataset, weights, size, pooling)
            with replacing(file) as temporary, temporary.open("wb") as whole:
                np.save(whole, found)
    features = torch.from_numpy(np.load(file).astype(np.float32, copy=False))
    if features.ndim != 2 or len(features) != len(dataset):
        raise TrilabelError(f"{file}: features of other data, {tuple(features.shape)}; name another file")
    return features


def read_features(file: str) -> tuple[Dataset, Tensor]:
    """A data set that consists of features: its labels, with the splits train and val, and the features, N×D."""
    with np.load(file) as arrays:
        train, test = arrays["X_train"], arrays["X_test"]
        present = np.concatenate((arrays["Y_train"], arrays["Y_test"])) > 0
    scaled = (np.concatenate((train, test)) - train.mean(0)) / np.maximum(train.std(0), 1e-6)
    features = torch.from_numpy(scaled.astype(np.float32))
    labels = tl.Labels.from_signed(np.where(present, 1, -1))
    splits = {"train": np.arange(len(train)), "val": np.arange(len(train), len(labels))}
    return Dataset(labels.ids, None, labels, splits, images=features), features


@torch.inference_mode()
def compute_features(dataset: Dataset, weights: str, size: int, pooling: str) -> NDArray[np.float16]:
    """The pooled features of all images; bf16, so that float16 holds them."""
    device = choose_device("auto")
    config = Config(backbone=BACKBONE)
    if pooling == "photos":
        own = with_own_classes(BACKBONE, weights)
        config = replace(config, backbone=own, head_settings={**POOLING, "normalize": False})
    model = create_model(config, 1, size, weights).eval()
    model = model.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    views, workers = Views(model.backbone.mean, model.backbone.std), min(16, os.cpu_count() or 1)
    source = ImageSource(dataset.paths or (), size, device, workers)
    chunks = in_order(len(dataset), 128 if device.type == "cuda" else 16)
    parts = []
    with torch.autocast(device.type, torch.bfloat16):
        for batch in track(source.batches(chunks), "computing features", len(chunks)):
            images = views.plain(batch.images).contiguous(memory_format=torch.channels_last)
            parts.append(model.reduce_features(images).half().cpu().numpy())
    return np.concatenate(parts)


def train_on_features(width: int) -> None:
    """Makes the training loop take features for images, and a model that is only a head."""

    def create(config: Config, classes: int, *_: Any) -> Classifier:
        if config.head != "gap" or config.graph != "none":
            raise TrilabelError("pooled features allow only head gap and no graph")
        backbone = Backbone(nn.Identity(), width, config.image_size or 0, (0.0,) * 3, (1.0,) * 3)
        return Classifier(backbone, GapHead(width, classes, check_head(config.head, config.head_settings)))

    def open_rows(
        processes: Any, dataset: Dataset, rows: NDArray[np.int64], config: Config, size: int
    ) -> tuple[ImageSource, NDArray[np.int64], list[str]]:
        features, _ = dataset.images_of(rows)
        return ImageSource(features, size, torch.device("cpu"), 0), rows, []  # type: ignore[arg-type]

    setup.create_model = trained_model.create_model = create  # type: ignore[assignment, attr-defined]
    setup._open = open_rows
    stage_setup.compute_features = lambda job, images: images


class FeatureExecutor(RunExecutor):
    """Trains and scores runs on features: no image is decoded."""

    again: str  # the command that makes the runs again: `trilabel train` would compute the features each time

    @torch.inference_mode()
    def score(self, run: Run, config: Config) -> dict[str, float | None]:
        """The test metrics of a run's head."""
        head, rows = RunFolder(run.folder).classifier()[0].head.eval(), self.dataset.rows_of(self.scoring.split)
        logits = head(self.dataset.images_of(rows)[0])
        scores = metrics.evaluate(logits, self.dataset.labels[rows], threshold=0.0)
        return {name: scores[name] for name in self.scoring.metrics}

    def command(self, folder: Path, labels: str, config: Config) -> str:
        """This script."""
        return self.again


def read_spec_for(file: Path, base: Config, classes: int) -> Spec:
    """A spec in whose label settings CLASSES is the number of classes, so that it serves any data."""
    spec = read_spec(file, base)

    def filled(labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(setting.replace("CLASSES", str(classes)) for setting in labels)

    rows = tuple(replace(row, labels=row.labels and filled(row.labels)) for row in spec.rows)
    return replace(spec, rows=rows, labels=filled(spec.labels))


class FeatureComparison(Comparison):
    """A comparison on features."""

    executor_class = FeatureExecutor


def parser() -> argparse.ArgumentParser:
    """The arguments of this script."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data")
    made.add_argument("weights")
    made.add_argument("specs", nargs="+", type=Path)
    made.add_argument("--images", help="the folder of the images, where it is not where the format expects it")
    made.add_argument("--features", type=Path, help="N×D, one row per image in the order of the data")
    made.add_argument("--out", type=Path, required=True)
    made.add_argument("--test", default="val", help="the split that scores the chosen epochs")
    made.add_argument("--image-size", type=int, default=448)
    made.add_argument("--pooling", choices=["average", "photos"], default="average", help="how features are pooled")
    made.add_argument("--published", nargs="*", default=[], help="data sets whose published figures to show")
    made.add_argument("--difficult", help="VOC: what objects marked difficult count as")
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Carries out the comparisons of the spec files."""
    chosen = parser().parse_args(arguments)
    options = {name: value for name in ("images", "difficult") if (value := getattr(chosen, name)) is not None}
    if chosen.data.endswith(".npz"):
        dataset, features = read_features(chosen.data)
    elif chosen.features is None:
        raise SystemExit("--features names the file that the features of the images are kept in")
    else:
        dataset = tl.data.read(chosen.data, **options)
        with shown():
            features = features_of(dataset, chosen.weights, chosen.image_size, chosen.features, chosen.pooling)
    train_on_features(features.shape[1])
    torch.set_num_threads(1)
    dataset = replace(dataset, images=features)
    base = replace(fine_tune(), backbone=BACKBONE, weights=chosen.weights, image_size=chosen.image_size, device="cpu")
    base = replace(base, ema=0.0, head_lr_scale=1, precision="32", channels_last=False, val="0.2")
    # As the papers: plain features, at the rate of the spec.
    base = replace(base, stages="linear", epochs=25, lr_schedule="constant", head_settings={"normalize": False})
    for file in chosen.specs:
        FeatureExecutor.again = f"python benchmarks/fixed_features.py {chosen.data} {chosen.weights} {file} …"
        out = chosen.out / file.stem
        source = {"data": chosen.data, **options}
        spec = read_spec_for(file, base, len(dataset.classes))
        comparison = FeatureComparison(dataset, spec, out, test=chosen.test, published=chosen.published, source=source)
        run_and_report(comparison, lambda of=comparison: print(len(of.trials), len(of.cells), flush=True))  # type: ignore[misc]


if __name__ == "__main__":
    main()
