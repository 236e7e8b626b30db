"""What IMCL keeps of all training images where it does not learn which are similar (Huynh 2020, table 4)."""

import torch
from torch import Tensor, nn

from trilabel.methods.base import AllReduce


class InitialVectors(nn.Module):
    """Labels and features of all training images, as a model saw them once; zero vectors before, similar to nothing."""

    labels: Tensor  # N×C, unknown ones as predicted
    features: Tensor  # N×D
    strengths: Tensor  # C×k_a, how strongly labels are related at the start
    kept: Tensor  # whether the vectors are there

    def __init__(self, shape: tuple[int, int], features: int, strengths: Tensor) -> None:
        super().__init__()
        self.register_buffer("labels", torch.zeros(shape))
        self.register_buffer("features", torch.zeros(shape[0], features))
        self.register_buffer("kept", torch.tensor(False))
        self.register_buffer("strengths", strengths, persistent=False)

    @property
    def found(self) -> bool:
        """Whether the vectors are there. Waits for the device."""
        return bool(self.kept)

    def keep(self, rows: Tensor, labels: Tensor, features: Tensor) -> None:
        """Keeps the vectors of these images."""
        self.labels[rows], self.features[rows] = labels, features

    def sync(self, all_reduce: AllReduce) -> None:
        """Once each process has kept its part of the images, all processes get those of all."""
        for part in (self.labels, self.features):
            part.copy_(all_reduce(part, "sum"))
        self.kept.fill_(True)

    def of(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """(labels, features) of the images in these rows, zero for row −1."""
        real, places = (rows >= 0)[:, None], rows.clamp(min=0)
        return self.labels[places] * real, self.features[places] * real
