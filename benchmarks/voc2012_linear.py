"""PASCAL VOC 2012 on fixed features (the linear protocol of Cole 2021), any plan, on a CPU.

    python benchmarks/voc2012_linear.py VOCdevkit/VOC2012 resnet50.safetensors benchmarks/plans/voc2012_linear_*.toml \
        --features features.npy --out runs/voc2012-linear

Features are what a ResNet-50 gives for images of 448 pixels in bf16, pooled; they are computed once (half an hour on
two cores) and kept in a file, where `trilabel train --stages linear` computes them for each run. Everything else is
`trilabel compare` as it is. Once the features are there, several processes may be started at once: each takes the runs
that no other is at.
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
from trilabel.compare import Comparison, read_plan, runner
from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource, decode
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.log import track
from trilabel.models import Backbone, Classifier, create_model
from trilabel.models.heads.gap import GapHead
from trilabel.recipes import fine_tune
from trilabel.training import loop as engine
from trilabel.training.run_folder import Run, RunFolder

SIZE, WIDTH = 448, 2048


def features_of(dataset: Dataset, weights: str, file: Path) -> Tensor:
    """N×2048, from the file or into it."""
    file = file.with_suffix(".npy")
    if not file.is_file():
        model = (
            create_model(Config(backbone="resnet50-v1"), 1, SIZE, weights).eval().to(memory_format=torch.channels_last)
        )
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
    """Has the loop and the scoring take features for images, and a model that is a head alone."""

    def create(config: Any, classes: int, *_: Any) -> Classifier:
        if config.head != "gap" or config.graph != "none":
            raise TrilabelError("pooled features allow for --head gap and no graph alone")
        return Classifier(Backbone(nn.Identity(), WIDTH, SIZE, (0.0,) * 3, (1.0,) * 3), GapHead(WIDTH, classes))

    def open_rows(self: Any, dataset: Dataset, rows: NDArray[np.int64]) -> tuple[ImageSource, NDArray[np.int64]]:
        return ImageSource(features[torch.from_numpy(rows)], SIZE, torch.device("cpu"), 0), rows

    class Scored:
        def __init__(self, run: Run, device: str) -> None:
            self.head = RunFolder(run.folder).classifier()[0].head.eval()

        @torch.inference_mode()
        def evaluate(self, dataset: Dataset, split: str, **_: Any) -> dict[str, Any]:
            rows = dataset.rows_of(split)
            return metrics.evaluate(self.head(features[torch.from_numpy(rows)]), dataset.labels[rows], threshold=0.0)

    engine.create_model = create
    engine.Training._open = open_rows  # type: ignore[method-assign]
    engine.Training._summaries = lambda self, images: images  # type: ignore[method-assign]
    runner.load = Scored  # type: ignore[assignment]
    import trilabel.training.run_folder

    trilabel.training.run_folder.create_model = create


class AsItIs:
    """The data set; nothing is decoded."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset

    def for_run(self, config: Any) -> Dataset:
        """The same for all."""
        return self.dataset


def main(arguments: Sequence[str] | None = None) -> None:
    """Works the plans off."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("voc")
    parser.add_argument("weights")
    parser.add_argument("plans", nargs="+", type=Path)
    parser.add_argument("--features", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    dataset = tl.data.read(asked.voc, difficult="absent")
    on_features(features_of(dataset, asked.weights, asked.features))
    base = replace(fine_tune(), backbone="resnet50-v1", weights=asked.weights, device="cpu", ema=0.0, head_lr_scale=1)
    base = replace(base, stages="linear", lr_schedule="constant", val="0.2", precision="32", channels_last=False)
    for file in asked.plans:
        comparison = Comparison(
            dataset,
            read_plan(file, base),
            asked.out / file.stem,
            test="val",
            published=["voc2012"],
            source={"data": asked.voc, "difficult": "absent"},
        )
        comparison.data = AsItIs(dataset)  # type: ignore[assignment]
        comparison._command = lambda *_, of=file: f"python benchmarks/voc2012_linear.py … {of}"  # type: ignore[misc, method-assign]
        comparison.run(lambda of=comparison: print(len(of.trials), len(of.cells), flush=True))  # type: ignore[misc]


if __name__ == "__main__":
    main()
