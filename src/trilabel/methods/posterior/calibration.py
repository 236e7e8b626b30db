"""What a trained model believes of all labels of all images, corrected for each class by what the labels say of it.

Scores are N×C logits (float16 will do); only so many rows at once become float32.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from trilabel.labels import Labels
from trilabel.labels.rates import full_rows
from trilabel.methods.posterior.silence import Silence

LARGEST_BIAS = 3.0  # of the logits of a class
_STEPS = 30
_CLOSE = 1e-3  # a change of all biases that ends the search
_SAYS_SOMETHING = 0.05  # log factor below which labels are as good as missing at random
_FEW = 4.0  # named positives at which a bias counts half: their number errs by chance
_LABELS_AT_ONCE = 2**22


def targets_of(logits: Tensor, labels: Tensor, silence: Silence) -> Tensor:
    """B×C: what each unknown label most likely is, given that nobody named it; 0 for known ones."""
    return torch.sigmoid(logits + silence.log_factor(logits, labels)) * (labels == 0)


def class_biases(scores: Tensor, labels: Labels, silence: Silence) -> Tensor:
    """C: what to add to the logits of each class so that as many positives are to be expected as its labels say.

    With rates e⁺ a class has named ÷ e⁺ positives, all but the named ones unknown. Where the known positives of an
    image were drawn from all it has, they would be drawn alike again, which fixes classes beside each other. How many
    positives an image has such labels do not say: fully labelled images do, and without them that stays as the model
    has it. Where labels are missing at random all biases are 0: the model learned from negatives, too.
    """
    named = _named(labels)
    if silence.by_fit or not named.any():
        return torch.zeros(scores.shape[1])
    used = named > 0
    if silence.rates is not None:
        used &= silence.log_factor(torch.zeros(1), torch.zeros(1)).abs() > _SAYS_SOMETHING
        used &= silence.rates[0] > 0
    biases, level = torch.zeros(scores.shape[1]), torch.zeros(())
    for _ in range(_STEPS if used.any() else 0):
        before = biases + level
        needed, expected, hidden = _balance(scores, labels, silence, before, named)
        biases = biases + torch.where(used, _step(needed, expected), 0)
        if silence.rates is None:
            biases = torch.where(used, biases - (biases * named).sum() / named.sum(), 0)
            if silence.positives is not None:
                there = silence.positives * int((~full_rows(labels)).sum()) - named.sum()
                level = (level + _step(there, hidden.sum())).clamp(-LARGEST_BIAS, LARGEST_BIAS)
        biases = biases.clamp(-LARGEST_BIAS, LARGEST_BIAS)
        if (biases + level - before).abs().max() < _CLOSE:
            break
    return (biases * named / (named + _FEW) + level).clamp(-LARGEST_BIAS, LARGEST_BIAS)


def _step(wanted: Tensor, found: Tensor) -> Tensor:
    """The change of logits that would make up for the difference if all were near 0."""
    return (wanted.clamp(min=1e-6) / found.clamp(min=1e-6)).log().clamp(-1, 1)


def _balance(
    scores: Tensor, labels: Labels, silence: Silence, biases: Tensor, named: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(what the unknown labels of each class should add up to, what they do, in positives or namings; the targets)."""
    needed, expected, together = (torch.zeros_like(biases) for _ in range(3))
    for logits, known in _blocks(scores, labels):
        targets = targets_of(logits + biases, known, silence)
        together += targets.sum(0)
        if silence.rates is not None:
            expected += targets.sum(0)
            continue
        # Drawn again, each of an image's positives would be among the m named ones with probability m ÷ all of them.
        positives = known.clamp(min=0).float()
        m, hidden = positives.sum(1, keepdim=True), targets.sum(1, keepdim=True)
        needed += (positives * (hidden / (m + hidden).clamp(min=1))).sum(0)
        expected += (targets * m / (m + 1 + hidden - targets).clamp(min=1)).sum(0)
    if silence.rates is not None:
        needed = named * (1 / silence.rates[0].clamp(min=1e-6) - 1)
    return needed, expected, together


def same_counts(scores: Tensor, like: Tensor, labels: Labels) -> Tensor:
    """C: what to add to the logits of each class so that its unknown labels add up to what other logits make of them.

    For scores that rank better than those they are made of, but on another level.
    """
    wanted = _unknown_sums(like, labels)
    low = torch.full((scores.shape[1],), -2 * LARGEST_BIAS)
    high = -low
    for _ in range(16):  # a thousandth of a logit is close enough
        middle = (low + high) / 2
        fewer = _unknown_sums(scores, labels, middle) < wanted
        low, high = torch.where(fewer, middle, low), torch.where(fewer, high, middle)
    return (low + high) / 2


def _unknown_sums(scores: Tensor, labels: Labels, biases: Tensor | float = 0.0) -> Tensor:
    """C: the probabilities of the unknown labels of each class, added up."""
    found = torch.zeros(scores.shape[1])
    for part, known in _blocks(scores, labels):
        found += (torch.sigmoid(part + biases) * (known == 0)).sum(0)
    return found


def _named(labels: Labels) -> Tensor:
    """C: known positives of the images that are not fully labelled."""
    return torch.from_numpy(labels[~full_rows(labels)].counts_per_class()[0]).float()


def _blocks(scores: Tensor, labels: Labels) -> Iterator[tuple[Tensor, Tensor]]:
    """(logits, labels) of some images at a time, fully labelled ones too: nothing of theirs is unknown."""
    for rows in torch.split(torch.arange(len(scores)), max(1, _LABELS_AT_ONCE // max(scores.shape[1], 1))):
        yield scores[rows].float(), labels.rows(np.asarray(rows))
