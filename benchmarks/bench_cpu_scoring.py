"""Scoring images on a CPU as trilabel does it, a few at a time and channels-last, beside the plain way.

    python benchmarks/bench_cpu_scoring.py

The plain way: batches of 64 in the layout that images come in. Random weights; two threads; the two take turns, and the
median of each is compared. Exit 1 where ours is not faster.
"""

import statistics
import sys
import time
from typing import Any

import timm
import torch
from torch import Tensor

from trilabel.models import create_backbone

BATCH, ROUNDS = 64, 5
NETWORKS = (
    ("resnet50", 224),
    ("resnet50", 320),
    ("resnet50", 448),
    ("tf_efficientnet_lite0", 224),
    ("convnext_tiny", 224),
)


def seconds(network: Any, images: Tensor) -> float:
    """Of an image."""
    begun = time.perf_counter()
    network(images)
    return (time.perf_counter() - begun) / len(images)


@torch.inference_mode()
def main() -> int:
    """Measures and judges."""
    torch.set_num_threads(2)
    slower = 0
    print(
        f"{'network':22} {'pixels':>6}  {'plain, s':>9}  {'ours, s':>9}  ratio (batches of {BATCH}, median of {ROUNDS})"
    )
    for name, size in NETWORKS:
        plain = timm.create_model(name, num_classes=0, global_pool="").eval()
        ours = create_backbone(name, None, size).eval().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        images = torch.rand(BATCH, 3, size, size)
        laid_out = images.contiguous(memory_format=torch.channels_last)
        times = [(seconds(plain, images), seconds(ours, laid_out)) for _ in range(ROUNDS + 1)][1:]  # the first warms up
        theirs, own = (statistics.median(taken) for taken in zip(*times, strict=True))
        print(f"{name:22} {size:6}  {theirs:9.4f}  {own:9.4f}  {theirs / own:.2f}", flush=True)
        slower += own > theirs
    return int(slower > 0)


if __name__ == "__main__":
    sys.exit(main())
