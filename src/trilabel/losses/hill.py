"""Hill loss: Zhang et al., "Simple and Robust Loss Design for Multi-Label Learning with Missing Labels", 2021."""

import torch
import torch.nn.functional as F
from torch import Tensor

from trilabel.losses._inputs import Reduction, check_inputs, check_range, reduce, to_float32, unknown_as_absent


def hill(
    logits: Tensor,
    labels: Tensor,
    reduction: Reduction = "mean",
    weight: float = 1.5,
    margin: float = 1.0,
    gamma: float = 2.0,
) -> Tensor:
    """Present: −(1−q)^gamma · log q, q = σ(x − margin). Absent or unknown: (weight − p) · p², p = σ(x) (Zhang 2021).

    `logits` (x) are B×C, `labels` B×C in +1 present, −1 absent, 0 unknown. With weight 1.5 an absent label with p near
    1 is pushed down less and less: it may be an unlabelled positive. "sum" is what the paper's code trains with,
    "mean" divides by B·C, "none" gives the B×C parts.

    >>> hill(torch.tensor([[2.0, -1.0, 3.0]]), torch.tensor([[1, -1, 0]]), reduction="sum")
    tensor(0.6084)
    """
    check_range("weight", weight, 1, torch.inf)
    check_range("gamma", gamma, 0, torch.inf)
    signs = unknown_as_absent(check_inputs(logits, labels))
    present = signs.clamp(min=0)
    answer = (to_float32(logits) - margin * present) * signs  # logit of the right answer
    log_right = F.logsigmoid(answer)
    log_wrong = F.logsigmoid(-answer)  # log_right − answer loses the gradient of a large negative answer
    wrong = log_wrong.exp()  # 1 − q where present, p elsewhere
    focus = wrong.square() if gamma == 2 else (log_wrong * (2 + (gamma - 2) * present)).exp()
    return reduce(focus * torch.lerp(weight - wrong, -log_right, present), reduction)
