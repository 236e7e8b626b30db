"""Long runs and large sets: memory and files of a run of many epochs stay flat, a million images fit.

python -m reliability.endurance --epochs 1000 --images 1000000
"""

import argparse
import contextlib
import gc
import json
import logging
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from reliability.material import SIZE, write_project
from reliability.processes import Ended, call

CLASSES = 20
_DAY = 86400.0  # seconds; nothing here hangs, but it may take long
_SAMPLES = 10  # of memory and file sizes, over a run
_MOST_GROWTH = 16 << 20  # bytes of memory, from the second sample on
_FILES = ("last.safetensors", "best.safetensors")
# Bytes per image above the model's own memory: the scores (float32) a few times, and paths in each process.
_MOST_PER_IMAGE = 16 * CLASSES + 1200
_MOST_FIXED = 512 << 20  # of two processes that decode, and a batch


def flat_run(folder: Path, epochs: int) -> dict[str, Any]:
    """A run of many epochs: memory and file sizes at ten moments, and what grew."""
    data = write_project(folder / "data")
    out, samples = folder / "run", folder / "samples.jsonl"
    began = time.monotonic()
    ended = call(_train_and_sample, (str(data), str(out), epochs, str(samples)), limit=_DAY)
    _require_success(ended)
    found = [json.loads(line) for line in samples.read_text().splitlines()]
    first, last = found[1], found[-1]
    growth = {name: last[name] - first[name] for name in ("memory", *_FILES)}
    lines = len((out / "metrics.jsonl").read_text().splitlines())
    lost = [f"memory grew by {growth['memory'] >> 20} MB"] if growth["memory"] > _MOST_GROWTH else []
    lost += [f"{name} grew by {growth[name]:,} bytes" for name in _FILES if growth[name] > 0.01 * first[name]]
    lost += [f"metrics.jsonl has {lines} lines"] if lines != epochs else []
    seconds = time.monotonic() - began
    return {"epochs": epochs, "samples": found, "growth": growth, "seconds": round(seconds), "lost": lost}


