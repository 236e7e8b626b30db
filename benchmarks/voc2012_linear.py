"""PASCAL VOC 2012 on fixed features (the linear protocol of Cole 2021), any spec, on a CPU.

    python benchmarks/voc2012_linear.py VOCdevkit/VOC2012 resnet50.safetensors benchmarks/specs/voc2012_linear_*.toml \
        --features features.npy --out runs/voc2012-linear

Features are the pooled output of a ResNet-50 for images of 448 pixels in bf16; they are computed once (half an hour on
two cores) and kept in a file, whereas `trilabel train --stages linear` computes them for each run. The rest is the same
as `trilabel compare`. Once the features are in their file, several processes may be started at once: each makes the
runs that no other is working on.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import trilabel as tl
from trilabel import metrics
from trilabel.compare import Comparison, read_spec
from trilabel.compare.runs import RunExecutor
from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource, decode
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.log import track
from trilabel.models import Backbone, Classifier, create_model
from trilabel.models.heads.basic import GapHead
from trilabel.recipes import fine_tune
from trilabel.report.comparison import run_and_report
from trilabel.training import loop as engine
from trilabel.training.run_folder import Run, RunFolder

SIZE, WIDTH = 448, 2048


def features_of(dataset: Dataset, weights: str, file: Path) -> Tensor:
    """N×2048, from the file or into it."""
    file = file.with_suffix(".npy")
    if not file.is_file():
        model = create_model("resnet50-v1", "gap", 1, weights, SIZE).eval().to(memory_format=torch.channels_last)
        views, paths = Views(model.backbone.mean, model.backbone.std), dataset.paths or ()
        found = np.zeros((len(dataset), WIDTH), np.float32)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            for start in track(range(0, len(dataset), 16), "computing features", -(-len(dataset) // 16)):
                rows = range(start, min(start + 16, len(dataset)))
                images = views.plain(torch.stack([decode(paths[row], SIZE) for row in rows]))
                seen = model.reduce_features(images.contiguous(memory_format=torch.channels_last))
                found[rows.start : rows.stop] = seen.float().numpy()
        with replacing(file) as temporary, temporary.open("wb") as whole:
            np.save(whole, found)
    features = torch.from_numpy(np.load(file))
    if features.shape != (len(dataset), WIDTH):
        raise TrilabelError(f"{file}: features of other data, {tuple(features.shape)}; name another file")
    return features


def on_features(features: Tensor) -> None:
    """Makes the training loop take features for images, and a model that is only a head."""

    def model_of(config: Any, classes: int, *_: Any) -> Classifier:
        if config.head != "gap" or config.graph != "none":
            raise TrilabelError("pooled features allow only head gap and no graph")
        return Classifier(Backbone(nn.Identity(), WIDTH, SIZE, (0.0,) * 3, (1.0,) * 3), GapHead(WIDTH, classes))

    def open_rows(self: Any, dataset: Dataset, rows: NDArray[np.int64]) -> tuple[ImageSource, NDArray[np.int64]]:
        return ImageSource(features[torch.from_numpy(rows)], SIZE, torch.device("cpu"), 0), rows

    engine.model_of = model_of
    engine.Training._open = open_rows  # type: ignore[method-assign]
    engine.Training._summaries = lambda self, images: images  # type: ignore[method-assign]
    import trilabel.training.run_folder

    trilabel.training.run_folder.model_of = model_of


class FeatureExecutor(RunExecutor):
    """Trains and scores runs on features: no image is decoded."""

    features: Tensor
    spec_file: Path

    def data_for(self, config: Config) -> Dataset:
        """The data set as it is."""
        return self.dataset

    @torch.inference_mode()
    def score(self, run: Run, config: Config) -> dict[str, float | None]:
        """The test metrics of a run's head."""
        head, rows = RunFolder(run.folder).classifier()[0].head.eval(), self.dataset.rows_of(self.scoring.split)
        logits = head(self.features[torch.from_numpy(rows)])
        scores = metrics.evaluate(logits, self.dataset.labels[rows], threshold=0.0)
        return {name: scores[name] for name in self.scoring.metrics}

    def command(self, folder: Path, labels: str, config: Config) -> str:
        """This script: `trilabel train` would compute the features again."""
        return f"python benchmarks/voc2012_linear.py … {self.spec_file}"


class FeatureComparison(Comparison):
    """A comparison on features."""

    executor_class = FeatureExecutor


def main(arguments: Sequence[str] | None = None) -> None:
    """Carries out the comparisons of the spec files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("voc")
    parser.add_argument("weights")
    parser.add_argument("specs", nargs="+", type=Path)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    dataset = tl.data.read(chosen.voc, difficult="absent")
    FeatureExecutor.features = features_of(dataset, chosen.weights, chosen.features)
    on_features(FeatureExecutor.features)
    base = replace(fine_tune(), backbone="resnet50-v1", weights=chosen.weights, device="cpu", ema=0.0, head_lr_scale=1)
    base = replace(base, stages="linear", lr_schedule="constant", val="0.2", precision="32", channels_last=False)
    for file in chosen.specs:
        FeatureExecutor.spec_file = file
        comparison = FeatureComparison(
            dataset,
            read_spec(file, base),
            chosen.out / file.stem,
            test="val",
            published=["voc2012"],
            source={"data": chosen.voc, "difficult": "absent"},
        )
        run_and_report(comparison, lambda of=comparison: print(len(of.trials), len(of.cells), flush=True))  # type: ignore[misc]


if __name__ == "__main__":
    main()
