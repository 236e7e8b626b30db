"""Memory and time of ROLE's label estimates: the table against dense Adam, and the estimators for larger data.

    python benchmarks/bench_role.py

A step is the method's part of one: estimates, loss, backward and their update, on given logits and features, batch
288, CPU with one thread; memory is the peak of a process that does nothing else, labels and libraries included. The
table of 200,000 images × 600 classes is compared with Adam over the whole table, as the paper's code has it. The
others are measured for 9 million images × 5,000 classes with one known positive per image. Exit 1 when the table takes
more than a tenth of the time of dense Adam, or one of the others more than 8 GB.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.labels import Labels
from trilabel.methods import Batch, create_method
from trilabel.models import Output

BATCH, FEATURES, WARM_UP, STEPS = 288, 2_048, 3, 15
SMALL, LARGE = (200_000, 600), (9_000_000, 5_000)
MOST_TIME, MOST_GB = 0.1, 8.0
MEASURED = {"dense Adam": SMALL, "table": SMALL, "factorized": LARGE, "network": LARGE}


class Given(nn.Module):
    """A model that costs nothing, so that only the method is measured."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.randn(BATCH, classes))

    def forward(self, images: Tensor) -> Output:
        return Output(self.logits, images)


def one_positive(images: int, classes: int) -> Labels:
    columns = np.arange(images) * 7_919 % classes
    ones, starts = np.ones(images, np.int8), np.arange(images + 1)
    return Labels.from_csr(sp.csr_array((ones, columns, starts), shape=(images, classes)))


def dense_adam(labels: Labels) -> Callable[[Batch], None]:
    """The whole table as one parameter: what the sparse update saves."""
    table, model = nn.Parameter(torch.zeros(labels.shape)), Given(labels.shape[1])
    adam = torch.optim.Adam([table], lr=0.01)

    def step(batch: Batch) -> None:
        adam.zero_grad()
        losses.role(model(batch.images).logits, batch.labels, table[batch.rows], 1.5).backward()
        adam.step()

    return step


def ours(estimator: str, labels: Labels) -> Callable[[Batch], None]:
    settings = {"expected_positives": 1.5, "estimator": estimator}
    method, model = create_method("role", settings, labels, features=FEATURES), Given(labels.shape[1])
    for buffer in method.buffers():
        buffer.add_(0)  # memory is only allocated when first written, and a few steps write little of it
    own = [{"params": parameters, "lr": 1e-3 * scale} for parameters, scale in method.parameter_groups()]
    adam = torch.optim.Adam(own) if own else None

    def step(batch: Batch) -> None:
        if adam:
            adam.zero_grad()
        method.step(model, batch)["loss"].backward()
        if adam:
            adam.step()

    return step


def measure(name: str) -> dict[str, float]:
    torch.set_num_threads(1)  # so that what else runs on the machine shows least
    torch.manual_seed(0)
    labels = one_positive(*MEASURED[name])
    step = dense_adam(labels) if name == "dense Adam" else ours(name, labels)
    draw, times = np.random.default_rng(0), []
    for _ in range(WARM_UP + STEPS):
        rows = np.unique(draw.integers(0, len(labels), 2 * BATCH))
        rows = draw.permutation(rows)[:BATCH]
        batch = Batch(torch.randn(BATCH, FEATURES), None, labels.rows(rows), torch.from_numpy(rows), 1)
        start = time.perf_counter()
        step(batch)
        times.append(time.perf_counter() - start)
    return {
        "seconds": statistics.median(times[WARM_UP:]),
        "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def measure_apart(name: str) -> dict[str, float]:
    """In a process of its own, so that the peaks do not mix."""
    done = subprocess.run([sys.executable, __file__, "--measure", name], check=True, stdout=subprocess.PIPE)
    numbers: dict[str, float] = json.loads(done.stdout)
    return numbers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", choices=MEASURED, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return 0
    results = {}
    print(f"{'estimates':12} {'images × classes':>20} {'a step':>10} {'memory':>10}")
    for name, (images, classes) in MEASURED.items():
        results[name] = found = measure_apart(name)
        size, gigabytes = f"{images:,} × {classes:,}", found["bytes"] / 1e9
        print(f"{name:12} {size:>20} {found['seconds'] * 1e3:>7.1f} ms {gigabytes:>7.2f} GB", flush=True)
    images, classes = LARGE
    print(f"{'table':12} {f'{images:,} × {classes:,}':>20} {'—':>10} {12 * images * classes / 1e9:>7.0f} GB (computed)")
    ratio = results["table"]["seconds"] / results["dense Adam"]["seconds"]
    most = max(results[name]["bytes"] for name in ("factorized", "network")) / 1e9
    missed = ratio > MOST_TIME or most > MOST_GB
    print(
        f"{'missed' if missed else 'met'}: a table step is {ratio:.3f} of dense Adam's (at most {MOST_TIME}), the "
        f"others {most:.2f} GB (at most {MOST_GB:g})"
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
