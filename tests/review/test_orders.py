"""In which order questions are asked, against sorting by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import review as oracle
from trilabel.review import orders

CHANCES = st.one_of(st.floats(0, 1, width=32), st.just(float("nan")))


@given(
    st.lists(st.tuples(CHANCES, st.sampled_from([1, 0, -1])), min_size=1, max_size=30),
    st.sampled_from(["uncertain", "valuable", "positives", "mistakes"]),
    st.integers(0, 50),
)
def test_what_is_asked_first(questions: list, order: orders.Order, positives: int) -> None:
    values = np.array([chance for chance, _ in questions], np.float64)
    known = np.array([label for _, label in questions], np.int8)
    worth = orders.worth(order, values, known, positives)
    expected = oracle.order_of_questions(order, values, known, positives)
    np.testing.assert_array_equal(orders.best_first(worth), expected)


@given(st.lists(st.one_of(st.integers(0, 5).map(float), st.just(float("-inf"))), max_size=20), st.integers(0, 25))
def test_the_first_few_are_the_first_of_all(worth: list[float], count: int) -> None:
    values = np.array(worth).reshape(-1, 1)
    some, all = orders.best_first(values, count), orders.best_first(values)
    assert len(some) == min(count, len(all)) and len(set(some)) == len(some)
    np.testing.assert_array_equal(values.ravel()[some], values.ravel()[all[:count]])


def test_random_is_a_permutation_of_the_unknown_that_depends_on_the_seed() -> None:
    values, known = np.full(200, 0.5), np.zeros(200, np.int8)
    known[:50] = 1
    one, again, other = (orders.best_first(orders.worth("random", values, known, seed=seed)) for seed in (1, 1, 2))
    assert sorted(one) == list(range(50, 200)) and list(one) != sorted(one)
    assert list(one) == list(again) != list(other)


def test_a_class_of_which_much_is_known_waits() -> None:
    few, many = orders.value_for_class(np.array([0.5, 0.5]), np.array([2, 2000]))
    assert few > 20 * many


@pytest.mark.parametrize("share", [0.0, 0.1, 0.25, 0.5])
def test_drawn_questions_are_a_share_of_all_wherever_one_stops(share: float) -> None:
    items = list(itertools.islice(orders.mixed(itertools.repeat("o"), itertools.repeat("d"), share), 400))
    for stop in range(1, 401):
        assert abs(items[:stop].count("d") - share * stop) < 1


def test_drawn_questions_go_on_where_they_were_and_count_questions_not_items() -> None:
    whole = list(orders.mixed(["o"] * 40, iter(["d"] * 40), 0.2))
    first = whole[:17]
    rest = list(orders.mixed(["o"] * 40, iter(["d"] * 40), 0.2, asked=17, given=first.count("d")))
    assert (first + rest)[: len(whole)] == whole
    cards = list(orders.mixed(["ooo"] * 30, iter("d" * 99), 0.1, size=len))
    assert abs(cards.count("d") - 0.1 * len("".join(cards))) < 1
    assert list(orders.mixed("ab", iter(()), 0.5)) == ["a", "b"]
