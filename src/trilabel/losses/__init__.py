"""Losses as pure functions: f(logits B×C, labels B×C in +1/−1/0, …) gives a scalar."""

from trilabel.losses.assume_negative import assume_negative, weak_assume_negative
from trilabel.losses.known import asymmetric, bce, focal, known_mean_bce, partial_bce, per_image_bce

__all__ = [
    "assume_negative",
    "asymmetric",
    "bce",
    "focal",
    "known_mean_bce",
    "partial_bce",
    "per_image_bce",
    "weak_assume_negative",
]
