"""Numbers of a page against the obvious loops."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from trilabel import metrics
from trilabel.labels import Labels
from trilabel.report.page.images import choose_images
from trilabel.report.page.judged import Judged
from trilabel.report.page.numbers import image_losses, numbers_of, reliability
from trilabel.training.decisions import Decisions

DECISIONS = Decisions(0.8, [0.1, -0.2, 0.0, 0.3], [0.4, 0.6, 0.5, 0.5], "fitted")


@pytest.fixture(scope="module")
def judged() -> Judged:
    draw = np.random.default_rng(3)
    signs = draw.choice(np.array([-1, 0, 1], np.int8), (60, 4))
    signs[:, 3] = np.abs(signs[:, 3])  # a class without known negatives
    logits = torch.tensor(draw.normal(0, 2, (60, 4)) + signs, dtype=torch.float32)
    return Judged(logits, Labels.from_signed(signs, list("abcd")), "images", True)


def chances(judged: Judged) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-(0.8 * judged.logits.double().numpy() + np.array(DECISIONS.shifts))))


def test_precision_and_recall_of_each_class(judged: Judged) -> None:
    found, signs, chance = numbers_of(judged, DECISIONS), judged.labels.to_signed(), chances(judged)
    for column in range(3):
        chosen = [chance[row, column] >= DECISIONS.thresholds[column] for row in range(60)]
        hits = sum(chosen[row] and signs[row, column] > 0 for row in range(60))
        predicted = sum(chosen[row] and signs[row, column] != 0 for row in range(60))
        assert found.precision[column] == pytest.approx(hits / predicted)
        assert found.recall[column] == pytest.approx(hits / (signs[:, column] > 0).sum())
    assert np.isnan(found.precision[3]) and np.isnan(found.ap[3]) and not np.isnan(found.recall[3])
    assert np.allclose(found.ap, metrics.average_precision(judged.logits, judged.labels), equal_nan=True)
    assert ((found.ap_low <= found.ap) & (found.ap <= found.ap_high))[:3].all()


def test_bins_of_known_labels(judged: Judged) -> None:
    bins, signs = reliability(judged, judged.logits), judged.labels.to_signed()
    chance = judged.logits.sigmoid().numpy()
    inside = [[(chance[place], signs[place] > 0) for place in np.ndindex(60, 4) if signs[place]
               and min(int(chance[place] * 10), 9) == number] for number in range(10)]  # fmt: skip
    expected = [(np.mean([c for c, _ in one]), np.mean([p for _, p in one]), len(one)) for one in inside if one]
    assert np.allclose(np.array(bins), np.array(expected), atol=1e-6)


def test_labels_by_probability(judged: Judged) -> None:
    found, signs = numbers_of(judged, DECISIONS).histograms, judged.labels.to_signed()
    for sign, name in ((1, "positives"), (-1, "negatives"), (0, "unknown")):
        assert found[name] == np.histogram(chances(judged)[signs == sign], 20, (0, 1))[0].tolist()


def test_images_are_chosen_by_the_loss_of_their_known_labels(judged: Judged) -> None:
    losses, probabilities = image_losses(judged, DECISIONS)
    signs, chance = judged.labels.to_signed(), chances(judged)
    assert np.allclose(probabilities.numpy(), chance, atol=1e-6)
    for row in range(60):
        known = [
            -np.log(chance[row, c] if signs[row, c] > 0 else 1 - chance[row, c]) for c in range(4) if signs[row, c]
        ]
        assert np.isnan(losses[row]) if not known else losses[row] == pytest.approx(np.mean(known), rel=1e-5)
    facts = type("Facts", (), {"decisions": DECISIONS})()
    best, worst = choose_images(facts, judged)
    assert len(best) == len(worst) == 6
    assert max(one.loss for one in best) < min(one.loss for one in worst)
    with_positive = {judged.labels.ids[row] for row in np.flatnonzero((signs > 0).any(1))}
    assert {one.id for one in (*best, *worst)} <= with_positive
    assert [one.loss for one in worst] == sorted((one.loss for one in worst), reverse=True)
    first = worst[0].labels[0]
    row = list(judged.labels.ids).index(worst[0].id)
    wrong = np.where(signs[row] > 0, 1 - chance[row], np.where(signs[row] < 0, chance[row], -1))
    assert first.column == int(np.argmax(wrong)) and first.known == signs[row, first.column]


def test_without_decisions_a_half_decides(judged: Judged) -> None:
    found = numbers_of(judged, None)
    assert (found.thresholds == 0.5).all() and found.before == found.after
    assert found.error_before == pytest.approx(
        metrics.expected_calibration_error(judged.logits.sigmoid(), judged.labels)
    )
