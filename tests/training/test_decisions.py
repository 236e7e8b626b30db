"""What a run decides by: calibrated probabilities and fitted thresholds, and what they rest on."""

import json

import numpy as np
import pytest
import torch

from trilabel import Labels, TrilabelError, data, load, metrics, train
from trilabel.config import Config
from trilabel.labels.expected_positives import ExpectedPositives
from trilabel.labels.rates import Rates
from trilabel.training.decisions import Decisions, fit_decisions

GUESS = ExpectedPositives(2.0, "guess")


def scored(images, seed, known):
    """Logits that are too sure, and too low, of classes that are more and less common."""
    generator = np.random.default_rng(seed)
    present = generator.random((images, 8)) < np.linspace(0.05, 0.4, 8)
    logits = 3 * (generator.normal(size=present.shape) + 2 * present - 2.5)
    signs = np.where(present, 1, -1) * (generator.random(present.shape) < known)
    return torch.from_numpy(logits), Labels.from_signed(signs.astype(np.int8))


def test_new_images_get_probabilities_that_hold_and_better_decisions():
    found = fit_decisions(*scored(400, 0, known=0.3), GUESS)
    assert found is not None and "validation images" in found.basis
    logits, labels = scored(4000, 1, known=1.0)
    probabilities = found.logits(logits).sigmoid()
    assert metrics.expected_calibration_error(logits.sigmoid(), labels) > 0.06
    assert metrics.expected_calibration_error(probabilities, labels) < 0.03
    plain, fitted = (
        metrics.precision_recall_f1(p, labels, limit)["CF1"]
        for p, limit in ((logits.sigmoid(), 0.5), (probabilities, found.thresholds))
    )
    assert fitted > plain + 0.05
    np.testing.assert_allclose(
        metrics.average_precision(probabilities, labels), metrics.average_precision(logits, labels)
    )


def test_with_positives_alone_as_many_are_present_as_are_expected_and_it_says_so():
    logits, labels = scored(500, 2, known=1.0)
    only = Labels.from_signed(np.maximum(labels.to_signed(), 0))
    found = fit_decisions(logits, only, GUESS)
    assert found is not None and "no label to fit them on is known to be absent" in found.basis
    probabilities = found.logits(logits).sigmoid().numpy()
    assert probabilities.sum() == pytest.approx(1000, rel=1e-3)
    assert (probabilities >= found.thresholds).sum() == pytest.approx(1000, abs=2)


@pytest.mark.parametrize("images", [1, 2])
def test_one_image_and_one_class_and_no_positives(images):
    logits = torch.full((images, 1), 1.0)
    assert fit_decisions(logits, Labels.from_signed(np.full((images, 1), -1)), GUESS) is None
    found = fit_decisions(logits, Labels.from_signed(np.full((images, 1), 1)), GUESS)
    assert found is not None and np.isfinite([*found.shifts, *found.thresholds]).all()


def test_what_is_saved_comes_back_and_damage_is_told_in_one_line(tmp_path):
    found, file = Decisions(0.5, [0.0, -1.0], [0.2, 0.9], "fitted on few"), tmp_path / "decisions.json"
    found.save(file)
    assert Decisions.load(file, 2) == found
    good = json.loads(file.read_text())
    for damage in ({**good, "slope": -1}, {**good, "shifts": [0.0]}, {**good, "thresholds": [0.1, None]}, [], "x"):
        file.write_text(json.dumps(damage))
        with pytest.raises(TrilabelError, match=r"decisions.json: damaged \(.*\); restore or remove it"):
            Decisions.load(file, 2)
    with pytest.raises(TrilabelError, match="for 3 classes"):
        file.write_text(json.dumps(good))
        Decisions.load(file, 3)


def test_a_run_keeps_them_and_predicts_and_scores_by_them(tmp_path):
    scenes = data.scenes(train=120, val=60, test=40, size=32)
    run = train(scenes, Config(epochs=1, image_size=32, val="val"), tmp_path / "run")
    kept = Decisions.load(tmp_path / "run" / "decisions.json", 14)
    model = load(run)
    assert model.decisions == kept and model.thresholds == tuple(kept.thresholds)
    images = scenes.images[scenes.rows_of("test")].numpy()
    predicted = model.predict(images)
    present = predicted.scores >= np.array(kept.thresholds)
    assert [len(record["present"]) for record in predicted.to_records()] == present.sum(1).tolist()
    assert [len(record["present"]) for record in predicted.to_records(0.0)] == [14] * 40
    truth = scenes.labels[scenes.rows_of("test")]
    wanted = metrics.evaluate(predicted.scores, truth, kept.thresholds)
    by_run, at_half = model.evaluate(scenes), model.evaluate(scenes, threshold=0.5)
    assert by_run["CF1"] == pytest.approx(wanted["CF1"], abs=1e-6) and by_run["threshold"] == list(kept.thresholds)
    assert by_run["mAP"] == at_half["mAP"] and by_run["CF1"] > at_half["CF1"] and at_half["threshold"] == 0.5
    as_given = model.evaluate(scenes, threshold=0.5, calibrated=False)
    assert as_given["calibration_error"] != by_run["calibration_error"]
    (tmp_path / "run" / "decisions.json").unlink()
    assert load(run).evaluate(scenes)["CF1"] == as_given["CF1"]


