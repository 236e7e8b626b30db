"""What is proposed and how often, against going through all labels one by one; what is drawn at random from it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.oracles import review as oracle
from tests.support.review_cases import make_proposals
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.review import orders
from trilabel.review import survey as module
from trilabel.review.draws import Draws
from trilabel.review.limits import proposal_limits
from trilabel.review.proposals import Proposals, Recent
from trilabel.review.survey import survey


@pytest.fixture(scope="module")
def proposals(photos: Dataset) -> Proposals:
    proposals = make_proposals(photos)
    proposals.logits[7] = np.nan  # an image that could not be read
    proposals.held_out[9] = False
    return proposals


@pytest.fixture(scope="module")
def chances(proposals: Proposals) -> np.ndarray:
    return 1 / (1 + np.exp(-(proposals.logits.astype(np.float64) * 0.9 + np.linspace(-0.5, 0.5, 4))))


def test_rows_and_columns_and_single_labels_agree(proposals: Proposals, chances: np.ndarray) -> None:
    known = proposals.labels.to_signed()
    for column in range(4):
        values, labels = proposals.column(column)
        np.testing.assert_allclose(values, chances[:, column], rtol=1e-5)
        np.testing.assert_array_equal(labels, known[:, column])
        for row in (0, 7, 11):
            assert proposals.known(row, column) == known[row, column]
            one = proposals.probability(row, column)
            assert one is None if row == 7 else one == values[row]
            np.testing.assert_array_equal(proposals.row(row)[0][column], values[row])
    assert proposals.proposed(7, 0) == 0


def test_the_pass_counts_every_label_once(
    proposals: Proposals, chances: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LABELS_AT_ONCE", 4 * 33)  # blocks that do not fit evenly
    found, known = survey(proposals), proposals.labels.to_signed()
    expected = oracle.proposed_labels(chances, known, proposals.present_from, proposals.absent_to)
    for sign in (1, -1):
        rows, columns = np.array(expected[sign]).T
        np.testing.assert_array_equal(found.proposed[sign], np.bincount(columns, minlength=4))
        np.testing.assert_array_equal(found.proposed_of_image[sign], np.bincount(rows, minlength=len(chances)))
        assert {proposals.proposed(row, column) for row, column in expected[sign]} == {sign}
    unknown = (known == 0) & ~np.isnan(chances)
    np.testing.assert_array_equal(found.worth_asking, (unknown & (chances >= 0.05)).sum(0))
    for order in module.IMAGE_ORDERS:
        worth = orders.worth(order, chances, known, proposals.positives)
        np.testing.assert_allclose(
            found.image_worth[order], np.where(unknown, worth, 0).sum(1), rtol=1e-4, atol=1e-5, err_msg=order
        )


def test_suspected_mistakes_are_of_images_that_the_model_did_not_learn_from(
    proposals: Proposals, chances: np.ndarray
) -> None:
    known = proposals.labels.to_signed().copy()
    known[9] = 0
    worth = orders.worth("mistakes", chances, known)
    expected = [key for key in orders.best_first(worth) if worth.ravel()[key] > 0.5]
    assert survey(proposals).mistakes.tolist() == expected and expected


def test_other_labels_scores_or_limits_are_another_population(photos: Dataset, proposals: Proposals) -> None:
    hidden = photos.labels.to_signed()
    hidden[:, 0] = 0
    fewer = replace(photos, labels=Labels.from_signed(hidden, photos.classes, photos.ids))
    others = (proposals, make_proposals(photos, seed=1), make_proposals(fewer))
    names = {survey(one).population for one in others}
    stricter = make_proposals(photos)
    stricter.present_from[:] = 0.7
    names.add(survey(stricter).population)
    assert len(names) == 4 and survey(make_proposals(photos, seed=1)).population in names


@pytest.mark.parametrize("at_once", [1 << 20, 0])  # all drawn at the start, or one by one
def test_draws_are_a_permutation_of_all_that_is_proposed_alike(
    proposals: Proposals, chances: np.ndarray, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trilabel.review.draws._DRAWN_AT_ONCE", at_once)
    expected = oracle.proposed_labels(
        chances, proposals.labels.to_signed(), proposals.present_from, proposals.absent_to
    )
    draws, again = (Draws(proposals, survey(proposals)) for _ in range(2))
    for sign in (1, -1):
        drawn = list(draws.sequence(sign))
        assert sorted(drawn) == sorted(expected[sign]) and drawn != sorted(drawn)
        assert list(again.sequence(sign, start=5)) == drawn[5:]
        of_class = list(draws.sequence(sign, 2))
        assert sorted(of_class) == sorted(place for place in expected[sign] if place[1] == 2)
        assert list(again.sequence(sign, 2, 3)) == of_class[3:] and of_class != sorted(of_class)


def test_draws_are_even(proposals: Proposals) -> None:
    """Over many populations, every label comes first about as often."""
    found, first = survey(proposals), []
    for number in range(1500):
        first.append(next(Draws(proposals, replace(found, population=str(number))).sequence(1)))
    counts = np.unique(np.array(first), axis=0, return_counts=True)[1]
    total = found.total(1)
    expected = 1500 / total
    assert len(counts) == total and ((counts - expected) ** 2 / expected).sum() < total + 4 * np.sqrt(2 * total)


def test_limits_are_those_of_complete_where_it_has_run(tmp_path: Path) -> None:
    thresholds = np.array([0.4, 0.5])
    own = thresholds, 2.0, np.array([0.5, 0.25])
    present, absent, slope, shifts = proposal_limits(tmp_path / "completion.json", ["a", "b"], *own)
    assert slope == 2 and shifts.tolist() == [0.5, 0.25]
    assert (present == thresholds).all() and (absent < thresholds).all() and (absent > thresholds - 1e-6).all()
    file = tmp_path / "completion.json"
    file.write_text(
        '{"classes": [{"name": "b", "threshold_present": null, "threshold_absent": 0.1},'
        ' {"name": "a", "threshold_present": 0.9, "threshold_absent": null}]}'
    )
    present, absent, slope, _ = proposal_limits(file, ["a", "b"], *own)
    assert present.tolist() == [0.9, np.inf] and absent.tolist() == [-np.inf, 0.1] and slope == 2
    file.write_text(file.read_text()[:-1] + ', "calibration": {"slope": 1.5, "shifts": [3, 4]}}')
    assert proposal_limits(file, ["a", "b"], *own).slope == 1.5
    assert proposal_limits(file, ["a", "b"], *own).shifts.tolist() == [4, 3]
    for text in ("{", "[]", '{"classes": [{"name": "a", "threshold_present": 7, "threshold_absent": 0}]}'):
        file.write_text(text)
        with pytest.raises(TrilabelError, match=r"completion\.json: damaged"):
            proposal_limits(file, ["a", "b"], *own)


def test_what_was_used_last_is_kept() -> None:
    recent, made = Recent[int](2), list[str]()

    def get(name: str) -> int:
        return recent.get(name, lambda: made.append(name) or len(made))

    assert [get(name) for name in "abacab"] == [1, 2, 1, 3, 1, 4]
    assert made == ["a", "b", "c", "b"]
