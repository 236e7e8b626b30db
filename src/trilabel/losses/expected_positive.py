"""Expected positive regularization: Cole et al., "Multi-Label Learning from Single Positive Labels", CVPR 2021."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import check_inputs, check_range, to_float32


def expected_positive(
    logits: Tensor, labels: Tensor, expected_positives: float, strength: float = 1, known_weight: float = 1
) -> Tensor:
    """Σ over present of −log f ÷ (B·C) + strength · ((mean over images of Σ_c f − expected_positives) / C)².

    "EPR" of Cole 2021: `logits` are B×C, f = σ(logits), `labels` B×C in +1 present, −1 absent, 0 unknown. Known absent
    labels take no part in the first term, which is multiplied by `known_weight`: 1 in the code that the authors
    released, C in the equations of the paper.

    >>> expected_positive(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), expected_positives=1.5)
    tensor(0.0826)
    """
    present = check_inputs(logits, labels).clamp(min=0)
    check_range("strength", strength, 0, torch.inf)
    check_range("known_weight", known_weight, 0, torch.inf)
    check_range("expected_positives", expected_positives, 0, logits.shape[1])
    wide = to_float32(logits)
    excess = torch.sigmoid(wide).mean() - expected_positives / logits.shape[1]
    return strength * excess.square() - known_weight * (F.logsigmoid(wide) * present).mean()
