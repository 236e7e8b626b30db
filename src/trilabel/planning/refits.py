"""Heads fitted again and again on the features of a run's images, with fewer labels than are known."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.loading import load
from trilabel.inference.opened import Broken
from trilabel.labels import Labels
from trilabel.methods import METHODS, check_method, choose_method
from trilabel.methods.posterior.sources import find_source
from trilabel.models import FeatureClassifier, Output, create_head
from trilabel.models.heads.gap import GapHead, GapSettings
from trilabel.training.feature_fit import FeatureFit
from trilabel.training.reach import choose_reach
from trilabel.training.splits import judged_labels, validation_truth


def features_of(
    run: Path, dataset: Dataset, rows: NDArray[np.int64], device: str, broken: Broken
) -> tuple[Tensor, NDArray[np.int64]]:
    """(N×D pooled features that the run's network has of these images, the rows of those that could be read)."""
    parts = dict[int, Tensor]()

    def keep(found: NDArray[np.int64], output: Output) -> None:
        parts.update(zip(found.tolist(), output.features.float().cpu(), strict=True))

    _, good = load(run, device).score_rows(dataset, rows, broken=broken, on_batch=keep)
    return torch.stack([parts[row] for row in good.tolist()]), good


@dataclass(frozen=True)
class Refits:
    """Images by their features, and how a head is fitted to some of them."""

    features: Tensor  # N×D
    labels: Labels  # N×C
    config: Config
    reach: float

    def score(self, learned: Labels, test: NDArray[np.int64]) -> float:
        """mAP over the known labels of test images, with a head that learned from these labels of other images."""
        config, kind = self.config, METHODS[self.config.method]
        rows = torch.from_numpy(self.labels.ids.positions(learned.ids))
        torch.manual_seed(config.seed)
        head = create_head(config, self.features.shape[1], learned.shape[1], learned)
        settings = check_method(config.method, config.settings, learned)
        method = kind(settings, learned, self.features.shape[1])
        fit = FeatureFit(config, FeatureClassifier(head), method, self.features[rows], learned, reach=self.reach)
        fit.run()
        scores = fit.score(self.features[torch.from_numpy(test)]).numpy()
        return metrics.mean_average_precision(scores, validation_truth(judged_labels(self.config, self.labels[test])))


def prepare_refits(features: Tensor, labels: Labels, config: Config, fewest: Labels) -> Refits:
    """How to fit heads to these images; with the run's method, if it can learn from as few labels as `fewest`."""
    plain = replace(config, stages="linear", linear_lr=None, ema=0.0, rounds=1, relabel="none", graph="none")
    plain = replace(plain, head="gap", head_settings={"normalize": True}, graph_settings={}, relabel_settings={})
    chosen = _method(plain, labels, fewest)
    head = GapHead(features.shape[1], labels.shape[1], GapSettings(normalize=True))
    head.fit_normalization(features)
    truth = validation_truth(judged_labels(chosen, labels))
    return Refits(features, labels, chosen, choose_reach(head.normalized(features), truth))


def _method(config: Config, labels: Labels, fewest: Labels) -> Config:
    """The configuration with a method that can learn from few labels, and in the same way from more."""
    chosen = choose_method(labels)
    both = bool(labels.counts_per_class()[1].any())
    simple = "known-only" if both else "assume-negative"
    tried = ((config.method, config.settings), (chosen.method, chosen.settings), (simple, dict[str, Any]()))
    for method, settings in tried:
        found = _fixed(replace(config, method=method, settings=settings), fewest)
        if found is not None:
            return found
    raise TrilabelError("too few labels are known to see what more of them would bring; label some images first")


def _fixed(config: Config, labels: Labels) -> Config | None:
    """The configuration with rates of known labels from one source; None where the method cannot learn from these."""
    kind = METHODS.find(config.method)
    if kind.views > 1 or kind.heads:
        return None
    try:
        settings = check_method(config.method, config.settings, labels)
        if kind.needs_maps(settings):
            return None
        if config.method == "posterior" and settings.rates == "auto":
            source = find_source(settings, labels, None).kind
            named = {} if source == "rates" else {"rates": source}
            return replace(config, settings={**config.settings, **named})
    except TrilabelError:
        return None
    return config
