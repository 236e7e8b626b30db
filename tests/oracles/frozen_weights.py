"""Losses whose weights are held constant, left to autograd: what their second derivatives are checked against."""

import torch
import torch.nn.functional as F
from torch import Tensor


def focal(logits: Tensor, labels: Tensor, gamma: float) -> Tensor:
    answer = logits * labels
    return -(torch.sigmoid(-answer).detach() ** gamma * labels.abs() * F.logsigmoid(answer)).sum()


def asymmetric(logits: Tensor, labels: Tensor, gamma_pos: float, gamma_neg: float, clip: float) -> Tensor:
    present, absent = labels > 0, labels < 0
    probability = torch.sigmoid(logits)
    shifted = (probability - clip).clamp(min=0)
    of_present = (1 - probability).detach() ** gamma_pos * F.logsigmoid(logits)
    of_absent = shifted.detach() ** gamma_neg * torch.log(1 - shifted)
    return -(of_present[present].sum() + of_absent[absent].sum())
