"""Reading a long table of labels: 10 million rows, 9 million images × 5,000 classes, against `pandas.read_csv` alone.

python benchmarks/bench_labels.py

Prints time and memory for 1, 3 and 10 million rows and exits with 1 where, at the largest size, reading takes more
than twice the processor time of pandas, or more than four times the memory of the labels that come out of it.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CLASSES, IMAGES_PER_ROW, STEP = 5_000, 0.9, 250_000
MOST_TIME, MOST_MEMORY = 2.0, 4.0
HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


def write_table(path: Path, rows: int) -> None:
    """The first 90 % of the rows are one an image, the others about images that were there before."""
    images = int(rows * IMAGES_PER_ROW)
    with path.open("wb") as file:
        file.write(b"image,label,value\n")
        for start in range(0, rows, STEP):
            row = np.arange(start, min(start + STEP, rows), dtype=np.uint64)
            image = np.where(row < images, row, row * np.uint64(7919) % np.uint64(images))
            ids = image * np.uint64(0x9E3779B97F4A7C15)
            label = (row * np.uint64(2654435761) >> np.uint64(7)) % np.uint64(CLASSES)
            value = (image + label) % np.uint64(2)  # of image and class, so that nothing contradicts itself
            cells = np.empty((len(row), 29), np.uint8)
            cells[:] = np.frombuffer(b"0123456789abcdef,class0000,0\n", np.uint8)
            for place in range(16):
                cells[:, place] = HEX[(ids >> np.uint64(60 - 4 * place) & np.uint64(15)).astype(np.intp)]
            for place in range(4):
                cells[:, 22 + place] = 48 + label // np.uint64(10 ** (3 - place)) % np.uint64(10)
            cells[:, 27] = 48 + value
            file.write(cells.tobytes())


def measure(reader: str, path: str) -> dict[str, float]:
    """Reads the table in this process; seconds are those of the processor, so that other programs do not count."""
    if reader == "pandas":
        import pandas

        read = pandas.read_csv
    else:
        from trilabel.data import read
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    result = read(path)
    seconds = time.process_time() - start
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    stored = 0 if reader == "pandas" else result.labels.nbytes
    return {"seconds": seconds, "growth": growth, "stored": stored, "rows": len(result)}


def measure_apart(reader: str, path: Path, times: int) -> dict[str, float]:
    """The quickest of several runs, each in a process of its own."""
    command = [sys.executable, __file__, "--measure", reader, str(path)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(times)]
    return min(runs, key=lambda run: run["seconds"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--measure", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*options.measure)))
        return 0
    columns = ("rows", 11), ("pandas", 8), ("trilabel", 9), ("ratio", 6), ("µs/row", 7), ("growth", 9), ("B/row", 6)
    print(*(f"{name:>{width}}" for name, width in (*columns, ("of stored", 9))))
    with tempfile.TemporaryDirectory() as folder:
        for rows in (1_000_000, 3_000_000, 10_000_000):
            table = Path(folder) / "labels.csv"
            write_table(table, rows)
            peer, ours = measure_apart("pandas", table, 2), measure_apart("trilabel", table, 2)
            ratio, memory = ours["seconds"] / peer["seconds"], ours["growth"] / ours["stored"]
            print(
                f"{rows:>11,} {peer['seconds']:>6.2f} s {ours['seconds']:>7.2f} s {ratio:>6.2f} "
                f"{ours['seconds'] / rows * 1e6:>7.2f} {ours['growth'] / 1e6:>6.0f} MB {ours['growth'] / rows:>6.0f} "
                f"{memory:>8.2f}×",
                flush=True,
            )
    missed = ratio > MOST_TIME or memory > MOST_MEMORY
    print(f"{'missed' if missed else 'met'}: time at most {MOST_TIME} × pandas, memory at most {MOST_MEMORY} × stored")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