RATES = Rates(np.full(8, 0.75), np.full(8, 0.15))


def partly(seed, rates, images=600):
    """Scores whose probabilities are right, and labels that are known at such rates."""
    logits, full = scored(images, seed, known=1.0)
    logits = 2 * (logits / 3 + 2.5) - 2 + torch.from_numpy(np.linspace(0.05, 0.4, 8)).logit()
    signs, known = full.to_signed(), np.random.default_rng(seed + 100).random(full.shape)
    return logits, Labels.from_signed(np.where(known < np.where(signs > 0, rates.positives, rates.negatives), signs, 0))


def test_labels_that_are_no_fair_sample_weigh_as_their_rates_say():
    logits, labels = partly(0, RATES)
    fair, unfair = fit_decisions(logits, labels, GUESS, rates=RATES), fit_decisions(logits, labels, GUESS)
    new, truth = partly(1, Rates(np.ones(8), np.ones(8)), 4000)
    share = (truth.to_signed() > 0).mean()
    error, mean, macro = (
        [use(found) for found in (fair, unfair)]
        for use in (
            lambda found: metrics.expected_calibration_error(found.logits(new).sigmoid(), truth),
            lambda found: float(found.logits(new).sigmoid().mean()),
            lambda found: metrics.macro_f1(found.logits(new).sigmoid(), truth, found.thresholds),
        )
    )
    assert error[0] < 0.02 and error[1] > 0.08
    assert mean[0] == pytest.approx(share, abs=0.015) and mean[1] > share + 0.08
    assert macro[0] > macro[1] + 0.01
    assert "weigh the more" in fair.basis and "weigh" not in unfair.basis


@pytest.mark.parametrize("known", [0.3, 1.0])
def test_labels_missing_at_random_and_fully_labelled_images_are_decided_as_without_rates(known):
    logits, labels = scored(200, 3, known)
    rates = RATES if known == 1 else Rates(np.linspace(0.1, 0.6, 8), np.linspace(0.1, 0.6, 8))
    assert fit_decisions(logits, labels, GUESS, rates=rates) == fit_decisions(logits, labels, GUESS)


def test_positives_alone_are_decided_as_without_rates():
    logits, labels = partly(4, Rates(np.full(8, 0.5), np.zeros(8)))
    found = fit_decisions(logits, labels, GUESS, rates=Rates(np.full(8, 0.5), np.zeros(8)))
    assert found == fit_decisions(logits, labels, GUESS) and "expected to have" in found.basis


def test_a_class_without_known_negatives_is_not_taken_for_one_that_is_everywhere():
    logits, labels = partly(5, RATES)
    signs = labels.to_signed()
    signs[:, 0] = signs[:, 0].clip(0)
    rates = Rates(RATES.positives, np.where(np.arange(8) == 0, 1e-4, RATES.negatives))
    found = fit_decisions(logits, Labels.from_signed(signs), GUESS, rates=rates)
    assert abs(found.shifts[0]) < 0.8 and found.logits(logits)[:, 0].sigmoid().mean() < 0.1
    assert fit_decisions(logits, Labels.from_signed(signs), GUESS).shifts[0] > 1.5


@pytest.mark.parametrize("val", ["0.4", "folds"])
def test_a_run_of_a_method_that_knows_rates_decides_by_them(val, tmp_path):
    scenes = data.scenes(train=300, val=1, test=300, size=32)
    rows = scenes.rows_of("train")
    signs, known = scenes.labels.to_signed().copy(), np.random.default_rng(0).random(scenes.labels.shape)
    signs[rows] = np.where(known < np.where(signs > 0, 0.75, 0.15), signs, 0)[rows]
    partial = scenes.with_labels(Labels.from_signed(signs, scenes.labels.classes, scenes.labels.ids))
    settings = {"positives_known": 0.75, "negatives_known": 0.15}
    config = Config(epochs=4, image_size=32, val=val, stages="linear", method="posterior", settings=settings, workers=0)
    partial = partial.take(np.concatenate((rows, partial.rows_of("test"))))
    model = load(train(partial, config, tmp_path / "run"))
    test = partial.rows_of("test")
    share = (partial.labels[test].to_signed() > 0).mean()
    assert "weigh the more" in model.decisions.basis
    assert model.predict(partial.images[test].numpy()).scores.mean() == pytest.approx(share, abs=0.03)
    assert model.evaluate(partial, "test")["calibration_error"] < 0.05


def test_a_class_that_scores_say_nothing_of_is_not_called_present_everywhere() -> None:
    """With few known labels the best F1 on them may be that of calling all present."""
    draw = np.random.default_rng(0)
    for seed in range(10):
        signs = np.where(np.random.default_rng(seed).random((120, 4)) < [0.3, 0.3, 0.3, 0.04], 1, -1).astype(np.int8)
        signs[0] = 1
        logits = torch.from_numpy(2.0 * signs + draw.standard_normal(signs.shape))
        logits[:, 3] = torch.from_numpy(draw.standard_normal(120)) - 3
        labels = Labels.from_signed(signs)
        found = fit_decisions(logits, labels, ExpectedPositives(1.0, "given"))
        assert found is not None
        share = (signs > 0).mean(0)
        assert (np.array(found.thresholds) >= share / (1 + share) - 1e-9).all()
