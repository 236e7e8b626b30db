"""Training throughput on a GPU, against the bare arithmetic of it and against a loop as papers ship it.

    python benchmarks/bench_training.py [VOCdevkit/VOC2012] [--size 448] [--batches 16 64]

ResNet-50, 20 classes, Adam. Three things in one process, one after the other:

- bare: forward, BCE, backward and optimizer step on one batch of synthetic images that lies on the device, in bf16 and
  channels-last; launched kernel by kernel, and recorded as one CUDA graph (the faster of the two counts);
- trilabel: `trilabel.train` as a user calls it with the recipe `fine-tune`, by the seconds that its log gives an epoch;
- plain: batch 16 in float32, each of 2,000 images decoded, resized and mirrored by 16 worker processes at each epoch.

Without a folder of PASCAL VOC, 5,717 JPEG files of noise are made. Exit 1 when trilabel has less than 95 % of the bare
throughput or less than 2.5 times that of the plain loop, or when the first step of the first batch size comes later
than 40 s after the process began, imports and decoding included, the making of noise files not.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

import trilabel as tl
from trilabel.config import Config
from trilabel.methods import Batch
from trilabel.models import create_model
from trilabel.recipes import fine_tune
from trilabel.training.stage_setup import ModelAndMethod

CLASSES, WORKERS, FEW = 20, 16, 2_000
OF_BARE, OF_PLAIN, FIRST_STEP = 0.95, 2.5, 40.0


def age() -> float:
    """Seconds since this process began."""
    started = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def seconds(work: Callable[[], None], times: int) -> float:
    """Of one call, the device's work included; the fastest of three rounds."""
    rounds = []
    for _ in range(3):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for _ in range(times):
            work()
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - begun) / times)
    return min(rounds)


def bare(size: int, batch: int, steps: int) -> dict[str, float]:
    """Images a second of forward, backward and step, launched and as one graph."""
    torch.backends.cudnn.benchmark = True
    model = (
        create_model(Config(backbone="resnet50"), CLASSES, size).cuda().to(memory_format=torch.channels_last).train()
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5, fused=True, capturable=True)
    images = torch.randn(batch, 3, size, size, device="cuda").contiguous(memory_format=torch.channels_last)
    targets = (torch.rand(batch, CLASSES, device="cuda") < 0.1).float()

    def step() -> None:
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
            loss = nn.functional.binary_cross_entropy_with_logits(model(images).logits.float(), targets)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()

    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(aside)
    launched = batch / seconds(step, steps)
    torch.backends.cudnn.benchmark = False
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return {"launched": launched, "graph": batch / seconds(graph.replay, steps)}


def ours(dataset: tl.data.Dataset, config: Config, folder: Path) -> tuple[float, float]:
    """(images a second after the first epoch, age of the process at its first step)."""
    first: list[float] = []
    step = ModelAndMethod.forward

    def noted(task: ModelAndMethod, batch: Batch) -> dict[str, Tensor]:
        first.append(age())
        return step(task, batch)

    ModelAndMethod.forward = noted  # type: ignore[method-assign]
    try:
        run = tl.train(dataset, config, folder, overwrite=True)
    finally:
        ModelAndMethod.forward = step  # type: ignore[method-assign]
    images = len(dataset.rows_of("train"))
    return images / min(record.seconds for record in run.history[1:]), first[0]


class Files(Dataset[tuple[Tensor, Tensor]]):
    """Image files as papers' scripts read them."""

    def __init__(self, paths: list[str], labels: Tensor, size: int) -> None:
        self.paths, self.labels = paths, labels
        self.view = transforms.Compose(
            [
                transforms.Resize((size, size)),
                transforms.RandomHorizontalFlip(),
                transforms.ToTensor(),
                transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
            ]
        )

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, place: int) -> tuple[Tensor, Tensor]:
        return self.view(Image.open(self.paths[place]).convert("RGB")), self.labels[place]


def plain(paths: list[str], labels: Tensor, size: int) -> float:
    """Images a second of the second epoch."""
    torch.backends.cudnn.benchmark = False
    model = create_model(Config(backbone="resnet50"), CLASSES, size).cuda().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    loader = DataLoader(Files(paths, labels, size), batch_size=16, shuffle=True, num_workers=WORKERS, drop_last=True)
    for _ in range(2):
        begun = time.perf_counter()
        for images, target in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(images.cuda()).logits, target.cuda())
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            float(loss)  # scripts print it
        torch.cuda.synchronize()
    return len(loader) * 16 / (time.perf_counter() - begun)


def noise_files(folder: Path, count: int = 5_717) -> tl.data.Dataset:
    """JPEG files of the size of photographs, with labels."""
    draw = np.random.default_rng(0)
    paths = [str(folder / f"{number}.jpg") for number in range(count)]
    for path in paths:
        small = Image.fromarray(draw.integers(0, 256, (48, 63, 3), dtype=np.uint8))
        small.resize((500, 375), Image.Resampling.BICUBIC).save(path, quality=90)
    labels = tl.Labels.from_signed(np.where(draw.random((count, CLASSES)) < 0.1, 1, -1).astype(np.int8))
    return tl.data.Dataset(labels.ids, paths, labels, {"train": np.arange(count)})


def main() -> int:
    """Measures and judges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("voc", nargs="?")
    parser.add_argument("--size", type=int, default=448)
    parser.add_argument("--batches", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--steps", type=int, default=60)
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        print("bench_training: no GPU here, nothing measured")
        return 0
    missed, imported = False, age()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset = tl.data.read(asked.voc, difficult="absent") if asked.voc else noise_files(folder)
        begun = 0.0 if asked.voc else age() - imported
        for batch in asked.batches:
            config = replace(fine_tune(), method="assume-negative", batch_size=batch, epochs=3, val="none")
            rate, first = ours(dataset, replace(config, image_size=asked.size), folder / "run")
            best = bare(asked.size, batch, asked.steps)
            share = rate / max(best.values())
            missed |= share < OF_BARE or (batch == asked.batches[0] and first - begun > FIRST_STEP)
            print(
                f"batch {batch}, {asked.size} px: trilabel {rate:.0f} images a second; bare {best['launched']:.0f} "
                f"launched, {best['graph']:.0f} as a graph: {share:.1%} of it (at least {OF_BARE:.0%}); "
                f"first step after {first - begun:.1f} s (at most {FIRST_STEP:.0f})",
                flush=True,
            )
            if batch == 16:
                some = dataset.take(dataset.rows_of("train")[:FEW])
                known = torch.from_numpy(some.labels.to_signed() > 0).float()
                slow = plain(list(some.paths or ()), known, asked.size)
                missed |= rate < OF_PLAIN * slow
                print(f"  plain loop {slow:.0f}: {rate / slow:.2f} times (at least {OF_PLAIN})", flush=True)
            begun = age()
    print("MISSED" if missed else "all within what is asked for")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
