"""Average precision against a loop over scikit-learn, and the memory of a large, mostly unknown label matrix.

    python benchmarks/bench_metrics.py

Prints a table; exits 1 if a target is missed. Both sides are timed in turns and the best of each counts. The memory is
the peak during a call less what was in use before it, as Linux counts them.
"""

import resource
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import average_precision_score

from trilabel import metrics

TIMES_FASTER, EQUAL_TO, MEMORY_GB = 15, 1e-6, 2.0


class SparseLabels:
    def __init__(self, csr):
        self.csr = csr

    def to_signed(self):
        return self.csr.toarray()


def coco_like():
    """40,137 images, 80 classes, 2.3 present ones an image, mAP about 0.66: the size and skew of COCO's test images."""
    rng = np.random.default_rng(0)
    shares = np.clip(np.exp(rng.normal(-4, 0.9, 80)), 0.003, 0.5)
    present = rng.random((40137, 80)) < shares
    scores = 1 / (1 + np.exp(3 - rng.normal(size=present.shape) - 2.7 * present))
    return scores.astype(np.float32), present


def scikit_learn(scores, present):
    return np.array([average_precision_score(present[:, c], scores[:, c]) for c in range(scores.shape[1])])


def seconds(work):
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def speed(name, scores, present):
    labels = np.where(present, 1, -1).astype(np.int8)
    theirs, ours = [], []
    for _ in range(5):
        theirs.append(seconds(lambda: scikit_learn(scores, present)))
        ours += [seconds(lambda: metrics.average_precision(scores, labels)) for _ in range(3)]
    slow, fast = min(t for t, _ in theirs), min(t for t, _ in ours)
    apart = float(np.abs(theirs[0][1] - ours[0][1]).max())
    good = slow / fast >= TIMES_FASTER and apart <= EQUAL_TO
    print(f"{name:<28} scikit-learn {slow * 1e3:6.0f} ms   ours {fast * 1e3:5.1f} ms   ", end="")
    print(f"{slow / fast:5.1f}x (at least {TIMES_FASTER})   apart {apart:.0e}   {'ok' if good else 'MISSED'}")
    whole = min(seconds(lambda: metrics.evaluate(scores, labels))[0] for _ in range(3))
    print(f"{'  all metrics (evaluate)':<28} {whole * 1e3:.0f} ms")
    return good


def peak_gb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def used_gb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e9


def large(form):
    """125,436 × 5,000 float32 scores (2.5 GB), 1 % known; run in a process of its own, whose peak memory is its own."""
    images, classes = 125436, 5000
    rng = np.random.default_rng(0)
    scores = np.empty((images, classes), np.float32)
    for rows in np.array_split(np.arange(images), 50):
        rng.random(out=scores[rows[0] : rows[-1] + 1], dtype=np.float32)
    known = np.unique(rng.integers(0, images * classes, images * classes // 100))
    signs = np.where(rng.random(len(known)) < 0.1, 1, -1).astype(np.int8)
    if form == "dense":
        labels = np.zeros((images, classes), np.int8)
        labels.ravel()[known] = signs
    else:
        labels = SparseLabels(sp.csr_array((signs, divmod(known, classes)), shape=scores.shape))
    del known, signs
    for name, work in (("average_precision", metrics.average_precision), ("evaluate", metrics.evaluate)):
        before = used_gb()
        took, _ = seconds(lambda work=work: work(scores, labels))
        grew = peak_gb() - before
        good = grew <= MEMORY_GB
        print(f"{f'125,436 x 5,000, 1 % known, {form}':<40} {name:<18} {took:5.1f} s   ", end="")
        print(f"{grew:4.2f} GB more (at most {MEMORY_GB:.0f})   {'ok' if good else 'MISSED'}")
        if not good:
            sys.exit(1)


def main():
    if len(sys.argv) > 1:
        return large(sys.argv[1])
    scores, present = coco_like()
    good = [speed("40,137 x 80", scores, present), speed("40,137 x 80, many ties", scores.round(2), present)]
    sys.stdout.flush()
    good += [subprocess.run([sys.executable, __file__, form]).returncode == 0 for form in ("sparse", "dense")]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
