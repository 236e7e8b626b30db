"""Scores of a classifier against labels that are present (+1), absent (−1) or unknown (0).

Everywhere: scores are N×C floats (NumPy or torch, on the CPU or on CUDA), the higher the more likely present; labels
are N×C in +1/−1/0 (NumPy, torch, or `Labels`). Unknown labels are left out of every count. A class without a known
positive has neither AP nor recall: every mean over classes leaves it out. Results lie in 0..1; nan where undefined.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.metrics.average_precision import per_class, to_float32
from trilabel.metrics.matrices import LabelMatrix, Matrix, Truth, checked, tensor

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

# Labels handled at a time. On the CPU as many as stay in the cache and as torch still works on in one thread: on blocks
# this small several threads mostly wait for each other, and for long where other programs use the cores.
_CPU_BLOCK, _CUDA_BLOCK = 2**15 - 1, 2**24


# ---- ranking


def average_precision(scores: Matrix, labels: LabelMatrix) -> Floats:
    """Average precision of each class [C] over its known labels; tied scores count as one step, as in scikit-learn.

    >>> average_precision(np.array([[0.9, 0.1], [0.4, 0.2], [0.7, 0.3]]), np.array([[1, -1], [1, 0], [-1, -1]]))
    array([0.83333333,        nan])
    """
    return per_class(*checked(scores, labels))[0]


def interpolated_average_precision(scores: Matrix, labels: LabelMatrix) -> Floats:
    """Area [C] under the precision envelope, which never rises with recall (PASCAL VOC from 2010 on).

    Tied scores are one step here too. Released VOC scripts rank them in the order a sort happens to leave.
    """
    return per_class(*checked(scores, labels))[1]


def mean(values: ArrayLike) -> float:
    """Mean of the values that are defined (not nan); nan if none is."""
    numbers = np.asarray(values, dtype=np.float64)
    defined = numbers[~np.isnan(numbers)]
    return float(defined.mean()) if defined.size else float("nan")


def map_by_group(ap: ArrayLike, annotations: ArrayLike, groups: int = 5) -> Floats:
    """Mean AP of G1, G2, … [groups]: classes ordered by their number of training annotations, G1 the fewest.

    ap and annotations hold one number a class. Groups differ by at most one class in size, the first ones are larger;
    classes with equally many annotations keep their order.
    """
    values, amounts = np.asarray(ap, dtype=np.float64), np.asarray(annotations)
    if values.ndim != 1 or values.shape != amounts.shape:
        raise TrilabelError(f"AP has shape {values.shape} and annotations {amounts.shape}; give one number a class")
    if not 1 <= groups <= len(values):
        raise TrilabelError(f"{groups} groups of {len(values)} classes; ask for 1 to {len(values)}")
    return np.array([mean(values[part]) for part in np.array_split(np.argsort(amounts, kind="stable"), groups)])


# ---- counting


def precision_recall_f1(
    scores: Matrix, labels: LabelMatrix, threshold: float = 0.5, top: int | None = None
) -> dict[str, float]:
    """CP CR CF1 (means over classes) and OP OR OF1 (all labels together).

    Predicted present is a score >= threshold or, with `top`, each image's `top` highest-scored classes, known or not
    (among equal scores the first classes). CF1 is the harmonic mean of CP and CR. Nothing predicted is precision 0.
    """
    table, truth = checked(scores, labels)
    tally = _tally(table, truth, threshold) if top is None else _tally(table, truth, tops=[top])
    return _overall_and_per_class(tally[0])


def macro_f1(scores: Matrix, labels: LabelMatrix, threshold: float = 0.5) -> float:
    """Mean over classes of each class's F1 at score >= threshold."""
    return _macro_f1(_tally(*checked(scores, labels), threshold)[0])


def micro_f1(scores: Matrix, labels: LabelMatrix, threshold: float = 0.5) -> float:
    """F1 of all known labels together at score >= threshold; the same number as OF1."""
    return precision_recall_f1(scores, labels, threshold)["OF1"]


