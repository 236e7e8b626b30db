"""The memory of recent images in which IMCL looks for similar ones."""

import torch
from torch import Tensor, nn

from trilabel.methods.base import AllReduce


class Memory(nn.Module):
    """Labels and features of recent images, as they were then; an empty place is a zero vector, similar to nothing."""

    labels: Tensor  # M×C
    features: Tensor  # M×D
    rows: Tensor  # M: row of the image in the training labels, −1 for none
    position: Tensor  # where the next image is stored

    def __init__(self, size: int, classes: int, features: int) -> None:
        super().__init__()
        self.size = size
        self.register_buffer("labels", torch.zeros(size, classes))
        self.register_buffer("features", torch.zeros(size, features if size else 0))
        self.register_buffer("rows", torch.full((size,), -1))
        self.register_buffer("position", torch.tensor(0))

    def appended_to(self, rows: Tensor, labels: Tensor, features: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(rows, labels, features) of the batch, then of the memory, without the images that are in the batch."""
        if not self.size:
            return rows, labels, features
        other = (self.rows[:, None] != rows).all(1)
        remembered = self.rows.where(other, -1), self.labels * other[:, None], self.features * other[:, None]
        all_rows, all_labels, all_features = map(torch.cat, zip((rows, labels, features), remembered, strict=True))
        return all_rows, all_labels, all_features

    def add(self, rows: Tensor, labels: Tensor, features: Tensor) -> None:
        """Stores these images in place of the oldest ones."""
        if not self.size:
            return
        count = min(self.size, len(rows))
        places = (self.position + torch.arange(count, device=rows.device)) % self.size
        for memory, new in ((self.rows, rows), (self.labels, labels), (self.features, features)):
            memory.index_copy_(0, places, new[len(new) - count :])
        self.position.add_(count).remainder_(self.size)

    def sync(self, all_reduce: AllReduce) -> None:
        """Each place gets the image of the process with the highest row there, so that all processes have the same."""
        if not self.size:
            return
        rows = all_reduce(self.rows, "max")
        mine = (self.rows == rows).float()
        processes = all_reduce(mine, "sum")
        for memory in (self.labels, self.features):
            memory.copy_(all_reduce(memory * mine[:, None], "sum") / processes[:, None])
        self.rows.copy_(rows)
        self.position.copy_(all_reduce(self.position, "max"))
