"""What it says of a label that it is unknown, once a model is trained: the factor of `posterior`, without its training.

The model may be of any method.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.expected_positives import expected_positives
from trilabel.labels.rates import Rates
from trilabel.losses.posterior import one_of_k_log_factor
from trilabel.methods.posterior.settings import PosteriorSettings
from trilabel.methods.posterior.sources import find_source


@dataclass(frozen=True)
class Silence:
    """How often labels are known, and whether that also fixes how common each class is."""

    rates: Tensor | None  # 2×C: e⁺ and e⁻; None where an image's known positives were drawn from all that it has
    positives: float | None = None  # per image, where that is known from fully labelled ones
    by_fit: bool = False  # the rates were found by a model, which known negatives keep calibrated
    note: str = ""  # what the user should know

    def known_rates(self) -> Rates | None:
        """The rates of each class; None where there are none by class."""
        return None if self.rates is None else Rates(*self.rates.double().cpu().numpy())

    def log_factor(self, logits: Tensor, labels: Tensor) -> Tensor:
        """C or B×C: how much being unknown changes the log-odds of a label; logits and labels are B×C."""
        if self.rates is None:
            return one_of_k_log_factor(logits, labels)
        present, absent = torch.log1p(-self.rates)
        found: Tensor = present - absent
        return found


def find_silence(
    settings: PosteriorSettings, labels: Labels, validation: Labels | None, fitted: Tensor | None = None
) -> Silence:
    """By the settings of `posterior`; where rates cannot be found, being unknown is taken to say nothing.

    fitted: 2×C, the rates of a run that fitted them; without them those that need a fit are taken to be equal, as they
    are where labels are missing at random.
    """
    nothing = torch.zeros(2, labels.shape[1])
    try:
        source = find_source(settings, labels, validation)
    except TrilabelError as error:
        return Silence(nothing, by_fit=True, note=f"that a label is unknown is taken to say nothing of it ({error})")
    if source.kind == "one-of-k":
        found = expected_positives(labels, validation)
        return Silence(None, None if found.source == "guess" else found.value, note=source.notes[0])
    if source.kind == "fit":
        if fitted is not None:
            found_rates = Rates(*fitted.double().numpy()).describe()
            note = f"rates of known labels as the first round fitted them: {found_rates}"
            return Silence(fitted.float(), by_fit=True, note=note)
        note = "labels are taken to be missing at random: no first round fitted their rates"
        return Silence(nothing, by_fit=True, note=note)
    rates = np.stack((source.rates.positives, source.rates.negatives))
    return Silence(torch.from_numpy(rates).float(), note=source.notes[0])
