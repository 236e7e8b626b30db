"""Matching pursuit of all images at once against a loop over images with scikit-learn: at least 20 times as fast.

    python benchmarks/bench_omp.py

256 images, each explained by 5 of the 255 others; 2,048 features as pooled ReLU features are: not negative, and alike
within clusters. Both sides are timed in turns and the best of each counts. scikit-learn knows no coefficients that
must not be negative, so results are compared where its own, after each of the 5 steps, are not. Exit 1 when it is not
20 times as fast or not the same there.
"""

import sys
from time import perf_counter

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import orthogonal_mp

from trilabel.methods.imcl.omp import joint_omp

IMAGES, FEATURES, CLUSTERS, K, ROUNDS = 256, 2_048, 16, 5, 5
TIMES_FASTER, EQUAL_TO = 20, 1e-4


def clustered() -> NDArray[np.float32]:
    draw = np.random.default_rng(0)
    centres = draw.gamma(0.4, 1.0, (CLUSTERS, FEATURES))
    spread = draw.gamma(0.3, 1.0, (IMAGES, FEATURES))
    return (centres[draw.integers(0, CLUSTERS, IMAGES)] + spread).astype(np.float32)


def scikit_learn(features: NDArray[np.float32], path: bool = False) -> list[NDArray[np.float32]]:
    """Coefficients of each image, 255, or 255 × steps where the whole path is asked for."""
    lengths = np.linalg.norm(features, axis=1)
    units = features / lengths[:, None]
    found = []
    for image in range(IMAGES):
        others = np.delete(np.arange(IMAGES), image)
        solved = orthogonal_mp(units[others].T, features[image], n_nonzero_coefs=K, return_path=path)
        found.append((solved.T / lengths[others]).T)
    return found


def ours(features: torch.Tensor) -> torch.Tensor:
    found = joint_omp([features], [features], [1.0], K, torch.arange(IMAGES))
    return torch.zeros(IMAGES, IMAGES).scatter_add_(1, found.index, found.coefficients[0])


def apart(features: NDArray[np.float32]) -> tuple[int, float]:
    """(images whose path scikit-learn walks without a negative coefficient, largest difference among these)."""
    mine, compared, largest = ours(torch.from_numpy(features)).numpy(), 0, 0.0
    for image, path in enumerate(scikit_learn(features, path=True)):
        if (path >= 0).all():
            compared += 1
            theirs = np.insert(path[:, -1], image, 0)
            same_support = ((theirs > 0) == (mine[image] > 0)).all()
            largest = max(largest, float(np.abs(theirs - mine[image]).max()) if same_support else np.inf)
    return compared, largest


def main() -> int:
    features = clustered()
    on_torch, theirs, mine = torch.from_numpy(features), [], []
    for _ in range(ROUNDS):
        start = perf_counter()
        scikit_learn(features)
        theirs.append(perf_counter() - start)
        for _ in range(3):
            start = perf_counter()
            ours(on_torch)
            mine.append(perf_counter() - start)
    ratio, (compared, largest) = min(theirs) / min(mine), apart(features)
    print(f"{IMAGES} images × {FEATURES} features, {K} neighbours each, {torch.get_num_threads()} threads")
    print(f"loop over scikit-learn {min(theirs) * 1e3:8.1f} ms\nall at once            {min(mine) * 1e3:8.1f} ms")
    print(
        f"{compared} of {IMAGES} images are without negative coefficients: apart {largest:.0e} (at most {EQUAL_TO:g})"
    )
    missed = ratio < TIMES_FASTER or not compared or largest > EQUAL_TO
    print(f"{'missed' if missed else 'met'}: {ratio:.1f} times as fast (at least {TIMES_FASTER})")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
