"""The tests that promises rest on: exact, beside sums of probabilities and MAPIE's formulas, and in repeated trials."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.completion import binomial_at_most, counts_of, poisson_at_most
from trilabel.inference.completion.counts import BINS, LARGEST, PER_UNIT, Counts
from trilabel.inference.completion.deciding import Side, decide
from trilabel.inference.completion.promise import Evidence, chance, laxest, most_errors, times_more


@given(st.integers(0, 40), st.floats(0.2, 30), st.floats(0.5, 60))
def test_the_test_is_poissons(errors: int, weight: float, allowed: float) -> None:
    found = chance(errors * weight, errors * weight**2, weight, allowed * weight)
    assert found == pytest.approx(poisson_at_most(errors, allowed), rel=1e-6, abs=1e-12)


@given(st.integers(0, 40), st.floats(0.2, 30), st.floats(0.5, 0.99))
def test_the_bound_is_where_the_test_turns(errors: int, weight: float, confidence: float) -> None:
    bound = most_errors(errors * weight, errors * weight**2, weight, confidence)
    assert poisson_at_most(errors, bound / weight) == pytest.approx(1 - confidence, abs=1e-6)


@given(st.integers(20, 300), st.integers(0, 20), st.sampled_from([0.02, 0.05, 0.1, 0.2]))
def test_no_bolder_than_mapies_exact_test_and_close_to_it(decided: int, errors: int, share: float) -> None:
    """Where each known label stands for one unknown: learn-then-test of binary losses is the binomial test."""
    methods = pytest.importorskip("mapie.risk_control.methods")
    if errors >= share * decided - 1:
        return
    ours, exact = chance(errors, errors, 1, share * decided), binomial_at_most(errors, decided, share)
    risk = np.array([max(0.0, errors - 1e-9) / decided])
    theirs = methods.compute_hoeffding_bentkus_p_value(risk, decided, share, binary=True).item()
    assert exact <= ours + 1e-12 and theirs <= ours + 1e-7
    assert ours <= exact * np.exp(decided * share**2) + 1e-12


def _evidence(decided: list[int], errors: list[int], weight: float) -> Evidence:
    known = np.cumsum(errors).astype(float)
    return Evidence(np.cumsum(decided).astype(float), known * weight, known * weight**2, weight)


steps = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 3)), min_size=1, max_size=40)


@given(steps, st.floats(0.2, 10), st.sampled_from([0.6, 0.9, 0.95]), st.sampled_from([0.8, 0.95]))
def test_the_threshold_that_is_found_bears_its_promise(
    found: list[tuple[int, int]], weight: float, precision: float, confidence: float
) -> None:
    evidence = _evidence([one for one, _ in found], [other for _, other in found], weight)
    place = laxest(evidence, precision, confidence)
    if place is None:
        return
    errors = round(evidence.errors[place] / weight)
    assert poisson_at_most(errors, (1 - precision) * evidence.decided[place] / weight) <= 1 - confidence + 1e-9


@given(steps, st.floats(0.2, 10))
def test_more_known_labels_of_the_same_kind_would_do(found: list[tuple[int, int]], weight: float) -> None:
    evidence = _evidence([one for one, _ in found], [other for _, other in found], weight)
    times = times_more(evidence, 0.9, 0.9)
    if times is not None and times > 1:
        more = Evidence(evidence.decided, evidence.errors, evidence.squares / times, weight / times)
        p = [
            chance(y, v, more.weight, 0.1 * n)
            for y, v, n in zip(more.errors, more.squares, more.decided, strict=True)
            if n
        ]
        assert min(p) <= 0.1 + 1e-6


def test_promises_are_broken_no_more_often_than_said() -> None:
    """A class whose labels are known at random: of 400 trials at 90 % at most one in ten may break its promise."""
    random, broken, given = np.random.default_rng(0), 0, 0
    p = np.linspace(0.999, 0.5, 60)  # how likely a label at each threshold is present
    unknown, known = np.full(60, 200), np.full(60, 80)
    expected = ((1 - p) * unknown).cumsum() / unknown.cumsum()
    for _ in range(400):
        contrary = random.binomial(known, 1 - p)
        numbers = (np.array([200 / 80]), np.array([1e9]), np.array([4800]), np.array([0.9]))
        place = decide(Side(unknown[None], contrary[None], *numbers), 0.95).place[0]
        given += place >= 0
        broken += place >= 0 and expected[place] > 0.05
    assert given > 300
    assert 4 <= broken <= 40


logits = st.floats(-30, 30, width=32)


@given(st.lists(st.tuples(logits, st.sampled_from([0, 1, -1])), min_size=1, max_size=60), st.integers(1, 3), st.data())
def test_counts_are_those_of_each_label(
    given_labels: list[tuple[float, int]], classes: int, data: st.DataObject
) -> None:
    rows = len(given_labels) // classes
    odds = np.array([one for one, _ in given_labels], np.float32)[: rows * classes].reshape(rows, classes)
    signs = np.array([sign for _, sign in given_labels], np.int8)[: rows * classes].reshape(rows, classes)
    counts = Counts.zeros(classes)
    counts.add(odds, signs)
    edges = np.abs(odds * PER_UNIT - np.round(odds * PER_UNIT)) < 1e-3  # rounding may put these into either bin
    if not edges.any():
        expected = counts_of(odds.astype(float), signs, BINS, PER_UNIT, LARGEST)
        np.testing.assert_array_equal(np.stack((counts.unknown, counts.positives, counts.negatives)), expected)
    bins = np.array(data.draw(st.lists(st.integers(-BINS, BINS), min_size=classes, max_size=classes)))
    moved = counts.shifted(bins)
    for before, after in zip((counts.unknown, counts.positives), (moved.unknown, moved.positives), strict=True):
        expected = np.zeros_like(before)
        for column, place in zip(*np.nonzero(before), strict=True):
            expected[column, min(max(place + bins[column], 0), BINS - 1)] += before[column, place]
        np.testing.assert_array_equal(after, expected)