def _train_and_sample(data: str, out: str, epochs: int, samples: str) -> int:
    import torch

    from trilabel.cli.main import main

    torch.set_num_threads(1)
    logging.getLogger("trilabel").addHandler(_Sampler(Path(out), max(1, epochs // _SAMPLES), Path(samples)))
    words = ["--image-size", SIZE, "--workers", 0, "--batch-size", 8, "--cache", "memory", "--epochs", epochs]
    return main(["train", f"{data}/labels.csv", "--out", out, *map(str, words)])


class _Sampler(logging.Handler):
    """Writes memory and file sizes after every n-th epoch, when its line is logged."""

    def __init__(self, run: Path, every: int, samples: Path) -> None:
        super().__init__()
        self.run, self.every, self.samples = run, every, samples

    def emit(self, record: logging.LogRecord) -> None:
        found = re.match(r"fine-tune, epoch (\d+) of", record.getMessage())
        if found is None or int(found[1]) % self.every:
            return
        gc.collect()
        sizes = {name: (self.run / name).stat().st_size for name in (*_FILES, "metrics.jsonl")}
        line = {"epoch": int(found[1]), "memory": psutil.Process().memory_info().rss, **sizes}
        with self.samples.open("a") as file:
            file.write(json.dumps(line) + "\n")


def many_images(folder: Path, images: int) -> dict[str, Any]:
    """A table of many images: reading it, a pass of the loader, predicting, evaluating; each with memory and speed."""
    data = write_project(folder / "photos-of")
    table = _large_table(folder, data / "photos", images)
    _require_success(call(_train_for_table, (str(folder), str(table))))
    found: dict[str, Any] = {"images": images, "classes": CLASSES, "lost": []}
    steps: dict[str, Callable[[str, str], None]] = {
        "read": _read,
        "load": _load,
        "predict": _predict,
        "evaluate": _evaluate,
    }
    for name, step in steps.items():
        report = folder / f"{name}.json"
        _require_success(call(_measured, (step, str(folder), str(table), str(report)), limit=_DAY))
        found[name] = json.loads(report.read_text())
        found[name]["images_per_second"] = round(images / found[name]["seconds"])
        if found[name]["bytes"] > _MOST_PER_IMAGE * images + _MOST_FIXED:
            found["lost"].append(f"{name}: {found[name]['bytes'] >> 20} MB for {images:,} images")
    return found


def _large_table(folder: Path, photos: Path, images: int) -> Path:
    """A table of so many different paths of a few files: a thousand names of one folder lead to them."""
    files = sorted(file.name for file in photos.iterdir())
    folders = -(-images // len(files))
    for number in range(folders):
        (folder / f"d{number:06d}").symlink_to(photos, target_is_directory=True)
    values = np.random.default_rng(0).choice(["0", "1", ""], (1000, CLASSES))
    rows = [",".join(row) for row in values.tolist()]
    path = folder / "large.csv"
    with path.open("w") as file:
        file.write("image," + ",".join(f"class {number}" for number in range(CLASSES)) + "\n")
        for number in range(images):
            file.write(f"d{number // len(files):06d}/{files[number % len(files)]},{rows[number % 1000]}\n")
    return path


def _train_for_table(folder: str, table: str) -> int:
    import torch

    from trilabel.cli.main import main

    torch.set_num_threads(1)
    with Path(table).open() as file:
        Path(folder, "small.csv").write_text("".join(next(file) for _ in range(33)))
    words = ["--image-size", SIZE, "--workers", 0, "--batch-size", 8, "--epochs", 1, "--val", "none"]
    return main(["train", f"{folder}/small.csv", "--out", f"{folder}/run", *map(str, words)])


def _measured(step: Callable[[str, str], None], folder: str, table: str, report: str) -> int:
    """Writes how long a step takes, and how much more memory than the same step with a few images."""
    import resource

    import torch

    torch.set_num_threads(1)
    step(folder, f"{folder}/small.csv")
    gc.collect()
    before, began = psutil.Process().memory_info().rss, time.monotonic()
    over, workers = threading.Event(), [0]
    watcher = threading.Thread(target=_watch_children, args=(over, workers))
    watcher.start()
    step(folder, table)
    over.set()
    watcher.join()
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - before + workers[0]
    found = {"seconds": time.monotonic() - began, "bytes": peak, "bytes_of_workers": workers[0], "before": before}
    Path(report).write_text(json.dumps(found))
    return 0


def _watch_children(over: threading.Event, most: list[int]) -> None:
    """Keeps the largest sum of memory that the processes that decode have for themselves."""
    while not over.wait(0.5):
        with contextlib.suppress(psutil.Error):
            children = psutil.Process().children()
            most[0] = max(most[0], sum(child.memory_full_info().uss for child in children))


def _read(folder: str, table: str) -> None:
    import trilabel as tl

    tl.data.read(table)


def _load(folder: str, table: str) -> None:
    """Every image once, in batches, as training without a cache draws them."""
    import torch

    import trilabel as tl
    from trilabel.data.images import ImageSource, in_order

    paths = tl.data.read(table).paths or ()
    source, seen = ImageSource(paths, SIZE, torch.device("cpu"), _workers()), 0
    for batch in source.batches(in_order(len(paths), 256)):
        seen += len(batch.positions)
    assert seen == len(paths)


def _predict(folder: str, table: str) -> None:
    import trilabel as tl

    paths, out = tl.data.read(table).paths or (), f"{folder}/predictions.csv"
    model = tl.load(f"{folder}/run")
    written = model.predict_to_file(paths, out, batch_size=256, workers=_workers(), overwrite=True)
    assert written.images == len(paths)


def _evaluate(folder: str, table: str) -> None:
    import trilabel as tl

    dataset = tl.data.read(table)
    found = tl.load(f"{folder}/run").evaluate(dataset, "all", batch_size=256, workers=_workers())
    assert found["images"] == len(dataset)


def _workers() -> int:
    return min(2, os.cpu_count() or 1)


def _require_success(ended: Ended) -> None:
    if ended.code:
        raise RuntimeError(f"ended with {ended.code}: {ended.output[-2000:]}")


def summary(run: dict[str, Any] | None, large: dict[str, Any] | None) -> list[dict[str, Any]]:
    """A row for the long run, and one for each step of the large set."""
    rows = []
    if run:
        grown = ", ".join(f"{name} {size:+,} bytes" for name, size in run["growth"].items())
        counts = {"wanted": 1000, "tried": run["epochs"], "lost": len(run["lost"])}
        rows.append({"fault": f"{run['epochs']:,} epochs: {grown}"} | counts)
    if large:
        for name in ("read", "load", "predict", "evaluate"):
            step = large[name]
            speed = f"{step['bytes'] >> 20:,} MB, {step['images_per_second']:,} images/s"
            what = f"{large['images']:,} images, {name}: {speed}"
            lost = sum(each.startswith(name) for each in large["lost"])
            rows.append({"fault": what, "wanted": 1_000_000, "tried": large["images"], "lost": lost})
    return rows


def main() -> int:
    """Prints what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=1000, help="0: no long run")
    parser.add_argument("--images", type=int, default=1_000_000, help="0: no large set")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run = flat_run(Path(temporary) / "long", given.epochs) if given.epochs else None
        large = many_images(Path(temporary) / "large", given.images) if given.images else None
    print(json.dumps({"run": run, "large": large}, indent=1))
    return int(any(part["lost"] for part in (run, large) if part))


if __name__ == "__main__":
    sys.exit(main())
