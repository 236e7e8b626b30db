"""Each loss, forward and backward, against plain masked BCE in torch: at most 1.5 times its time.

    python benchmarks/bench_losses.py

288 images × 5,000 classes, float32 logits, int8 labels, CPU with 2 threads; the losses take turns, and the median of
each is compared. Exit 1 when one is slower than allowed.
"""

import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel import losses

IMAGES, CLASSES, ROUNDS, ALLOWED = 288, 5_000, 31, 1.5


def peer(logits: Tensor, labels: Tensor) -> Tensor:
    parts = F.binary_cross_entropy_with_logits(logits, (labels > 0).float(), reduction="none")
    return (parts * (labels != 0)).sum() / labels.numel()


MEASURED: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "torch masked BCE": peer,
    "bce": losses.bce,
    "bce smoothing": lambda x, z: losses.bce(x, z, smoothing=0.1),
    "partial_bce": losses.partial_bce,
    "known_mean_bce": losses.known_mean_bce,
    "per_image_bce": losses.per_image_bce,
    "focal": losses.focal,
    "asymmetric": losses.asymmetric,
    "asymmetric clip 0": lambda x, z: losses.asymmetric(x, z, clip=0),
    "assume_negative": losses.assume_negative,
    "assume_negative smoothing": lambda x, z: losses.assume_negative(x, z, smoothing=0.1),
    "weak_assume_negative": losses.weak_assume_negative,
}


def seconds(loss: Callable[[Tensor, Tensor], Tensor], logits: Tensor, labels: Tensor) -> float:
    logits.grad = None
    start = time.perf_counter()
    loss(logits, labels).backward()
    return time.perf_counter() - start


def main() -> int:
    torch.set_num_threads(2)
    generator = torch.Generator().manual_seed(0)
    # As in training, where activations are far larger: the C library then keeps freed memory instead of returning
    # it to the system after each call, which would cost all of them, the peer too, more than their arithmetic.
    torch.empty(30 * 2**20, dtype=torch.uint8).fill_(0)
    logits = torch.randn(IMAGES, CLASSES, generator=generator).mul_(2).requires_grad_()
    labels = torch.randint(-1, 2, (IMAGES, CLASSES), generator=generator, dtype=torch.int8)

    times: dict[str, list[float]] = {name: [] for name in MEASURED}
    for turn in range(ROUNDS + 3):
        for name, loss in MEASURED.items():
            taken = seconds(loss, logits, labels)
            if turn >= 3:  # the first turns warm up
                times[name].append(taken)

    medians = {name: statistics.median(taken) for name, taken in times.items()}
    allowed = ALLOWED * medians["torch masked BCE"]
    print(f"{IMAGES}×{CLASSES}, forward and backward, median of {ROUNDS}, {torch.get_num_threads()} threads")
    for name, median in medians.items():
        ratio = median / medians["torch masked BCE"]
        print(f"{name:26} {median * 1e3:8.2f} ms  × {ratio:.2f}{'  TOO SLOW' if median > allowed else ''}")
    return int(max(medians.values()) > allowed)


if __name__ == "__main__":
    sys.exit(main())
