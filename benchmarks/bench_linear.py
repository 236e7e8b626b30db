"""The linear protocol of Cole 2021, 25 epochs of a linear layer on fixed features: at most 10 seconds for each loss.

    python benchmarks/bench_linear.py

5,000 images × 2,048 features, 20 classes, one known present an image, batch 16, Adam, on two threads: the training loop
itself, with all that it does besides (checkpoints, records), only that the features are given instead of computed.
Exit 1 when a loss takes longer than allowed.
"""

import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning_fabric import Fabric

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource
from trilabel.labels import Labels, simulate
from trilabel.log import quiet
from trilabel.models.heads.gap import GapHead
from trilabel.training import stage_setup
from trilabel.training.api import prepare_torch
from trilabel.training.loop import fit
from trilabel.training.run_folder import RunFolder
from trilabel.training.setup import prepare
from trilabel.training.splits import split_for_training

IMAGES, FEATURES, CLASSES, EPOCHS, BATCH, ALLOWED = 5_000, 2_048, 20, 25, 16, 10.0

LOSSES: dict[str, tuple[str, dict[str, Any]]] = {
    "AN": ("assume-negative", {}),
    "AN-LS": ("assume-negative", {"smoothing": 0.1}),
    "WAN": ("assume-negative", {"weight": None}),
    "EPR": ("expected-positive", {"expected_positives": 2.3}),
    "ROLE": ("role", {"expected_positives": 2.3}),
    "PR": ("ranking", {}),
    "LSEP": ("ranking", {"loss": "lsep"}),
    "WARP": ("ranking", {"loss": "warp"}),
    "LL-R": ("large-loss", {}),
    "LL-Ct": ("large-loss", {"mode": "correct"}),
    "LL-Cp": ("large-loss", {"mode": "correct-for-good"}),
    "focal": ("focal", {}),
    "ASL": ("asymmetric", {}),
    "Hill": ("hill", {}),
    "SPLC": ("splc", {}),
    "CSL": ("selective", {}),
}


def run(dataset: Dataset, config: Config, features: torch.Tensor, folder: Path, fabric: Fabric) -> float:
    """Seconds of the loop on features that are known already."""
    job = prepare(fabric, split_for_training(dataset, config), config, RunFolder(folder), resumes=False)
    job.model.head = GapHead(FEATURES, CLASSES)
    stage_setup.compute_features = lambda job, images: ImageSource(features[: len(images)], 16, images.device, 0)
    begun = time.perf_counter()
    fit(job)
    return time.perf_counter() - begun


def main() -> int:
    torch.set_num_threads(2)
    prepare_torch()
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(IMAGES, FEATURES, generator=generator)
    directions = torch.randn(FEATURES, CLASSES, generator=generator) / FEATURES**0.5
    truth = Labels.from_signed(np.where((features @ directions).numpy() > 1.2, 1, -1).astype(np.int8))
    labels = simulate.single_positive(truth)
    pixels = torch.zeros(IMAGES, 3, 16, 16, dtype=torch.uint8)
    dataset = Dataset(labels.ids, None, labels, {"train": np.arange(IMAGES)}, images=pixels)
    slowest = 0.0
    print(f"{IMAGES:,} × {FEATURES:,} features, {CLASSES} classes, batch {BATCH}, {EPOCHS} epochs, 2 threads")
    for name, (method, settings) in LOSSES.items():
        config = Config(
            method=method, settings=settings, stages="linear", epochs=EPOCHS, batch_size=BATCH, optimizer="adam",
            lr=1e-3, val="none", image_size=16, device="cpu",
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder, quiet():
            fabric = Fabric(accelerator="cpu", devices=1)
            seconds = fabric.launch(partial(run, dataset, config, features, Path(folder)))
        slowest = max(slowest, seconds)
        print(f"{name:8} {seconds:6.2f} s{'  TOO SLOW' if seconds > ALLOWED else ''}", flush=True)
    return int(slowest > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
