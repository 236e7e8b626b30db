"""What people confirmed becomes known: who is right, what stays unknown."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trilabel.data.answers import Answer, with_answers
from trilabel.data.dataset import Dataset
from trilabel.labels import Labels

IDS, CLASSES = ["a", "b", "c"], ["cat", "dog"]
IMAGES, NAMES = st.sampled_from([*IDS, "elsewhere"]), st.sampled_from([*CLASSES, "cow"])
ANSWER = st.tuples(IMAGES, NAMES, st.sampled_from([1, -1, 0]))


@given(st.lists(st.sampled_from([1, -1, 0]), min_size=6, max_size=6), st.lists(ANSWER, max_size=12))
def test_the_majority_of_people_wins_over_the_data(labels: list[int], said: list[tuple[str, str, int]]) -> None:
    before = np.array(labels, np.int8).reshape(3, 2)
    dataset = Dataset(IDS, IDS, Labels.from_signed(before, CLASSES, IDS))
    answers = [Answer(*one, f"person {n}", "", "grid", False, 0, None) for n, one in enumerate(said)]
    after, told = with_answers(dataset, answers)
    expected, confirmed, changed, undecided = before.copy(), 0, 0, 0
    for row, image in enumerate(IDS):
        for column, cls in enumerate(CLASSES):
            votes = [value for *place, value in said if place == [image, cls]]
            sign = np.sign(sum(votes))
            if sign:
                expected[row, column] = sign
                confirmed += 1
                changed += before[row, column] == -sign
            elif votes:
                undecided += 1
    np.testing.assert_array_equal(after.labels.to_signed(), expected)
    assert list(after.ids) == IDS and list(after.classes) == CLASSES and after.truth is None
    elsewhere = {(image, cls) for image, cls, _ in said if image == "elsewhere" or cls == "cow"}
    assert told == (confirmed, changed, undecided, len(elsewhere))
