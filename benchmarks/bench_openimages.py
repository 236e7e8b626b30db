"""Open Images at full size, simulated: read it as published, write trilabel's own file, open it, draw batches.

python benchmarks/bench_openimages.py             1, 6 and 60 million rows (9 million images × 5,000 classes at the end)
python benchmarks/bench_openimages.py --rows 1 3

Every step runs in a process of its own; seconds are those of the processor. Exits with 1 where, at the largest size, a
row takes over 1.5 times the time (reading and writing) or memory that it takes at the smallest, or where a batch of 288
images takes 2 ms or more.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

CLASSES, ROWS_AN_IMAGE, STEP, BATCH = 5_000, 20 / 3, 250_000, 288
MOST_GROWTH, LONGEST_BATCH = 1.5, 2.0
HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def write_release(folder: Path, rows: int) -> None:
    """A release with one file of verified labels; the rows of an image stand together, as in the real one."""
    names = [f"/m/0{number:04d}" for number in range(CLASSES)]
    (folder / "classes-trainable.txt").write_text("\n".join(names) + "\n")
    (folder / "class-descriptions.csv").write_text("".join(f'{name},"Class {name[3:]}"\n' for name in names))
    with (folder / "train-annotations-human-imagelabels.csv").open("wb") as file:
        file.write(b"ImageID,Source,LabelName,Confidence\n")
        for start in range(0, rows, STEP):
            row = np.arange(start, min(start + STEP, rows), dtype=np.uint64)
            image = (row / ROWS_AN_IMAGE).astype(np.uint64)
            ids = image * np.uint64(0x9E3779B97F4A7C15)
            label = (row * np.uint64(2654435761) >> np.uint64(7)) % np.uint64(CLASSES)
            cells = np.empty((len(row), 41), np.uint8)
            cells[:] = np.frombuffer(b"0123456789abcdef,verification,/m/00000,0\n", np.uint8)
            for place in range(16):
                cells[:, place] = HEX[(ids >> np.uint64(60 - 4 * place) & np.uint64(15)).astype(np.intp)]
            for place in range(4):
                cells[:, 34 + place] = 48 + label // np.uint64(10 ** (3 - place)) % np.uint64(10)
            cells[:, 39] = 48 + (image + label) % np.uint64(2)  # of image and class: nothing contradicts itself
            file.write(cells.tobytes())


def memory() -> int:
    """The most memory that this process has had so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(step: str, folder: Path) -> dict[str, Any]:
    """Does one step in this process."""
    from trilabel.data.formats import native, openimages

    own = folder / "open.trilabel"
    before, start, wall = memory(), time.process_time(), time.perf_counter()
    if step == "read":
        dataset = openimages.read(folder, classes="trainable")
        read = {"seconds": time.process_time() - start, "growth": memory() - before}
        start = time.process_time()
        native.write(dataset, own)
        return {**read, "writing": time.process_time() - start, "known": dataset.labels.known, "images": len(dataset)}
    dataset = native.read(own)
    opened = time.perf_counter() - wall
    draw = np.random.default_rng(0)
    times = []
    for _ in range(300):
        rows = draw.integers(len(dataset), size=BATCH)
        start = time.perf_counter()
        dataset.labels.rows(rows)
        times.append(time.perf_counter() - start)
    found = {"opened": opened * 1e3, "batch": float(np.median(times)) * 1e3, "growth": memory() - before}
    wall = time.perf_counter()
    again = native.read(own, verify=True)
    return {**found, "verified": time.perf_counter() - wall, "known": again.labels.known, "size": own.stat().st_size}


def measure_apart(step: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", step, str(folder)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=float, default=[1, 6, 60], help="millions of rows")
    parser.add_argument("--measure", nargs=2, metavar=("STEP", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure[0], Path(options.measure[1]))))
        return 0
    print("       rows     images |    read  µs/row  B/row |   write  µs/row |     file |   open   batch   verified")
    per_row = []
    slowest = 0.0
    for millions in options.rows:
        rows = int(millions * 1e6)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_release(folder, rows)
            made, used = measure_apart("read", folder), measure_apart("open", folder)
        assert made["known"] == used["known"] > 0.99 * rows, "labels went missing on the way"
        per_row.append(((made["seconds"] + made["writing"]) / rows, made["growth"] / rows))
        slowest = max(slowest, used["batch"])
        print(
            f"{rows:>11,} {made['images']:>10,} | {made['seconds']:>5.1f} s {made['seconds'] / rows * 1e6:>7.3f} "
            f"{made['growth'] / rows:>6.0f} | {made['writing']:>5.1f} s {made['writing'] / rows * 1e6:>7.3f} | "
            f"{used['size'] / 1e6:>5.0f} MB | {used['opened']:>3.0f} ms {used['batch']:>4.2f} ms "
            f"{used['verified']:>8.2f} s",
            flush=True,
        )
    time_growth, memory_growth = (last / first for first, last in zip(per_row[0], per_row[-1], strict=True))
    missed = max(time_growth, memory_growth) > MOST_GROWTH or slowest >= LONGEST_BATCH
    print(f"a row at the largest size against the smallest: time {time_growth:.2f} ×, memory {memory_growth:.2f} ×")
    print(
        f"{'missed' if missed else 'met'}: at most {MOST_GROWTH} × a row, a batch of {BATCH} below {LONGEST_BATCH} ms"
    )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
