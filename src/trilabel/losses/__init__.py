"""Losses as pure functions: f(logits B×C, labels B×C in +1/−1/0, …) gives a scalar."""

from trilabel.losses._cross_entropy import with_gradient
from trilabel.losses._inputs import unknown_as_absent
from trilabel.losses.assume_negative import assume_negative, weak_assume_negative
from trilabel.losses.asymmetric import asymmetric
from trilabel.losses.bce import bce, known_mean_bce, partial_bce, per_image_bce
from trilabel.losses.expected_positive import expected_positive
from trilabel.losses.focal import focal
from trilabel.losses.hill import hill
from trilabel.losses.ignore_unobserved_negatives import ignore_unobserved_negatives
from trilabel.losses.large_loss import large_loss, large_unknown
from trilabel.losses.lsep import lsep
from trilabel.losses.pairwise_ranking import pairwise_ranking
from trilabel.losses.partial_asymmetric import partial_asymmetric
from trilabel.losses.posterior import one_of_k_log_factor, posterior, target_bce
from trilabel.losses.ranknet import ranknet
from trilabel.losses.role import role
from trilabel.losses.splc import splc
from trilabel.losses.warp import warp

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
    "one_of_k_log_factor",
    "pairwise_ranking",
    "partial_asymmetric",
    "partial_bce",
    "per_image_bce",
    "posterior",
    "ranknet",
    "role",
    "splc",
    "target_bce",
    "unknown_as_absent",
    "warp",
    "weak_assume_negative",
    "with_gradient",
]
