"""From scores and labels to a completion: what is kept, promised, assumed, audited, and suspected."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import trilabel as tl
from trilabel.data.answers import Answer, find_answers
from trilabel.errors import TrilabelError
from trilabel.inference.completion.audits import draw_questions
from trilabel.inference.completion.core import Given, complete_scores
from trilabel.inference.completion.result import Completion
from trilabel.inference.completion.rules import Wanted
from trilabel.inference.completion.words import describe
from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels, simulate
from trilabel.methods.posterior import PosteriorSettings

IMAGES, CLASSES = 2500, 6
ASSUMED = Given(settings=PosteriorSettings(positives_known=0.5))


def scored(logits: np.ndarray, labels: Labels, held_out: np.ndarray | None = None) -> ScoreTable:
    held_out = np.ones(len(labels), bool) if held_out is None else held_out
    return ScoreTable(labels.ids, labels.classes, logits.astype(np.float32), held_out)


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray]:
    """(N×C logits of a fair model, too sure of itself; the truth)."""
    random = np.random.default_rng(1)
    z = random.normal(-2.5, 4, (IMAGES, CLASSES))
    truth = np.where(random.random(z.shape) < 1 / (1 + np.exp(-z)), 1, -1).astype(np.int8)
    return 1.5 * z + 0.7, truth


def precision(found: Completion, truth: np.ndarray, sign: int) -> float:
    values, unknown = found.labels.to_signed(), found.known.to_signed() == 0
    return float((truth == sign)[unknown & (values == sign)].mean())


@pytest.mark.parametrize("setting", ["keep-share=0.3", "keep-share=0.1,5"])
def test_what_is_filled_in_is_as_precise_as_promised_and_known_labels_stay(drawn, setting: str) -> None:
    logits, truth = drawn
    labels = simulate.apply(Labels.from_signed(truth), setting, 0)
    found = complete_scores(scored(logits, labels), labels)
    values, known, summary = found.labels.to_signed(), labels.to_signed(), found.summary
    np.testing.assert_array_equal(values[known != 0], known[known != 0])
    assert summary["basis"] == "promise" and summary["filled_absent"] > 0.5 * (known == 0).sum()
    assert precision(found, truth, -1) >= 0.95
    if summary["filled_present"]:
        assert precision(found, truth, 1) >= 0.95
    unknown = known == 0
    for side, sign in (("present", 1), ("absent", -1)):
        filled = (unknown & (values == sign)).sum(0)
        assert [one[f"filled_{side}"] for one in summary["classes"]] == filled.tolist()
        assert summary[f"filled_{side}"] == filled.sum()
    assert summary["left_unknown"] == (values == 0).sum() and summary["holes"] == unknown.sum()
    assert summary["known"] == (known != 0).sum() == labels.known
    for one in summary["classes"]:
        for side in ("present", "absent"):
            bound = one[f"bound_{side}"]
            assert (bound is None) == (one[f"threshold_{side}"] is None)
            assert bound is None or bound >= 0.95 - 1e-9


def test_thresholds_are_of_the_probabilities_that_are_written(drawn) -> None:
    logits, truth = drawn
    labels = simulate.keep_share(Labels.from_signed(truth), 0.3, seed=0)
    found = complete_scores(scored(logits, labels), labels)
    for rows, origins in found.origins():
        for column, one in enumerate(found.summary["classes"]):
            p, value = origins.probabilities[:, column], origins.values[:, column]
            unknown = labels.to_signed()[rows, column] == 0
            limit = one["threshold_present"] if one["threshold_present"] is not None else 2
            sure = unknown & (np.abs(p - limit) > 1e-4)
            np.testing.assert_array_equal(value[sure] == 1, p[sure] > limit)


def test_the_calibration_gives_about_these_probabilities(drawn) -> None:
    """In the mean of the parts of the images, which is what other commands start from."""
    logits, truth = drawn
    labels = simulate.apply(Labels.from_signed(truth), "keep-share=0.3,3", 0)
    found = complete_scores(scored(logits, labels), labels)
    line = found.summary["calibration"]
    ours = 1 / (1 + np.exp(-(line["slope"] * logits + line["shifts"])))
    for rows, origins in found.origins():
        unknown = labels.to_signed()[rows] == 0
        assert np.abs(ours[rows] - origins.probabilities)[unknown].max() < 0.05


def test_a_class_with_few_known_labels_is_left_and_it_says_how_many_more_would_do() -> None:
    random = np.random.default_rng(0)
    z = random.normal(0, 4, (300, 2))
    truth = np.where(random.random(z.shape) < 1 / (1 + np.exp(-z)), 1, -1)
    known = truth * (np.arange(300) < 12)[:, None]
    labels = Labels.from_signed(known.astype(np.int8), ["cat", "dog"])
    found = complete_scores(scored(z, labels), labels)
    assert found.summary["filled_present"] == found.summary["filled_absent"] == 0
    assert all(one["needed"] for one in found.summary["classes"])
    assert any("cat" in line and "more" in line for line in describe(found.summary))


def test_where_nothing_can_be_promised_it_says_what_could(drawn) -> None:
    """The cheapest classes first, and the precision at which something would be filled in."""
    logits, truth = drawn
    labels = simulate.keep_share(Labels.from_signed(truth[:300]), 0.2, seed=0)
    found = complete_scores(scored(logits[:300], labels), labels, Given(Wanted(0.99, 0.8)))
    assert not found.summary["filled_present"] and found.summary["filled_absent"]
    laxer = found.summary["laxer"]
    assert list(laxer) == ["present"]
    lines = describe(found.summary)
    told = next(line for line in lines if "nothing filled as present" in line)
    assert "in any class" in told and "'" not in told
    needed = sorted(one["needed"] for one in found.summary["classes"] if one["needed"])
    assert told.index(f"({needed[0]:,} more)") < told.index(f"({needed[1]:,} more)")
    share = laxer["present"]["precision"]
    assert any(line.endswith(f"--precision {share:g}") for line in lines)
    again = complete_scores(scored(logits[:300], labels), labels, Given(Wanted(share, 0.8)))
    assert again.summary["filled_present"] == laxer["present"]["filled"] > 0 and not again.summary["laxer"]


def test_tags_cannot_say_what_is_absent_and_a_new_wide_table_can(drawn, tmp_path: Path) -> None:
    logits, truth = drawn
    tags, names = tmp_path / "tags.csv", np.array(list("abcdef"))
    cells = (";".join(names[row > 0]) or names[0] for row in truth[:300])
    tags.write_text("image,tags\n" + "".join(f"{number}.jpg,{cell}\n" for number, cell in enumerate(cells)))
    dataset = tl.data.read(tags)
    order = ["abcdef".index(name) for name in dataset.labels.classes]
    found = complete_scores(scored(logits[:300, order], dataset.labels), dataset.labels, ASSUMED)
    found = replace(found, dataset=dataset)
    (note,) = found.write(tmp_path / "same.csv", like=tags)
    assert "--to csv" in note and found.summary["filled_absent"]
    found.write(tmp_path / "wide.csv", "csv", like=tags)
    assert (tl.data.read(tmp_path / "wide.csv").labels.to_signed() < 0).sum() == found.summary["filled_absent"]


def test_images_that_the_model_learned_from_are_left_as_they_are(drawn) -> None:
    logits, truth = drawn
    labels, seen = simulate.keep_share(Labels.from_signed(truth), 0.3, seed=0), np.arange(IMAGES) < 500
    lies = np.where(seen[:, None], 50 * truth, logits)  # as sure as memory
    found = complete_scores(scored(lies, labels, ~seen), labels)
    np.testing.assert_array_equal(found.labels.to_signed()[:500], labels.to_signed()[:500])
    assert found.summary["not_decided_images"] == 500 and any("--folds" in line for line in describe(found.summary))
    other = complete_scores(scored(np.where(seen[:, None], 0, logits), labels, ~seen), labels)
    np.testing.assert_array_equal(found.labels.to_signed(), other.labels.to_signed())
    with pytest.raises(TrilabelError, match="--folds 5"):
        complete_scores(scored(logits, labels, np.zeros(IMAGES, bool)), labels)


def test_images_that_cannot_be_read_stay_as_they_are(drawn) -> None:
    logits, truth = drawn
    labels, logits = simulate.keep_share(Labels.from_signed(truth), 0.3, seed=0), logits.copy()
    logits[::7] = np.nan
    found = complete_scores(scored(logits, labels), labels)
    np.testing.assert_array_equal(found.labels.to_signed()[::7], labels.to_signed()[::7])
    assert found.summary["filled_absent"] > 0


def test_positives_alone_are_an_assumption_that_an_audit_makes_a_promise(drawn) -> None:
    logits, truth = drawn
    labels = simulate.apply(Labels.from_signed(truth), "tags=0.5", 0)
    stated = Given(settings=PosteriorSettings(positives_known=0.5))
    found = complete_scores(scored(logits / 1.5 - 0.7, labels), labels, stated)
    assert found.summary["basis"] == "assumption" and not found.mistakes
    lines = describe(found.summary)
    assert lines[1].startswith("assumption, no promise") and "nothing is known to be absent" in lines[1]
    assert "--audit" in lines[1] and not any(line.startswith("promise") for line in lines)
    questions = draw_questions(found, 600)
    assert len(set(questions)) == 600 and questions == draw_questions(found, 600)
    rows = {name: row for row, name in enumerate(labels.ids)}
    columns = {name: column for column, name in enumerate(labels.classes)}
    answers = [
        Answer(image, cls, int(truth[rows[image], columns[cls]]), random=True, proposed=proposed)
        for image, cls, _, proposed in questions
    ]
    answered = find_answers(answers, labels)
    audited = complete_scores(
        scored(logits / 1.5 - 0.7, labels), labels, Given(settings=stated.settings, answered=answered)
    )
    assert audited.summary["basis"] == "audit" and describe(audited.summary)[1].startswith("promise")
    assert precision(audited, truth, -1) >= 0.95
    assert audited.known.known == labels.known + len(answers)
    assert all(audited.labels.to_signed()[rows[one.image], columns[one.cls]] == one.value for one in answers)


def test_wrong_answers_to_an_audit_bear_nothing(drawn) -> None:
    logits, truth = drawn
    labels = simulate.apply(Labels.from_signed(truth), "tags=0.5", 0)
    found = complete_scores(scored(logits, labels), labels, Given(settings=PosteriorSettings(positives_known=0.5)))
    answers = [
        Answer(image, cls, -sign, random=True, proposed=sign) for image, cls, _, sign in draw_questions(found, 99)
    ]
    audited = complete_scores(
        scored(logits, labels),
        labels,
        Given(settings=PosteriorSettings(positives_known=0.5), answered=find_answers(answers, labels)),
    )
    assert audited.summary["filled_present"] == audited.summary["filled_absent"] == 0


def test_answers_that_were_not_drawn_at_random_change_labels_but_no_threshold(drawn) -> None:
    logits, truth = drawn
    labels = simulate.keep_share(Labels.from_signed(truth), 0.3, seed=0)
    before = complete_scores(scored(logits, labels), labels)
    holes = np.argwhere(labels.to_signed() == 0)[:200]
    answers = [Answer(labels.ids[row], labels.classes[column], 1) for row, column in holes]
    after = complete_scores(scored(logits, labels), labels, Given(answered=find_answers(answers, labels)))
    assert (after.labels.to_signed()[holes[:, 0], holes[:, 1]] == 1).all()
    limits = [[one["threshold_present"] for one in each.summary["classes"]] for each in (before, after)]
    assert limits[0] == limits[1]
    sources = np.concatenate([origins.sources for _, origins in after.origins()])
    assert (sources[holes[:, 0], holes[:, 1]] == 2).all() and (sources == 2).sum() == 200


def test_suspected_mistakes_are_at_least_as_right_as_cleanlabs(drawn) -> None:
    find_label_issues = pytest.importorskip("cleanlab.filter").find_label_issues
    logits, truth = drawn
    labels = simulate.noisy(simulate.keep_share(Labels.from_signed(truth), 0.5, seed=0), 0.05, seed=0)
    known = labels.to_signed()
    found = complete_scores(scored(logits, labels), labels).mistakes
    row = {name: place for place, name in enumerate(labels.ids)}
    ours = [
        known[place] != truth[place] for place in ((row[one.image], labels.classes.index(one.cls)) for one in found)
    ]
    p, theirs = 1 / (1 + np.exp(-logits)), []
    for column in range(CLASSES):
        rows = np.flatnonzero(known[:, column])
        is_present = (known[rows, column] > 0).astype(int)
        both = np.stack((1 - p[rows, column], p[rows, column]), 1)
        for place in find_label_issues(is_present, both, return_indices_ranked_by="self_confidence", n_jobs=1):
            theirs.append((both[place, is_present[place]], known[rows[place], column] != truth[rows[place], column]))
    theirs = [wrong for _, wrong in sorted(theirs, key=lambda one: one[0])]
    assert np.mean(ours[:100]) >= np.mean(theirs[:100])
    assert found[99].expected == pytest.approx(np.mean(ours[:100]), abs=0.08)
    expected = [one.expected for one in found]
    assert expected == sorted(expected, reverse=True)
    assert {(one.known > 0) for one in found} == {True, False}


def test_a_weak_model_accuses_nobody() -> None:
    random = np.random.default_rng(0)
    truth = np.where(random.random((800, 5)) < 0.2, 1, -1).astype(np.int8)
    z = np.tanh(truth * 0.8 + random.normal(0, 1, truth.shape)) * 3  # saturates far from certainty
    labels = Labels.from_signed(truth)
    hidden = simulate.keep_share(labels, 0.5, seed=0)
    found = complete_scores(scored(z, hidden), hidden).mistakes
    assert not found


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_errors_of_a_weak_model_on_few_images_do_not_pass_for_mistakes(noise: float) -> None:
    """Scores that are sure of themselves and often wrong look like those of a good model with wrong labels."""
    random = np.random.default_rng(0)
    truth = np.where(random.random((80, 14)) < 0.2, 1, -1).astype(np.int8)
    logits = np.where(random.random(truth.shape) < 0.15, -truth, truth) * 4 + random.normal(0, 1, truth.shape)
    labels = simulate.noisy(simulate.keep_share(Labels.from_signed(truth), 0.9, seed=0), noise, seed=0)
    found = complete_scores(scored(logits, labels), labels)
    assert not found.mistakes and found.summary["mistakes"] == {"count": 0, "expected_share": None, "too_weak": True}
    assert describe(found.summary)[-1].startswith("no suspected mistakes: the scores are too weak")


def test_labels_that_scores_agree_with_are_no_suspects() -> None:
    random = np.random.default_rng(0)
    truth = random.choice([-1, 1], (200, 3)).astype(np.int8)
    labels = simulate.keep_share(Labels.from_signed(truth), 0.5, seed=0)
    found = complete_scores(scored(4 * truth + random.normal(0, 1, truth.shape), labels), labels)
    assert not found.mistakes and describe(found.summary)[-1] == "no suspected mistakes"


def test_the_probability_of_a_suspect_is_the_one_of_its_score(drawn) -> None:
    """The label has no say in it, as it has none in probabilities elsewhere."""
    logits, truth = drawn
    labels = simulate.noisy(simulate.keep_share(Labels.from_signed(truth), 0.5, seed=0), 0.05, seed=0)
    found = complete_scores(scored(logits, labels), labels)
    rows = [labels.ids.index(one.image) for one in found.mistakes]
    columns = [labels.classes.index(one.cls) for one in found.mistakes]
    ours = 1 / (1 + np.exp(-(logits[rows, columns] - 0.7) / 1.5))
    np.testing.assert_allclose([one.probability for one in found.mistakes], ours, atol=0.15)
    assert all(one.expected >= 0.5 for one in found.mistakes)


@settings(max_examples=40)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 1.0]))
def test_any_labels_are_completed_or_refused_in_words(images: int, classes: int, seed: int, share: float) -> None:
    random = np.random.default_rng(seed)
    truth = random.choice([-1, 1], (images, classes))
    known = np.where(random.random(truth.shape) < share, truth, 0).astype(np.int8)
    logits = random.choice([0, 1e4, -1e4, np.inf, -np.inf, 3.0], (images, 1)) + random.normal(0, 3, truth.shape)
    labels = Labels.from_signed(known)
    try:
        found = complete_scores(scored(logits, labels), labels, Given(Wanted(0.6, 0.6, 0.6)))
    except TrilabelError as error:
        assert "no label is known" in str(error)
        return
    values = found.labels.to_signed()
    np.testing.assert_array_equal(values[known != 0], known[known != 0])
    summary = found.summary
    assert summary["filled_present"] + summary["filled_absent"] + summary["left_unknown"] == (known == 0).sum()
    assert all(describe(summary))
