"""Known labels counted by class and by image: what all metrics of decisions are computed from."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.metrics.matrices import Truth, to_float32

# Labels handled at a time. On the CPU as many as stay in the cache and as torch still works on in one thread: on blocks
# this small several threads mostly wait for each other, and for long where other programs use the cores.
_AT_ONCE_ON_CPU, _AT_ONCE_ON_CUDA = 2**15 - 1, 2**24


Threshold: TypeAlias = float | Sequence[float] | NDArray[np.float64]  # one, or one per class


class Counts(NamedTuple):
    """Numbers of known labels: present and predicted present, predicted present, present, all known."""

    by_class: NDArray[np.int64]  # 4×C
    by_image: NDArray[np.integer[Any]]  # 4×N


def count(scores: Tensor, truth: Truth, threshold: Threshold | None = None, tops: Sequence[int] = ()) -> list[Counts]:
    """Counts of the predictions at score >= threshold, if given, then of each image's k best classes, for k in tops.

    scores are N×C, truth N×C in +1/−1/0; threshold is one number, or one per class.
    """
    images, classes = scores.shape
    rules = (threshold is not None) + len(tops)
    limit = None if threshold is None else _limit(threshold, classes, scores)
    by_class = torch.zeros(2 + 2 * rules, classes, dtype=torch.int64, device=scores.device)
    by_image = torch.zeros(2 + 2 * rules, images, dtype=torch.int64, device=scores.device)
    for rows, signs in _blocks(truth, scores.device):
        block, present, known = to_float32(scores[rows]), signs > 0, signs != 0
        predictions = [block >= limit] if limit is not None else []
        masks = [present, known]
        for predicted in predictions + _highest(block, tops):
            masks += [predicted & present, predicted & known]
        for i, mask in enumerate(masks):
            by_class[i] += mask.sum(dim=0)
            by_image[i, rows] = mask.sum(dim=1)
    in_class, in_image = by_class.cpu().numpy(), by_image.cpu().numpy()
    parts = [[2 + 2 * rule, 3 + 2 * rule, 0, 1] for rule in range(rules)]
    return [Counts(in_class[part], in_image[part]) for part in parts]


def _limit(threshold: Threshold, classes: int, scores: Tensor) -> Tensor:
    """The threshold as a tensor that scores can be compared with: exact, so in float64."""
    limit = torch.as_tensor(np.asarray(threshold, dtype=np.float64), device=scores.device)
    if limit.ndim and limit.shape != (classes,):
        raise TrilabelError(f"{limit.numel()} thresholds for {classes} classes; give one, or one per class")
    return limit


def _highest(scores: Tensor, tops: Sequence[int]) -> list[Tensor]:
    """For each k of tops the k highest-scored classes of each image, as B×C masks."""
    if not tops:
        return []
    if min(tops) < 1:
        raise TrilabelError(f"top {min(tops)} classes of an image: ask for 1 or more")
    best = scores.topk(min(max(tops), scores.shape[1]), dim=1).values
    masks = []
    for k in (min(k, best.shape[1]) for k in tops):
        above, tied = scores > best[:, k - 1 : k], scores == best[:, k - 1 : k]
        # topk's own indices would choose among tied classes in an order that depends on the device.
        masks.append(above | (tied & (tied.cumsum(dim=1) <= k - above.sum(dim=1, keepdim=True))))
    return masks


def _blocks(truth: Truth, device: torch.device) -> Iterator[tuple[slice, Tensor]]:
    """(rows, their labels) a few rows at a time, so that intermediate results stay small."""
    images, classes = truth.shape
    step = max(1, (_AT_ONCE_ON_CUDA if device.type == "cuda" else _AT_ONCE_ON_CPU) // max(1, classes))
    for start in range(0, images, step):
        rows = slice(start, start + step)
        yield rows, truth[rows] if isinstance(truth, Tensor) else torch.from_numpy(truth[rows].toarray()).to(device)
