"""From logits to decisions: fitted on samples that were left out of a fit, or on those that are yet to be learned."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.estimator.encoding import Encoded
from trilabel.estimator.fitting import Plan, Samples, fit, score
from trilabel.estimator.network import FeatureNetwork
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.labels.rates import Rates, mean_rates
from trilabel.training.decisions import Decisions, fit_decisions

_FOLDS, _ENOUGH = 5, 500  # samples left out; with fewer than that in a fold several folds are
_MOST = 2**20  # labels that are looked at, known or not: of those left out, the first
_FEWEST = 20  # samples below which nothing is fitted
_RECENT = 2_000  # samples of the last parts that decide


def plain(classes: int, threshold: float = 0.5) -> Decisions:
    """Probabilities as the network gives them, and one threshold."""
    return Decisions(1.0, [0.0] * classes, [threshold] * classes, "nothing was fitted")


def decided_by_folds(plan: Plan, samples: Samples) -> Decisions:
    """Fits again without some of the samples, which are then scored; as often as needed for enough of them."""
    count, labels = len(samples.rows), samples.labels
    if count < _FEWEST:
        return plain(labels.shape[1])
    folds = np.random.default_rng(plan.seed).permutation(count) % _FOLDS
    logits, scored, rates = list[Tensor](), list[NDArray[np.int64]](), list[Rates | None]()
    for fold in range(min(_FOLDS, math.ceil(_FOLDS * _ENOUGH / count))):
        left_out = folds == fold
        try:
            fitted = fit(plan, samples.part(~left_out))
        except TrilabelError:  # too few labels are left to learn from
            continue
        scored.append(np.flatnonzero(left_out)[: max(_ENOUGH, _MOST // labels.shape[1])])
        logits += score(fitted.network, samples.inputs, samples.rows[scored[-1]])
        rates.append(fitted.method.known_rates())
    if not scored:
        return plain(labels.shape[1])
    chosen = labels[np.concatenate(scored)]
    found = fit_decisions(torch.cat(logits), chosen, expected_positives(labels), rates=mean_rates(rates))
    return plain(labels.shape[1]) if found is None else found


@dataclass(frozen=True)
class Recent:
    """The last samples that were scored before they were learned from."""

    logits: Tensor
    known: sp.csr_array  # their labels

    @classmethod
    def none(cls, classes: int) -> "Recent":
        """No sample yet."""
        return cls(torch.zeros(0, classes), sp.csr_array((0, classes), dtype=np.int8))

    def and_then(self, logits: Tensor, labels: Labels) -> "Recent":
        """With more samples; too many of the earlier ones are forgotten."""
        known = sp.csr_array(sp.vstack((self.known, labels.csr)))
        return Recent(torch.cat((self.logits, logits))[-_RECENT:], known[-_RECENT:])

    def decided(self, rates: Rates | None) -> Decisions | None:
        """By these samples; None where no label is known to be present. rates: how often labels are known."""
        labels = Labels.from_csr(self.known)
        return fit_decisions(self.logits, labels, expected_positives(labels), rates=rates)


def filled_in(network: FeatureNetwork, inputs: Encoded, labels: Labels, decisions: Decisions, sparse: bool) -> Any:
    """N×C of 1 and 0: known labels as they are, unknown ones as they are decided; sparse: only the 1 are stored."""
    limits, parts, start = torch.tensor(decisions.thresholds).double().logit(), [], 0
    for logits in score(network, inputs, np.arange(len(labels))):
        known = labels.rows(np.arange(start, start + len(logits)))
        decided = decisions.logits(logits.double()) >= limits
        part = torch.where(known == 0, decided, known > 0).numpy().astype(np.int8)
        parts.append(sp.csr_array(part) if sparse else part)
        start += len(logits)
    return sp.csr_array(sp.vstack(parts)) if sparse else np.concatenate(parts)
