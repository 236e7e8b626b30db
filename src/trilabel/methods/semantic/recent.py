"""The features of recent known positives of each class."""

import torch
from torch import Tensor, nn

from trilabel.methods.base import AllReduce


class RecentPositives(nn.Module):
    """K places for each class; new positives replace the oldest. An empty place is a zero vector, like nothing."""

    features: Tensor  # C×K×D
    stored: Tensor  # C: positives stored so far

    def __init__(self, classes: int, size: int, features: int) -> None:
        super().__init__()
        self.register_buffer("features", torch.zeros(classes, size, features))
        self.register_buffer("stored", torch.zeros(classes, dtype=torch.int64))

    @staticmethod
    def memory_needed(classes: int, size: int, features: int) -> int:
        """Bytes."""
        return classes * (4 * size * features + 8)

    @torch.no_grad()
    def add(self, features: Tensor, labels: Tensor) -> None:
        """Stores the class features (B×C×D) of the known positives of a batch (B×C), at most K of each class."""
        classes, size, _ = self.features.shape
        present = labels > 0
        number = present.cumsum(0) - 1  # which of the batch's positives of its class it is
        present = present & (number < size)
        place = torch.where(present, (self.stored + number) % size, size)  # the others go to a place that is cut off
        source = torch.full((classes, size + 1), -1, device=labels.device)
        images = torch.arange(len(labels), device=labels.device)[:, None].expand_as(place)
        source = source.scatter_(1, place.t(), images.t())[:, :size]
        new = features[source.clamp(min=0), torch.arange(classes, device=labels.device)[:, None]]
        self.features.copy_(torch.where(source[..., None] >= 0, new.to(self.features.dtype), self.features))
        self.stored += present.sum(0)

    def filled_share(self) -> Tensor:
        """C: the share of places that hold a positive."""
        size = self.features.shape[1]
        return self.stored.clamp(max=size) / size

    @torch.no_grad()
    def sync(self, all_reduce: AllReduce) -> None:
        """Each class gets the memory of the process that stored most of it, so that all processes have the same."""
        most = all_reduce(self.stored, "max")
        # Of processes that stored equally many, the one with the largest first number; only copies of it agree there.
        key = torch.where(self.stored == most, self.features[:, 0, 0], -torch.inf)
        mine = (key == all_reduce(key, "max")).to(self.features.dtype)
        copies = all_reduce(mine, "sum")
        self.features.copy_(all_reduce(self.features * mine[:, None, None], "sum") / copies[:, None, None])
        self.stored.copy_(most)
