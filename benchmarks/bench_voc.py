"""Reading PASCAL VOC 2012 (11,540 images with labels and boxes), which should take less than five seconds.

python benchmarks/bench_voc.py VOCdevkit

Exits with 1 where it takes longer, or where the images with each class are not as many as listed below. That list is
the organisers' table of statistics as it is remembered; no copy of it was at hand to compare it with.
"""

import sys
import time
from pathlib import Path

LONGEST = 5.0
LISTED = {  # images of train and val that show a class not only as a difficult object
    "aeroplane": (327, 343), "bicycle": (268, 284), "bird": (395, 370), "boat": (260, 248), "bottle": (365, 341),
    "bus": (213, 208), "car": (590, 571), "cat": (539, 541), "chair": (566, 553), "cow": (151, 152),
    "diningtable": (269, 269), "dog": (632, 654), "horse": (237, 245), "motorbike": (265, 261), "person": (1994, 2093),
    "pottedplant": (269, 258), "sheep": (171, 154), "sofa": (257, 250), "train": (273, 271), "tvmonitor": (290, 285),
}  # fmt: skip
SIZES = {"train": 5717, "val": 5823}


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
    differing = 0
    for number, split in enumerate(SIZES):
        rows = dataset.splits[split]
        differing += len(rows) != SIZES[split]
        present, absent = dataset.labels[rows].counts_per_class()
        print(f"\n{split}: {len(rows):,} images")
        print(f"{'class':>14} {'present':>8} {'listed':>9} {'absent':>8} {'unknown':>8}")
        for name, yes, no in zip(dataset.classes, present, absent, strict=True):
            differing += yes != LISTED[name][number]
            print(f"{name:>14} {yes:>8,} {LISTED[name][number]:>9,} {no:>8,} {len(rows) - yes - no:>8,}")
    print(f"\n{differing} counts differ from those listed")
    print(f"first reading {times[0]:.2f} s, best of three {min(times):.2f} s (at most {LONGEST} s)")
    return int(min(times) > LONGEST or differing > 0)


if __name__ == "__main__":
    sys.exit(main())
