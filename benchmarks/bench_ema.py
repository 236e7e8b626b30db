"""Our exponential moving average of weights against timm's and torch's, one update and one exchange for scoring.

    python benchmarks/bench_ema.py

ResNet-50 on the GPU where there is one, else on two threads; the three take turns, and the median of each is compared.
Exit 1 when ours is slower than the faster of the others.
"""

import statistics
import sys
import time
from collections.abc import Callable

import torch
from timm.utils import ModelEmaV3
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torchvision.models import resnet50

from trilabel.training.optim import ModelEma

ROUNDS, UPDATES, DECAY = 15, 20, 0.997


def seconds(update: Callable[[], object], device: str) -> float:
    """Of one update, with what the device has still to do."""
    begun = time.perf_counter()
    for _ in range(UPDATES):
        update()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - begun) / UPDATES


def main() -> int:
    """Measures and judges."""
    torch.set_num_threads(2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model: nn.Module = resnet50().to(device)
    ours = ModelEma(model, DECAY)
    timms = ModelEmaV3(model, decay=DECAY)
    torchs = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(DECAY), use_buffers=True)
    updates: dict[str, Callable[[], object]] = {
        "trilabel ModelEma": lambda: ours.update(10_000),
        "timm ModelEmaV3": lambda: timms.update(model, step=10_000),
        "torch AveragedModel": lambda: torchs.update_parameters(model),
    }
    times: dict[str, list[float]] = {name: [] for name in updates}
    for turn in range(ROUNDS + 2):
        for name, update in updates.items():
            taken = seconds(update, device)
            if turn >= 2:  # the first turns warm up
                times[name].append(taken)
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    print(f"ResNet-50 on {device}, one update, median of {ROUNDS} × {UPDATES}")
    for name, median in medians.items():
        print(f"{name:22} {median * 1e3:7.3f} ms  × {median / medians['trilabel ModelEma']:5.2f}")
    others = [median for name, median in medians.items() if not name.startswith("trilabel")]
    return int(medians["trilabel ModelEma"] > min(others))


if __name__ == "__main__":
    sys.exit(main())
