"""Positives per image come from fully labelled images alone, with an honest interval, or are called a guess."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.oracles import expected_positives as oracle
from trilabel.labels import Labels
from trilabel.labels.expected_positives import ExpectedPositives, expected_positives, labeled_positives

quick = settings(max_examples=60, deadline=None)


def dense_labels(least=0):
    shapes = st.tuples(st.integers(0, 9), st.integers(least, 4))
    return hnp.arrays(np.int8, shapes, elements=st.sampled_from([-1, 1, 1, 0]))


@quick
@given(dense_labels())
def test_the_mean_is_that_of_a_plain_count(dense):
    found, counts = labeled_positives(Labels.from_signed(dense)), oracle.counts_of_full(dense.tolist())
    if not (dense < 0).any():  # nobody names negatives here: an image with all classes is a rare one, not a sample
        counts = []
    if not counts:
        assert found is None
        return
    assert found.value == pytest.approx(sum(counts) / len(counts))
    assert (found.images, found.source) == (len(counts), "labeled")
    if len(counts) < 5:
        assert (found.low, found.high) == (None, None)
    else:
        assert 0 <= found.low <= found.value + 1e-9 and found.value - 1e-9 <= found.high <= dense.shape[1]


def test_a_labeled_sample_goes_before_training_images():
    training, sample = np.array([[1, -1, -1], [-1, -1, -1], [1, 0, 0]]), np.array([[1, 1, -1], [1, -1, -1]])
    found = expected_positives(Labels.from_signed(training), Labels.from_signed(sample))
    assert (found.value, found.images, found.source) == (1.5, 2, "labeled")
    for nothing in (None, Labels.from_signed(np.zeros((2, 3))), Labels.from_signed([[1, 1, 1]])):
        found = expected_positives(Labels.from_signed([[1, -1, -1], [1, 1, -1], [1, 0, 0]]), nothing)
        assert (found.value, found.images, found.source) == (1.5, 2, "labeled")


def test_images_that_were_not_picked_at_random_are_no_sample():
    tags = np.array([[1, 1, 1]] * 8 + [[1, 0, 0]] * 90)  # positives only: of some images all classes are named
    assert expected_positives(Labels.from_signed(tags)).source == "guess"
    # One present and all negatives of each image: fully labelled are only those that have no other present.
    one = np.array([[1, -1, -1]] * 30 + [[-1, -1, -1]] * 30 + [[1, 0, -1], [0, 1, 0]] * 200)
    found = expected_positives(Labels.from_signed(one))
    assert found.source == "guess" and found.value == 1.5


@pytest.mark.parametrize("images", [5, 25, 400])
def test_the_interval_is_that_of_a_plain_loop(images):
    counts = np.random.default_rng(images).poisson(2.5, images).clip(0, 12)
    dense = np.where(np.arange(12) < counts[:, None], 1, -1)
    found = expected_positives(Labels.from_signed(dense))
    low, high = oracle.interval(oracle.counts_of_full(dense.tolist()))
    width = high - low
    assert found.low == pytest.approx(low, abs=0.08 * width) and found.high == pytest.approx(high, abs=0.08 * width)


@pytest.mark.parametrize("images", [5, 25])
def test_the_interval_holds_the_true_mean_nine_times_in_ten(images):
    # As table A2 of Cole 2021 on made-up labels: 20,000 images with 2.9 positives on average, as COCO has.
    draw = np.random.default_rng(1)
    counts = (1 + draw.negative_binomial(2, 2 / (2 + 1.9), 20_000)).clip(max=18)
    population = Labels.from_signed(np.where(np.arange(18) < counts[:, None], 1, -1).astype(np.int8))
    held, ends = [], []
    for _ in range(600):
        found = expected_positives(population[draw.choice(20_000, images, replace=False)])
        held.append(found.low <= counts.mean() <= found.high)
        ends.append((found.low, found.high))
    # Resampling few skewed counts is known to fall a few points short; the noise of 600 draws is 1.3 points.
    assert 0.83 <= np.mean(held) <= 0.95
    if images < 25:
        return
    plain = [counts[draw.choice(20_000, images, replace=False)].mean() for _ in range(4_000)]
    width = np.subtract(*np.percentile(plain, [95, 5]))
    assert np.mean(np.diff(ends)) == pytest.approx(width, rel=0.1)


def test_a_guess_is_one_and_a_half_times_what_is_named_and_within_reason():
    def guess(dense):
        found = expected_positives(Labels.from_signed(dense), Labels.from_signed(np.zeros((2, len(dense[0])))))
        assert found.source == "guess" and found.low is found.high is None and found.images == 0
        return found.value

    assert guess([[1, 0, 0], [0, 1, 0], [0, 0, 0]]) == 1.5  # the image without a name does not count
    assert guess([[1, 1, 0, 0], [0, 1, 0, 0]]) == 2.25
    assert guess([[1, 1, 1, 0]]) == 4  # there are no more classes
    assert guess([[-1, 0, 0]]) == 1.5
    assert guess([[-1, -1], [1, 0]]) == 1.5  # fully labelled images without any present forbid none elsewhere


@given(st.integers(1, 5), st.integers(0, 4), st.integers(0, 100))
@quick
def test_it_is_always_a_number_that_images_can_have(classes, images, seed):
    dense = np.random.default_rng(seed).choice([-1, 0, 1], (images, classes))
    assert 0 < expected_positives(Labels.from_signed(dense.astype(np.int8))).value <= classes


def test_what_is_given_is_taken():
    full = Labels.from_signed(np.ones((9, 3)))
    assert expected_positives(full, full, given=1.25) == ExpectedPositives(1.25, "given")


def test_nothing_is_made_dense():
    images, classes = 2_000_000, 5_000  # 10 GB as int8
    rows, columns = np.arange(images), np.arange(images) % classes
    csr = sp.csr_array((np.ones(images, np.int8), (rows, columns)), shape=(images, classes))
    assert expected_positives(Labels.from_csr(csr)).value == 1.5


def test_what_people_read():
    def said(*args):
        line = ExpectedPositives(*args).describe()
        assert "\n" not in line
        return line

    assert said(2.9, "given") == "positives per image: 2.9 (given)"
    assert said(2.312, "labeled", 2.25, 2.377, 1500) == (
        "positives per image: 2.31 (90 % interval 2.25–2.38, from 1,500 fully labelled images)"
    )
    assert "from 3 fully labelled images: too few" in said(2.0, "labeled", None, None, 3)
    assert "from 1 fully labelled image:" in said(2.0, "labeled", None, None, 1)
    guess = said(1.5, "guess")
    assert "1.50 is A GUESS" in guess and "--set expected_positives=K" in guess and "label a few images fully" in guess
