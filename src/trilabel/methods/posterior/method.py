"""An unknown label counts as what it most likely is, given that nobody named it."""

import numpy as np
import torch
from torch import Tensor, nn

from trilabel import losses
from trilabel.labels import Labels
from trilabel.labels.fitted_rates import BINS, COUNTS, binned, fitted_rates
from trilabel.labels.rates import Rates, full_rows, shares_by_rates
from trilabel.losses.posterior import posterior_targets, target_bce
from trilabel.methods.base import AllReduce, Batch, Method
from trilabel.methods.checks import require_positives
from trilabel.methods.posterior.settings import PosteriorSettings, check_settings
from trilabel.methods.posterior.sources import find_source

_SAYS_ENOUGH = 0.1  # mean log factor of classes from which being unknown says enough for the whole smoothing


class Posterior(Method[PosteriorSettings]):
    """BCE of all labels; the target of an unknown one is the model's own belief, corrected for its being unknown."""

    Settings = PosteriorSettings
    description = "unknown counts as what it most likely is, given how often present and absent labels are known"
    suits = "any mix with positives, where rates of known labels are given or can be learned"
    cost = "as plain BCE; with rates=fit after a warm-up of fit_epochs"
    rates: Tensor  # 2×C: e⁺ and e⁻
    fit_counts: Tensor  # 4 × (C·32): what the fit needs of a warm-up epoch; empty without one

    def __init__(
        self, settings: PosteriorSettings, labels: Labels, features: int = 0, validation: Labels | None = None
    ) -> None:
        super().__init__(settings, labels, features, validation)
        source = find_source(settings, labels, validation)
        self.labels, self.kind, self.notes = labels, source.kind, source.notes
        rates = np.stack((source.rates.positives, source.rates.negatives)).astype(np.float32)
        self.register_buffer("rates", torch.from_numpy(rates))
        self.positives_only = self.kind != "fit" and not source.rates.negatives.any()
        fits = self.kind == "fit"
        self.register_buffer("fit_counts", torch.zeros(COUNTS, labels.shape[1] * BINS * fits, dtype=torch.float64))
        self.warm_up_epochs = settings.fit_epochs * fits
        self.smoothed = self._smoothed()
        # In images that were labelled in full no label is known by a rate: a fit is about the others.
        full = full_rows(labels) if fits else np.zeros(0, np.bool_)
        self.some_full, self.held_out = bool(full.any()), int((~full[1::2]).sum())

    @classmethod
    def check(cls, settings: PosteriorSettings, labels: Labels) -> None:
        """Needs positives and valid settings."""
        require_positives("posterior", labels)
        check_settings(settings)

    @classmethod
    def check_sample(cls, settings: PosteriorSettings, labels: Labels, validation: Labels | None) -> None:
        """Needs rates that are given or can be found out."""
        find_source(settings, labels, validation)

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        """One forward pass and the loss; in the warm-up of a fit on known labels alone."""
        logits, labels = model(batch.images).logits, batch.labels
        if batch.warm_up:
            return {"loss": self._fit_loss(logits, batch), "logits": logits.detach()}
        log_factor = self.log_factor(logits, labels, absent=self.counts_absent(batch))
        targets = posterior_targets(logits, labels, log_factor, self.smoothing(batch))
        unknown = labels == 0
        rounded = torch.where(log_factor == 0, 0, (targets > 0.5).to(labels.dtype) * 2 - 1)
        parts = {
            "loss": target_bce(logits, targets),
            "logits": logits.detach(),
            "targets": torch.where(unknown, rounded, labels).to(labels.dtype),
            "soft_targets": targets,
            "unknown_target": (targets * unknown).sum() / unknown.sum().clamp(min=1),
        }
        return parts if self.kind == "one-of-k" else parts | self._described_rates()

    def _described_rates(self) -> dict[str, Tensor]:
        """Mean, lowest and highest rate: those of a fit are known only once it is over, so that no note could say them.

        They are the same in every step, and cost the device three small operations.
        """
        (low, low_negatives), (high, high_negatives) = torch.aminmax(self.rates, dim=1)
        mean, mean_negatives = self.rates.mean(1)
        return {
            "positives_known": mean,
            "positives_known_lowest": low,
            "positives_known_highest": high,
            "negatives_known": mean_negatives,
            "negatives_known_lowest": low_negatives,
            "negatives_known_highest": high_negatives,
        }

    def smoothing(self, batch: Batch) -> float:
        """The share of a target that is moved to its opposite at this step.

        A new head is soon sure of what it has seen; that it may not be at first keeps it from taking hidden positives
        for negatives, and once smoothing is gone its probabilities are calibrated.
        """
        first, until = self.settings.smoothing, self.settings.smoothing_until
        done = (batch.epoch - 1 + batch.share) / batch.epochs
        return self.smoothed * (first if until is None else first * max(0.0, 1 - done / until))

    def _smoothed(self) -> float:
        """How much of the smoothing is due: none where labels are missing at random, as in `known-only`."""
        if self.kind == "one-of-k" or self.rates.is_meta:  # which has no numbers
            return 1.0
        present, absent = torch.log1p(-self.rates)
        return min(1.0, float((present - absent).abs().mean()) / _SAYS_ENOUGH)

    def counts_absent(self, batch: Batch) -> bool:
        """Whether unknown counts as absent at this step: a model that knows nothing explains nothing away."""
        return not batch.goes_on and batch.epoch <= self.absent_epochs(batch.epochs)

    def absent_epochs(self, epochs: int) -> int:
        """So many epochs at first."""
        if self.settings.warm_up is not None:
            return self.settings.warm_up
        return max(1, epochs // 4) if self.positives_only else 0

    def log_factor(self, logits: Tensor, labels: Tensor, absent: bool) -> Tensor:
        """C or B×C: how much being unknown changes the log-odds of a label; −inf if it counts as absent."""
        if self.kind == "one-of-k":
            found = losses.one_of_k_log_factor(logits, labels)
        else:
            positives, negatives = torch.log1p(-self.rates)
            found = positives - negatives
        return torch.where(found < 0, -torch.inf, found) if absent else found

    def _fit_loss(self, logits: Tensor, batch: Batch) -> Tensor:
        """Learns the known labels of every second image, and counts what the fit needs of the others."""
        second, partly = batch.rows % 2 == 1, torch.ones_like(batch.rows, dtype=torch.bool)
        if self.some_full:
            partly = (batch.labels == 0).any(1)
        probability = torch.sigmoid(logits.detach().float())
        # Images that were learned from count as nothing: they are neither known nor in a bin.
        weight = (second & partly)[:, None].double().expand_as(probability)
        self.fit_counts += binned(probability, batch.labels, weight)
        return losses.known_mean_bce(logits, batch.labels * (~second & partly)[:, None])

    def start_epoch(self, epoch: int) -> None:
        """Only the last epoch of the warm-up counts; rates may have been fitted or loaded since the epoch before."""
        self.fit_counts.zero_()
        self.smoothed = self._smoothed()

    def counts(self) -> dict[str, Tensor]:
        """The counts of the warm-up."""
        return {"fit_counts": self.fit_counts}

    def end_warm_up(self, all_reduce: AllReduce) -> str:
        """The rates that explain best which labels of the images not learned from are known."""
        counts = all_reduce(self.fit_counts, "sum")
        # An epoch of a fitted head passes over the images several times, which makes none of them count for more.
        counted = counts[0].sum() / self.rates.shape[1]
        self.rates.copy_(torch.stack(fitted_rates(counts * self.held_out / counted.clamp(min=1))))
        self.fit_counts.zero_()
        return f"posterior, rates as fitted: {Rates(*self.rates.double().cpu().numpy()).describe()}"

    def known_rates(self) -> Rates | None:
        """Those of the loss; where positives are drawn from all an image has there are none by class."""
        positives, negatives = self.rates.double().cpu().numpy()
        return None if self.kind == "one-of-k" else Rates(positives, negatives)

    def initial_logits(self) -> Tensor | None:
        """The logit of each class's share of the images, as it follows from the rates."""
        shares = shares_by_rates(self.labels, self.rates[0].cpu().double().numpy())
        return torch.from_numpy(shares).logit().to(self.rates)
