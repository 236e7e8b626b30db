"""Losses as pure functions: f(logits B×C, labels B×C in +1/−1/0, …) gives a scalar."""

from trilabel.losses._parts import unknown_as_absent, with_gradient
from trilabel.losses.assume_negative import assume_negative, weak_assume_negative
from trilabel.losses.known import asymmetric, bce, focal, known_mean_bce, partial_bce, per_image_bce
from trilabel.losses.large_loss import large_loss, large_unknown
from trilabel.losses.ranking import lsep, pairwise_ranking, ranknet, warp
from trilabel.losses.robust import hill, partial_asymmetric, splc
from trilabel.losses.single_positive import expected_positive, ignore_unobserved_negatives, role

__all__ = [
    "assume_negative",
    "asymmetric",
    "bce",
    "expected_positive",
    "focal",
    "hill",
    "ignore_unobserved_negatives",
    "known_mean_bce",
    "large_loss",
    "large_unknown",
    "lsep",
    "pairwise_ranking",
    "partial_asymmetric",
    "partial_bce",
    "per_image_bce",
    "ranknet",
    "role",
    "splc",
    "unknown_as_absent",
    "warp",
    "weak_assume_negative",
    "with_gradient",
]