def exact_match(scores: Matrix, labels: LabelMatrix, threshold: float = 0.5) -> float:
    """Share of images with every known label right at score >= threshold; images without a known label are left out."""
    return _exact_match(_tally(*checked(scores, labels), threshold)[0])


def precision_at_k(scores: Matrix, labels: LabelMatrix, k: int) -> float:
    """Share of present among the known of an image's k highest-scored classes, averaged over images that have any."""
    return _at_k(_tally(*checked(scores, labels), tops=[k])[0])[0]


def recall_at_k(scores: Matrix, labels: LabelMatrix, k: int) -> float:
    """Share of an image's known present classes among its k highest-scored, averaged over images that have any."""
    return _at_k(_tally(*checked(scores, labels), tops=[k])[0])[1]


class _Tally(NamedTuple):
    """Known labels counted: present and predicted present, predicted present, present, all."""

    by_class: Counts  # 4×C
    by_image: Counts  # 4×N


def _tally(scores: Tensor, truth: Truth, threshold: float | None = None, tops: Sequence[int] = ()) -> list[_Tally]:
    """One for what is predicted at the threshold, if there is one, then one for each number of top classes."""
    images, classes = scores.shape
    rules = (threshold is not None) + len(tops)
    by_class = torch.zeros(2 + 2 * rules, classes, dtype=torch.int64, device=scores.device)
    by_image = torch.zeros(2 + 2 * rules, images, dtype=torch.int64, device=scores.device)
    for rows, signs in _blocks(truth, scores.device):
        block, present, known = to_float32(scores[rows]), signs > 0, signs != 0
        predictions = [block >= threshold] if threshold is not None else []
        masks = [present, known]
        for predicted in predictions + _highest(block, tops):
            masks += [predicted & present, predicted & known]
        for i, mask in enumerate(masks):
            by_class[i] += mask.sum(dim=0)
            by_image[i, rows] = mask.sum(dim=1)
    in_class, in_image = by_class.cpu().numpy(), by_image.cpu().numpy()
    parts = [[2 + 2 * rule, 3 + 2 * rule, 0, 1] for rule in range(rules)]
    return [_Tally(in_class[part], in_image[part]) for part in parts]


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
        # topk's own indices would pick among tied classes as they please, and differently on each device.
        masks.append(above | (tied & (tied.cumsum(dim=1) <= k - above.sum(dim=1, keepdim=True))))
    return masks


