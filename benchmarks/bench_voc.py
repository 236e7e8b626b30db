"""Reading PASCAL VOC 2012 (11,540 images with labels and boxes), which should take less than five seconds.

python benchmarks/bench_voc.py VOCdevkit
"""

import sys
import time
from pathlib import Path

LONGEST = 5.0


def main() -> int:
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        print("no folder VOCdevkit given as argument: nothing to measure")
        return 0
    from trilabel.data import read

    times = []
    for _ in range(3):
        start = time.perf_counter()
        dataset = read(sys.argv[1], "voc")
        times.append(time.perf_counter() - start)
    boxes = len(dataset.boxes.cls) if dataset.boxes else 0
    print(f"{len(dataset):,} images, {len(dataset.classes)} classes, {boxes:,} boxes")
    for split, rows in dataset.splits.items():
        present, absent = dataset.labels[rows].counts_per_class()
        print(f"\n{split}: {len(rows):,} images\n{'class':>14} {'present':>8} {'absent':>8} {'unknown':>8}")
        for name, yes, no in zip(dataset.classes, present, absent, strict=True):
            print(f"{name:>14} {yes:>8,} {no:>8,} {len(rows) - yes - no:>8,}")
    print(f"\nfirst reading {times[0]:.2f} s, best of three {min(times):.2f} s (at most {LONGEST} s)")
    return int(min(times) > LONGEST)


if __name__ == "__main__":
    sys.exit(main())
