"""Scores corrected by class, on labels drawn from known probabilities: the scores are off by a number per class."""

from unittest.mock import ANY

import numpy as np
import pytest
import torch

from trilabel.labels import Labels
from trilabel.methods.posterior import PosteriorSettings
from trilabel.methods.posterior.calibration import LARGEST_BIAS, class_biases, same_counts, targets_of
from trilabel.methods.posterior.silence import Silence, find_silence

IMAGES, CLASSES = 4000, 12


def drawn(seed: int = 0) -> tuple[torch.Tensor, np.ndarray]:
    """(logits, truth) of images that have at least one class."""
    draw = np.random.default_rng(seed)
    logits = draw.standard_normal((IMAGES, CLASSES)) * 2 + np.linspace(-3, -0.5, CLASSES)
    truth = draw.random(logits.shape) < 1 / (1 + np.exp(-logits))
    some = truth.any(1)
    return torch.from_numpy(logits[some]).float(), truth[some]


def one_named(truth: np.ndarray) -> Labels:
    draw, dense = np.random.default_rng(1), np.zeros(truth.shape, np.int8)
    dense[np.arange(len(truth)), [draw.choice(np.flatnonzero(row)) for row in truth]] = 1
    return Labels.from_signed(dense)


def shares(logits: torch.Tensor, labels: Labels, silence: Silence) -> np.ndarray:
    """The share of the images that have each class, as known labels and targets have it."""
    known = torch.from_numpy(labels.to_signed())
    return (targets_of(logits, known, silence).sum(0) + (known > 0).sum(0)).numpy() / len(labels)


def errors(logits: torch.Tensor, labels: Labels, silence: Silence, truth: np.ndarray) -> float:
    """How far the shares of classes are off, as shares of themselves."""
    return float(np.abs(shares(logits, labels, silence) / truth.mean(0) - 1).mean())


def off() -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(2).normal(0, 0.8, CLASSES)).float()


def test_tags_with_known_rates_fix_the_share_of_each_class() -> None:
    logits, truth = drawn()
    rates = np.linspace(0.2, 0.8, CLASSES)
    named = truth & (np.random.default_rng(3).random(truth.shape) < rates)
    labels = Labels.from_signed(named.astype(np.int8))
    silence = Silence(torch.from_numpy(np.stack((rates, 0 * rates))).float())
    wrong = (logits + off()).half()
    biases = class_biases(wrong, labels, silence)
    assert errors(wrong.float(), labels, silence, truth) > 0.15
    assert errors(wrong.float() + biases, labels, silence, truth) < 0.04
    assert (biases + off()).abs().mean() < 0.1


def test_one_of_k_fixes_classes_beside_each_other_and_keeps_the_level() -> None:
    logits, truth = drawn()
    labels, silence = one_named(truth), Silence(None)
    named = torch.from_numpy(labels.counts_per_class()[0]).float()
    apart = off() - (off() * named).sum() / named.sum()  # no class apart from the others: that would be the level
    wrong = (logits + apart).half()
    biases = class_biases(wrong, labels, silence)
    assert errors(wrong.float(), labels, silence, truth) > 0.15
    assert errors(wrong.float() + biases, labels, silence, truth) < 0.06
    assert (biases + apart).abs().mean() < 0.12
    # All classes up alike: labels of one positive per image cannot tell, and in the mean it is left as it is.
    alike = class_biases(logits + 0.7, labels, silence)
    assert abs((alike * named).sum() / named.sum()) < 0.02
    # Unless it is known how many positives an image has.
    known = Silence(None, positives=float(truth.sum(1).mean()))
    assert errors(logits + 0.7, labels, silence, truth) > 0.15
    assert errors(logits + 0.7 + class_biases(logits + 0.7, labels, known), labels, known, truth) < 0.05


def test_a_model_that_is_right_is_left_alone() -> None:
    logits, truth = drawn()
    assert class_biases(logits, one_named(truth), Silence(None)).abs().max() < 0.25


def test_labels_missing_at_random_calibrate_nothing() -> None:
    logits, truth = drawn()
    known = np.random.default_rng(4).random(truth.shape) < 0.1
    labels = Labels.from_signed((np.where(truth, 1, -1) * known).astype(np.int8))
    equal = Silence(torch.full((2, CLASSES), 0.1))
    assert not class_biases(logits + off(), labels, equal).any()
    fitted = Silence(torch.stack((torch.full((CLASSES,), 0.5), torch.full((CLASSES,), 0.1))), by_fit=True)
    assert not class_biases(logits + off(), labels, fitted).any()


def test_classes_that_nobody_named_and_scores_far_off_stay_in_bounds() -> None:
    logits, truth = drawn()
    dense = one_named(truth).to_signed()
    dense[:, 0] = 0
    labels = Labels.from_signed(dense)
    wild = torch.where(torch.arange(CLASSES) % 2 == 0, -12.0, 12.0) + logits
    for silence in (Silence(None), Silence(torch.stack((torch.full((CLASSES,), 0.3), torch.zeros(CLASSES))))):
        biases = class_biases(wild, labels, silence)
        assert biases[0] == 0 and biases.abs().max() <= LARGEST_BIAS and biases.isfinite().all()
    assert not class_biases(logits, Labels.from_signed(np.zeros_like(dense)), Silence(None)).any()


def test_same_counts_gives_scores_the_level_of_others() -> None:
    logits, truth = drawn()
    labels = one_named(truth)
    unknown = torch.from_numpy(labels.to_signed()) == 0
    higher = 1.3 * logits + 2
    moved = higher + same_counts(higher, logits, labels)
    wanted, found = ((part.sigmoid() * unknown).sum(0).tolist() for part in (logits, moved))
    assert found == pytest.approx(wanted, rel=0.01)


def test_where_rates_come_from() -> None:
    _, truth = drawn()
    tags = Labels.from_signed((truth & (np.random.default_rng(3).random(truth.shape) < 0.5)).astype(np.int8))
    full = Labels.from_signed(np.where(truth, 1, -1).astype(np.int8))[:200]
    settings = PosteriorSettings()
    assert find_silence(settings, one_named(truth), None) == Silence(None, note=ANY)
    few = find_silence(settings, one_named(truth), Labels.from_signed(np.where(truth, 1, -1).astype(np.int8))[:20])
    assert few.rates is None and few.positives == pytest.approx(truth[:20].sum(1).mean())
    by_shares = find_silence(settings, tags, full)
    assert by_shares.rates is not None and by_shares.rates[0].mean() == pytest.approx(0.5, abs=0.1)
    nothing = find_silence(settings, tags, None)  # tags alone: how often they are given is anybody's guess
    assert nothing.rates is not None and not nothing.rates.any() and "say nothing" in nothing.note
    seen = np.random.default_rng(4).random(truth.shape) < 0.2
    some = Labels.from_signed((np.where(truth, 1, -1) * seen).astype(np.int8))
    assert not find_silence(settings, some, None).log_factor(torch.zeros(1), torch.zeros(1)).any()
    fitted = torch.rand(2, CLASSES)
    assert torch.equal(find_silence(settings, some, None, fitted).rates, fitted)  # type: ignore[arg-type]