def _blocks(truth: Truth, device: torch.device) -> Iterator[tuple[slice, Tensor]]:
    """Labels a few rows at a time, so that whatever is computed from them stays small."""
    images, classes = truth.shape
    step = max(1, (_CUDA_BLOCK if device.type == "cuda" else _CPU_BLOCK) // max(1, classes))
    for start in range(0, images, step):
        rows = slice(start, start + step)
        yield rows, truth[rows] if isinstance(truth, Tensor) else torch.from_numpy(truth[rows].toarray()).to(device)


def _overall_and_per_class(tally: _Tally) -> dict[str, float]:
    hits, predicted, present, _ = tally.by_class
    judged = present > 0
    cp, cr = mean(_share(hits, predicted)[judged]), mean(_share(hits, present)[judged])
    total = present.sum()
    op, or_ = (float(_share(hits.sum(), n)) if total else float("nan") for n in (predicted.sum(), total))
    return {"CP": cp, "CR": cr, "CF1": _harmonic(cp, cr), "OP": op, "OR": or_, "OF1": _harmonic(op, or_)}


def _macro_f1(tally: _Tally) -> float:
    hits, predicted, present, _ = tally.by_class
    return mean(_share(2 * hits, predicted + present)[present > 0])


def _exact_match(tally: _Tally) -> float:
    hits, predicted, present, known = tally.by_image
    return mean((predicted + present == 2 * hits)[known > 0])


def _at_k(tally: _Tally) -> tuple[float, float]:
    hits, predicted, present, _ = tally.by_image
    return mean(_share(hits, predicted)[predicted > 0]), mean(_share(hits, present)[present > 0])


def _share(part: Any, whole: Any) -> Floats:
    """part / whole, 0 where whole is 0."""
    return np.asarray(part / np.maximum(whole, 1), dtype=np.float64)


def _harmonic(a: float, b: float) -> float:
    return 2 * a * b / (a + b) if a + b != 0 else 0.0


# ---- looking at the right place


class Boxes(Protocol):
    """Objects drawn around in images, M of them (`trilabel.data.Boxes` is one)."""

    @property
    def image(self) -> NDArray[np.int64]: ...  # M: row of the scores
    @property
    def cls(self) -> NDArray[np.int64]: ...  # M: column of the labels
    @property
    def xyxy(self) -> NDArray[np.float32]: ...  # M×4: left, top, right, bottom in [0, 1]


def pointing_game(maps: Matrix, labels: LabelMatrix, boxes: Boxes) -> float:
    """Share of the present classes of all images whose class map peaks inside a box of that class.

    maps N×C×H×W; the peak is the centre of the first highest cell. Present classes without a box are left out, since
    nobody knows where they are.
    """
    hits, pairs = pointing_counts(maps, labels, boxes).sum(axis=1)
    return float(hits / pairs) if pairs else float("nan")


def pointing_counts(maps: Matrix, labels: LabelMatrix, boxes: Boxes) -> Counts:
    """The pointing game of some images counted [2×C]: present classes that peak inside a box, and all that have one.

    Counts of batches add up to those of all images, whose maps need not be in memory at once.
    """
    stack = tensor(maps)
    image, label, corners = np.asarray(boxes.image), np.asarray(boxes.cls), np.asarray(boxes.xyxy)
    if stack.ndim != 4 or corners.shape != (len(image), 4) or label.shape != image.shape:
        raise TrilabelError(
            f"class maps {tuple(stack.shape)}, boxes {image.shape}, {label.shape}, {corners.shape}; "
            "give N×C×H×W maps, and M image rows, M classes and M×4 corners"
        )
    images, classes, height, width = stack.shape
    if len(image) == 0:
        return np.zeros((2, classes), np.int64)
    if min(image.min(), label.min()) < 0 or image.max() >= images or label.max() >= classes:
        raise TrilabelError(f"a box lies outside the {images} images or {classes} classes; count from 0")
    highest, peak = stack.flatten(2).max(dim=2)
    truth = checked(highest, labels)[1]
    signs = truth.cpu().numpy() if isinstance(truth, Tensor) else truth.toarray()
    row, column = np.divmod(peak.cpu().numpy()[image, label], width)
    x, y = (column + 0.5) / width, (row + 0.5) / height
    x0, y0, x1, y1 = corners.T
    inside = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1)
    present = signs[image, label] > 0
    pairs = image * classes + label
    return np.stack(
        [np.bincount(np.unique(pairs[chosen]) % classes, minlength=classes) for chosen in (present & inside, present)]
    )


# ---- all together


