"""Tables of questions: what is read, and how wrong ones are refused."""

from pathlib import Path

import pytest

from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.review.question_tables import read_questions

IDS, CLASSES = Names(["a.jpg", "b, c.jpg", "d.jpg"]), Names(["cat", "dog"])


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_questions_come_in_their_order_each_once(tmp_path: Path) -> None:
    file = write(tmp_path / "plan.csv", 'class,image,worth\ndog,d.jpg,3\ncat,"b, c.jpg",2\ndog,d.jpg,1\n')
    assert read_questions(file, IDS, CLASSES)[:2] == ("plan.csv", pytest.approx([5, 2]))
    assert not read_questions(file, IDS, CLASSES).random


def test_an_audit_is_random_and_what_it_has_an_answer_to_is_not_asked(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", "image,class,probability,proposed,answer\na.jpg,cat,.9,1,1\nd.jpg,cat,.9,1,\n")
    found = read_questions(file, IDS, CLASSES)
    assert found.random and found.keys.tolist() == [4]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "row 1: questions have columns image and class"),
        ("image,label\na.jpg,cat\n", "columns image and class; these are image, label"),
        ("image,class\na.jpg,cat\nx.jpg,cat\n", "row 3: no image 'x.jpg' in the data"),
        ("image,class\na.jpg,cow\n", "row 2: no class 'cow' in the data"),
        ("image,class\na.jpg\n", "row 2: 1 cell, but the header has 2"),
    ],
)
def test_what_is_wrong_is_named_by_its_row(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match=message):
        read_questions(write(tmp_path / "q.csv", text), IDS, CLASSES)
