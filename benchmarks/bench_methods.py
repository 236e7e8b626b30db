"""A training step of each method against one with plain BCE: at most 1.1 times its time.

    python benchmarks/bench_methods.py

ResNet-50 at 224 pixels, batch 16, 20 classes, 5,000 training images with one known positive each; forward, backward and
Adam. On a GPU in bf16 and channels-last, else in float32 on all cores. The methods take turns in blocks of steps, each
block ends by waiting for the device, and each is divided by a block of plain BCE right before it; what counts is the
median of these ratios. Exit 1 when one is higher than allowed.
"""

import statistics
import sys
import time
from typing import Any

import numpy as np
import torch
from torch import nn

from trilabel.config import Config
from trilabel.labels import Labels
from trilabel.methods import Batch, create_method
from trilabel.models import create_model
from trilabel.recipes import fine_tune
from trilabel.training.optim import create_optimizer

IMAGES, CLASSES, SIZE, BATCH, ALLOWED = 5_000, 20, 224, 16, 1.1

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain BCE again": ("assume-negative", {}),
    "WAN": ("assume-negative", {"weight": None}),
    "AN-LS": ("assume-negative", {"smoothing": 0.1}),
    "expected-positive": ("expected-positive", {"expected_positives": 1.5}),
    "role, table": ("role", {"expected_positives": 1.5}),
    "role, factorized": ("role", {"expected_positives": 1.5, "estimator": "factorized"}),
    "role, network": ("role", {"expected_positives": 1.5, "estimator": "network"}),
    "LL-R": ("large-loss", {}),
    "LL-Ct": ("large-loss", {"mode": "correct"}),
    "LL-Cp": ("large-loss", {"mode": "correct-for-good"}),
    "focal": ("focal", {}),
    "asymmetric": ("asymmetric", {}),
    "hill": ("hill", {}),
    "splc": ("splc", {}),
    "posterior": ("posterior", {"positives_known": 0.3}),
    "posterior, one of k": ("posterior", {"rates": "one-of-k"}),
    "selective": ("selective", {}),
    "ranking, pairwise": ("ranking", {}),
    "ranking, lsep": ("ranking", {"loss": "lsep"}),
    "ranking, warp": ("ranking", {"loss": "warp"}),
}


class Stepper:
    """A method with a model of its own, ready to make steps."""

    def __init__(self, method: str, settings: dict[str, Any], labels: Labels, device: torch.device) -> None:
        torch.manual_seed(0)
        self.device = device
        self.on_gpu = device.type == "cuda"
        self.model: nn.Module = create_model(Config(backbone="resnet50"), CLASSES, SIZE).to(device)
        if self.on_gpu:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.method = create_method(method, settings, labels, features=2048).to(device)
        groups = [(list(self.model.parameters()), 1.0), *self.method.parameter_groups()]
        self.optimizer = create_optimizer(fine_tune(), groups, 1e-5)
        self.labels = labels
        self.draw = np.random.default_rng(0)
        images = torch.randn(BATCH, 3, SIZE, SIZE, device=device)
        self.images = images.contiguous(memory_format=torch.channels_last) if self.on_gpu else images

    def block(self, steps: int) -> float:
        """Seconds a step."""
        started = time.perf_counter()
        for _ in range(steps):
            index = self.draw.choice(IMAGES, BATCH, replace=False)
            rows, labels = torch.from_numpy(index).to(self.device), self.labels.rows(index).to(self.device)
            batch = Batch(self.images, None, labels, rows, epoch=5, lr=1e-5)
            with torch.autocast("cuda", torch.bfloat16, enabled=self.on_gpu):
                loss = self.method.step(self.model, batch)["loss"]
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.optimizer.zero_grad()
        if self.on_gpu:
            torch.cuda.synchronize()
        return (time.perf_counter() - started) / steps


def main() -> int:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    steps, rounds = (5, 15) if device.type == "cuda" else (1, 7)
    signed = np.zeros((IMAGES, CLASSES), np.int8)
    signed[np.arange(IMAGES), np.random.default_rng(0).integers(CLASSES, size=IMAGES)] = 1
    labels = Labels.from_signed(signed)
    plain = Stepper("assume-negative", {}, labels, device)
    steppers = {name: Stepper(*chosen, labels, device) for name, chosen in METHODS.items()}
    ratios: dict[str, list[float]] = {name: [] for name in steppers}
    plain_seconds: list[float] = []
    for turn in range(rounds + 1):
        for name, stepper in steppers.items():
            before, seconds = plain.block(steps), stepper.block(steps)
            if turn:  # the first turn warms up
                plain_seconds.append(before)
                ratios[name].append(seconds / before)
    medians = {name: statistics.median(values) for name, values in ratios.items()}
    print(
        f"ResNet-50, {SIZE} px, batch {BATCH}, {CLASSES} classes, {device.type}, {rounds} blocks of {steps} steps each"
    )
    print(f"{'plain BCE':20} {1e3 * statistics.median(plain_seconds):8.2f} ms")
    for name, ratio in medians.items():
        print(f"{name:20} × {ratio:.3f}{'  TOO SLOW' if ratio > ALLOWED else ''}")
    return int(max(medians.values()) > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