def evaluate(
    scores: Matrix, labels: LabelMatrix, threshold: float = 0.5, class_names: Sequence[str] | None = None
) -> dict[str, Any]:
    """Every metric above as plain numbers that json can write, None where one is undefined.

    Keys: mAP, mAP_interpolated; CP CR CF1 OP OR OF1 at score >= threshold and, ending in _top3, of each image's 3
    highest-scored classes; macro_F1, micro_F1, exact_match; precision_at_k and recall_at_k for k = 1, 3, 5 up to the
    number of classes; images, classes, known_share, classes_without_ap, per_class_ap (and class_names, where given).
    """
    table, truth = checked(scores, labels, class_names)
    images, classes = table.shape
    ap, interpolated = per_class(table, truth)
    tops = [3, *(k for k in (1, 3, 5) if k <= classes)]
    tally, top3, *at_tops = _tally(table, truth, threshold, tops)
    numbers = {"mAP": mean(ap), "mAP_interpolated": mean(interpolated)}
    numbers |= _overall_and_per_class(tally)
    numbers |= {f"{name}_top3": value for name, value in _overall_and_per_class(top3).items()}
    numbers |= {"macro_F1": _macro_f1(tally), "micro_F1": numbers["OF1"], "exact_match": _exact_match(tally)}
    for k, at_top in zip(tops[1:], at_tops, strict=True):
        numbers[f"precision_at_{k}"], numbers[f"recall_at_{k}"] = _at_k(at_top)
    numbers["known_share"] = tally.by_class[3].sum() / table.numel() if table.numel() else float("nan")
    result: dict[str, Any] = {name: _plain(value) for name, value in numbers.items()}
    result |= {"images": images, "classes": classes, "classes_without_ap": int(np.isnan(ap).sum())}
    result["per_class_ap"] = [_plain(value) for value in ap]
    return result | ({"class_names": list(class_names)} if class_names is not None else {})


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


class Accumulator:
    """The scores of a pass over a data set, whatever the order, each image once however often it was added.

    Every process adds its own share and calls `gather` once at the end. Scores are kept on the CPU in float32; `add`
    waits for the device only to copy the batch over.
    """

    def __init__(self, images: int, classes: int) -> None:
        self._scores = torch.empty(images, classes)
        self._scored = torch.zeros(images, dtype=torch.bool)

    def add(self, index: Tensor, scores: Tensor) -> None:
        """Scores B×C of the images at positions index [B] of the data set; what was there for them is replaced."""
        images, classes = self._scores.shape
        if index.ndim != 1 or tuple(scores.shape) != (len(index), classes):
            raise TrilabelError(
                f"index {tuple(index.shape)} and scores {tuple(scores.shape)}; give B positions and B×{classes} scores"
            )
        index = index.cpu().long()
        low, high = (int(index.min()), int(index.max())) if len(index) else (0, 0)
        if low < 0 or high >= max(1, images):
            raise TrilabelError(f"positions {low} to {high} in a data set of {images} images; count from 0")
        self._scores[index] = scores.detach().to("cpu", torch.float32)
        self._scored[index] = True

    def merge(self, other: "Accumulator") -> None:
        """Take over what another one of the same data set has collected."""
        index = other._scored.nonzero().squeeze(1)
        self.add(index, other._scores[index])

    def gather(self, all_gather: Callable[[Tensor], Tensor]) -> None:
        """Take over what every process has collected. All of them must call it; their shares may differ in size.

        all_gather: tensor -> tensor with a leading process dimension, as `fabric.all_gather` (one process may leave the
        dimension out).
        """
        mine = self._scored.nonzero().squeeze(1)
        longest = int(all_gather(torch.tensor([len(mine)])).max())
        step = max(1, _CUDA_BLOCK // max(1, self._scores.shape[1]))  # so that a device need not hold all at once
        for start in range(0, longest, step):
            index = mine[start : start + step]
            size = min(step, longest - start)
            # Processes must send equal shapes: shorter shares are filled up with position -1, which is dropped again.
            positions = torch.cat((index, index.new_full((size - len(index),), -1)))
            rows = torch.zeros(size, self._scores.shape[1])
            rows[: len(index)] = self._scores[index]
            all_positions = all_gather(positions).cpu().reshape(-1, size)
            all_rows = all_gather(rows).cpu().reshape(len(all_positions), size, -1)
            # One process after the other, so that all of them keep the same one where shares overlap.
            for index, rows in zip(all_positions, all_rows, strict=True):
                self.add(index[index >= 0], rows[index >= 0])

    def scores(self) -> Tensor:
        """Scores N×C, float32, in the order of the data set."""
        if not bool(self._scored.all()):
            missing = (~self._scored).nonzero().squeeze(1)
            raise TrilabelError(
                f"{len(missing)} of {len(self._scored)} images were never scored, the first at position "
                f"{int(missing[0])}; add every image of the data set once"
            )
        return self._scores
