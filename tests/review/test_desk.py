"""The desk: who is asked what, what counts, what random questions say about all; without the web."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.review_cases import make_desk
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.review import sheets as sheets_module
from trilabel.review.desk import Desk, Given
from trilabel.review.question_tables import QuestionTable
from trilabel.review.sheets import Sheet
from trilabel.review.store import confirmed, read_answers, read_records
from trilabel.review.views import View

GRID, IMAGES = View("grid", 1, "positives"), View("images")


@pytest.fixture
def desk(photos: Dataset, tmp_path: Path) -> Iterator[Desk]:
    desk = make_desk(photos, tmp_path / "answers.db")
    yield desk
    desk.close()


def reply(desk: Desk, sheet: Sheet, value: int = 1, undone: bool = False, batch: str = "") -> None:
    given = [Given(one.row, one.column, value, undone) for card in sheet.cards for one in card.questions]
    desk.answer(sheet.who, sheet.id, sheet.view.kind, batch or f"{sheet.id}{value}{undone}", given).result(60)


def everything(desk: Desk, who: str, view: View, value: int = 1) -> list[int]:
    """Answers a view to its end; the keys in the order in which they were asked."""
    asked = list[int]()
    while (sheet := desk.sheet(who, view, new=True)).cards:
        asked += sheet.labels()
        reply(desk, sheet, value)
    return asked


def test_a_grid_asks_every_unknown_label_once_the_likeliest_first(desk: Desk) -> None:
    sheet = desk.sheet("anna", GRID)
    chances, known = desk.proposals.column(1)
    unknown = np.flatnonzero(known == 0)
    best = unknown[np.argsort(-chances[unknown])]
    assert {card.row for card in sheet.cards} == set(best[:24].tolist()) and len(sheet.cards) == 24
    reply(desk, sheet)
    rest = everything(desk, "anna", GRID)
    assert sorted(sheet.labels() + rest) == sorted((unknown * 4 + 1).tolist())


def test_two_people_never_get_the_same_question_and_reloading_gives_the_same_sheet(desk: Desk) -> None:
    anna, ben = desk.sheet("anna", GRID), desk.sheet("ben", GRID)
    assert set(anna.labels()).isdisjoint(ben.labels())
    assert desk.sheet("anna", GRID, anna.id) is anna
    assert set(desk.sheet("anna", GRID).labels()).isdisjoint(anna.labels())  # a second tab
    assert desk.sheet("ben", GRID, anna.id) is not anna  # nobody gets another's sheet by its name


def test_a_sheet_that_was_left_comes_again_and_after_a_while_others_get_its_questions(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = desk.sheet("anna", GRID)
    desk.leave("ben", [first.id])  # not his
    assert desk.sheet("anna", GRID) is not first
    desk.leave("anna", [first.id, "no such sheet"])
    assert desk.sheet("anna", GRID) is first
    assert set(desk.sheet("ben", GRID).labels()).isdisjoint(first.labels())
    clock = sheets_module.time.monotonic() + sheets_module.HELD_FOR + 1
    monkeypatch.setattr(sheets_module.time, "monotonic", lambda: clock)
    taken = desk.sheet("carl", GRID)
    assert set(taken.labels()) == set(first.labels())
    assert desk.sheet("anna", GRID, first.id).labels() == []  # what others have by now is not asked twice


def test_votes_ask_different_people_and_the_majority_counts(photos: Dataset, tmp_path: Path) -> None:
    desk = make_desk(photos, tmp_path / "answers.db", votes=3)
    asked = {who: desk.sheet(who, GRID) for who in ("anna", "ben", "carl")}
    assert set(asked["anna"].labels()) == set(asked["ben"].labels()) == set(asked["carl"].labels())
    assert set(desk.sheet("dora", GRID).labels()).isdisjoint(asked["anna"].labels())
    for who, value in (("anna", 1), ("ben", -1), ("carl", -1)):
        reply(desk, asked[who], value)
    assert {desk.answered.value(key) for key in asked["anna"].labels()} == {-1}
    assert desk.answered.agreement() == (24, 72) and len(desk.answered.disagreements()) == 24
    desk.close()
    assert set(confirmed(read_answers(tmp_path / "answers.db")).values()) == {-1}


def test_undo_is_an_answer_and_the_question_is_asked_again(desk: Desk, tmp_path: Path) -> None:
    sheet = desk.sheet("anna", GRID)
    reply(desk, sheet)
    assert desk.progress("anna", GRID).of_person == 24
    reply(desk, sheet, undone=True)
    assert desk.progress("anna", GRID).of_person == desk.progress("anna", GRID).done == 0
    assert set(desk.sheet("ben", GRID).labels()).isdisjoint(sheet.labels())  # it is still before her
    assert desk.sheet("anna", GRID, sheet.id).labels() == sheet.labels()
    assert len(read_records(tmp_path / "answers.db")) == 48 and read_answers(tmp_path / "answers.db") == []


def test_what_is_stored_says_what_was_proposed(desk: Desk, tmp_path: Path) -> None:
    sheet = desk.sheet("anna", GRID)
    reply(desk, sheet)
    for one in read_answers(tmp_path / "answers.db"):
        row = desk.proposals.ids.positions(type(desk.proposals.ids)([one.image]))[0]
        assert one.cls == "cat" and one.who == "anna" and one.view == "grid" and one.when.endswith("Z")
        assert one.probability == desk.proposals.probability(row, 1)
        assert one.proposed == desk.proposals.proposed(row, 1)


def test_it_goes_on_after_a_restart(desk: Desk, photos: Dataset, tmp_path: Path) -> None:
    asked = desk.sheet("anna", GRID)
    reply(desk, asked)
    done = desk.progress("anna", GRID)
    desk.close()
    again = make_desk(photos, tmp_path / "answers.db")
    assert again.progress("anna", GRID)[:2] == done[:2] and done.done == 24
    assert set(again.sheet("anna", GRID).labels()).isdisjoint(asked.labels())
    again.close()


def test_answers_about_other_data_are_left_out(desk: Desk, photos: Dataset, tmp_path: Path) -> None:
    reply(desk, desk.sheet("anna", GRID))
    desk.close()
    fewer = make_desk(photos.take(np.arange(1, 120)), tmp_path / "answers.db")
    assert 0 <= fewer.of_others <= 1 and fewer.answered.by_person["anna"] == 24 - fewer.of_others
    fewer.close()


def test_one_image_at_a_time_with_its_doubtful_classes(desk: Desk) -> None:
    sheet = desk.sheet("anna", View("images", order="uncertain"))
    doubt = [desk.survey.image_worth["uncertain"][card.row] for card in sheet.cards]
    assert doubt == sorted(doubt, reverse=True) and len(sheet.cards) == 8
    for card in sheet.cards:
        chances, known = desk.proposals.row(card.row)
        asked = [question.column for question in card.questions]
        assert (known[asked] == 0).all() and (chances[asked] >= 0.05).all()
        worth = 4 * chances[asked] * (1 - chances[asked])
        assert list(worth) == sorted(worth, reverse=True)


def test_mistakes_and_tables_are_asked_in_their_order(photos: Dataset, tmp_path: Path) -> None:
    table = QuestionTable("plan.csv", np.array([40, 8, 3]), random=False)
    desk = make_desk(photos, tmp_path / "answers.db", table=table)
    assert everything(desk, "anna", View("questions")) == [40, 8, 3]
    assert desk.progress("anna", View("questions"))[:2] == (3, 3)
    assert everything(desk, "anna", View("mistakes")) == desk.survey.mistakes.tolist()
    desk.close()
    assert {one.view for one in read_answers(tmp_path / "answers.db")} == {"questions", "mistakes"}


def test_answers_to_an_audit_say_so(photos: Dataset, tmp_path: Path) -> None:
    desk = make_desk(photos, tmp_path / "answers.db", table=QuestionTable("audit.csv", np.array([1, 2]), random=True))
    everything(desk, "anna", View("questions"))
    desk.close()
    assert {(one.view, one.random) for one in read_answers(tmp_path / "answers.db")} == {("audit", True)}


def test_filters(desk: Desk, photos: Dataset) -> None:
    rows = {card.row for card in desk.sheet("anna", View("grid", 0, split="test")).cards}
    assert rows and rows <= set(photos.splits["test"].tolist())
    rows = {card.row for card in desk.sheet("ben", View("grid", 0, text="PHOTOS/05")).cards}
    assert rows and rows <= set(range(50, 60))
    chances = [
        desk.proposals.probability(card.row, 2) for card in desk.sheet("c", View("grid", 2, low=0.4, high=0.6)).cards
    ]
    assert chances and all(0.4 <= chance <= 0.6 for chance in chances if chance is not None)
    questions = [one for card in desk.sheet("d", View("images", low=0.9)).cards for one in card.questions]
    assert questions and all(desk.proposals.probability(one.row, one.column) >= 0.9 for one in questions)
    with pytest.raises(TrilabelError, match="no split named"):
        desk.sheet("anna", View("grid", 0, split="nope"))


@pytest.mark.parametrize("view", [GRID, IMAGES])
def test_a_share_of_the_questions_is_drawn_at_random(view: View, photos: Dataset, tmp_path: Path) -> None:
    desk, asked, drawn = make_desk(photos, tmp_path / "answers.db", random_share=0.25), 0, 0
    for _ in range(3):
        sheet = desk.sheet("anna", view)
        asked, drawn = asked + len(sheet.labels()), drawn + len(sheet.drawn())
        reply(desk, sheet)
    assert abs(drawn - 0.25 * asked) <= 1
    scope = "class" if view == GRID else "all"
    assert {one.drawn for one in read_records(tmp_path / "answers.db")} == {"", scope}
    assert desk.sheet("ben", View("grid", 1, text="0")).drawn() == {}  # within a filter nothing says anything about all
    desk.close()


def answer_truly(desk: Desk, truth: np.ndarray, view: View, sheets: int) -> None:
    for _ in range(sheets):
        sheet = desk.sheet("anna", view)
        given = [Given(key // 4, key % 4, int(truth[key // 4, key % 4]), False) for key in sheet.labels()]
        if not given:
            return
        desk.answer("anna", sheet.id, view.kind, sheet.id, given).result(60)


def test_random_questions_say_how_much_of_all_is_right_whatever_else_was_answered(
    photos: Dataset, tmp_path: Path
) -> None:
    """The doubtful ones are answered first, and are wrong more often; the estimate must not follow them.

    Once everything is drawn, it is exactly the share of all.
    """
    desk = make_desk(photos, tmp_path / "answers.db", random_share=0.5)
    signs = np.array([[desk.proposals.proposed(row, column) for column in range(4)] for row in range(120)])
    doubt = np.array([desk.proposals.row(row)[0] for row in range(120)])
    truth = np.where(np.abs(doubt - 0.5) < 0.25, -signs, signs)  # wrong where it is uncertain
    truth[truth == 0] = 1
    answer_truly(desk, truth, View("images", order="uncertain"), 12)
    known = photos.labels.to_signed()
    right = {sign: ((truth == sign) & (signs == sign) & (known == 0)).sum() for sign in (1, -1)}
    for sign in (1, -1):
        share, total = desk.right()[sign], desk.survey.total(sign)
        assert share.low < right[sign] / total < share.high and 20 < share.asked < total
    desk.close()
    again = make_desk(photos, tmp_path / "answers.db", random_share=0.5)
    assert again.right() == make_desk(photos, tmp_path / "answers.db").right()
    for column in range(4):  # everything, in any order; what comes up later counts as it was answered
        answer_truly(again, truth, View("grid", column, "uncertain"), 99)
    answer_truly(again, truth, View("images"), 99)
    again._writer.add([], lambda: None).result(60)
    found = set(again.answered.drawn["all"])
    assert all(again.answered.value(key) == truth[key // 4, key % 4] for key in found)
    again.close()


def test_what_was_answered_before_it_is_drawn_is_stored_as_drawn(photos: Dataset, tmp_path: Path) -> None:
    desk = make_desk(photos, tmp_path / "answers.db", random_share=0.5)
    for column in range(4):
        everything(desk, "anna", View("grid", column, text="photos/0"))  # a filter, so that nothing is drawn
    desk.sheet("ben", IMAGES)
    desk._writer.add([], lambda: None).result(60)
    desk.close()
    answers = read_answers(tmp_path / "answers.db")
    drawn = [one for one in answers if one.random]
    assert drawn and {one.view for one in drawn} == {"earlier"} and {one.who for one in drawn} == {"anna"}
    assert {one.value for one in drawn} == {1}


def test_time_left_follows_how_long_a_person_takes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("trilabel.review.answered.time.monotonic", lambda: now)
    assert desk.progress("anna", GRID).seconds_left is None
    for pause in (0.0, 48.0, 48.0, 100_000.0):  # the last time she had lunch
        now += pause
        sheet = desk.sheet("anna", GRID, new=True)
        reply(desk, sheet)
    found = desk.progress("anna", GRID)
    pace = (48 + 48 + 60 * 24) / 72
    assert found.seconds_left == pytest.approx(pace * (found.total - found.done))
