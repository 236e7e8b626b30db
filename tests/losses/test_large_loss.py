"""Large loss: against the released code, against plain loops, and where that code changes known labels."""

import math
from fractions import Fraction

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import SPREAD, TIED, assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import assume_negative, bce, large_loss, large_unknown
from trilabel.losses.large_loss import large_count, large_loss_targets

quick = settings(max_examples=60, deadline=None)
modes = st.sampled_from(["reject", "correct"])
inf = float("inf")


@pytest.mark.parametrize("case", cases_of("large_loss_reject", "large_loss_correct"))
def test_large_loss_agrees_with_released_code(case):
    chosen = reference_cases()[case]["params"]
    mode = "reject" if "reject" in case else "correct"
    assert_agrees(lambda x, z: large_loss(x, z, chosen["epoch"], chosen["delta_rel_percent"], mode), case, 1e-5)


@quick
@given(batches(TIED | SPREAD), st.integers(1, 6), st.sampled_from([0, 0.4, 3, 12.5, 40, 100]), modes)
def test_relative_is_the_plain_loop(batch, epoch, delta, mode):
    count = math.ceil(batch[0].numel() * (epoch - 1) * Fraction(str(delta)) / 100)

    def slow(x, z, frozen=None):
        return oracle.large_loss(x, z, oracle.largest_unknown(frozen or x, z, count), mode)

    assert_same(lambda x, z: large_loss(x, z, epoch, delta, mode), slow, batch, frozen=True)


@quick
@given(
    batches(TIED | SPREAD), st.integers(2, 6), st.sampled_from([0, 0.3, 1.0]), st.sampled_from([-1, 0, 1.1, 4]), modes
)
def test_absolute_is_the_plain_loop(batch, epoch, delta, start, mode):
    def slow(x, z, frozen=None):
        return oracle.large_loss(x, z, oracle.unknown_above(frozen or x, z, start - epoch * delta), mode)

    assert_same(lambda x, z: large_loss(x, z, epoch, delta, mode, start), slow, batch, frozen=True)


@quick
@given(batches(TIED | SPREAD), st.integers(0, 25))
def test_large_unknown_is_the_plain_loop(batch, count):
    rows, signs = batch[0].tolist(), batch[1].tolist()
    assert large_unknown(*batch, count=count).tolist() == oracle.largest_unknown(rows, signs, count)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("count", [1, 100, 3_000, 50_000])
def test_large_unknown_of_a_large_batch(dtype, count):
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(60, 200, generator=generator).mul_(4).to(dtype)
    labels = torch.randint(-1, 2, (60, 200), generator=generator)
    expected = oracle.largest_unknown(logits.tolist(), labels.tolist(), count)
    assert large_unknown(logits, labels, count=count).tolist() == expected


def test_ties_with_the_last_one_are_picked_too():
    logits, labels = torch.tensor([[2.0, 1.0, 1.0], [1.0, 1.0, 0.0]]), torch.tensor([[0, 0, 0], [0, 1, 0]])
    picked = large_unknown(logits, labels, count=2)
    assert picked.tolist() == [[True, True, True], [True, False, False]]


def test_infinite_logits_are_picked_like_others():
    logits, labels = torch.tensor([[inf, 0.0, -inf, inf]]), torch.tensor([[0, 0, 0, -1]])
    for count, expected in enumerate([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]):
        assert large_unknown(logits, labels, count=count).int().tolist() == [expected]


def test_the_threshold_itself_is_not_exceeded():
    logits, labels = torch.tensor([[-1.0, 0.0, 1.0]]), torch.zeros(1, 3)
    # log(1 + exp(0)) = log 2
    assert large_unknown(logits, labels, threshold=math.log(2) + 1e-6).tolist() == [[False, False, True]]
    assert large_unknown(logits, labels, threshold=math.log(2) - 1e-6).tolist() == [[False, True, True]]
    exactly = torch.tensor([[50.0, 51.0]])  # where the loss is the logit
    assert large_unknown(exactly, torch.zeros(1, 2), threshold=50.0).tolist() == [[False, True]]
    assert large_unknown(logits, labels, threshold=0).all() and not large_unknown(logits, labels, threshold=inf).any()


@pytest.mark.parametrize("mode", ["reject", "correct"])
def test_known_labels_never_change(mode):
    logits, labels = torch.tensor([[9.0, -9.0, 8.0, 0.1]]), torch.tensor([[-1, 1, -1, 0]])
    everything = large_loss(logits, labels, epoch=50, delta=100, mode=mode)
    torch.testing.assert_close(everything, bce(logits, torch.tensor([[-1, 1, -1, mode == "correct"]])))
    for start in (None, -100.0):
        all_known = large_loss(logits[:, :3], labels[:, :3], epoch=50, delta=100, mode=mode, start=start)
        torch.testing.assert_close(all_known, bce(logits[:, :3], labels[:, :3]))


@quick
@given(batches(), modes)
def test_it_starts_as_assume_negative(batch, mode):
    plain = assume_negative(*batch)
    assert torch.equal(large_loss(*batch, epoch=1, delta=50, mode=mode), plain)
    assert torch.equal(large_loss(*batch, epoch=1, delta=50, mode=mode, start=-100), plain)
    assert torch.equal(large_loss(*batch, epoch=9, delta=0, mode=mode), plain)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float32], ids=str)
def test_targets_keep_the_dtype_and_the_labels(dtype):
    labels, picked = torch.tensor([[1, -1, 0, 0]], dtype=dtype), torch.tensor([[False, False, True, False]])
    rejected, corrected = large_loss_targets(labels, picked, "reject"), large_loss_targets(labels, picked, "correct")
    assert rejected.dtype == corrected.dtype == dtype
    assert rejected.tolist() == [[1, -1, 0, -1]] and corrected.tolist() == [[1, -1, 1, -1]]
    assert labels.tolist() == [[1, -1, 0, 0]]


def test_large_count_is_exact_whatever_the_floating_error():
    for images, classes in [(1, 1), (8, 20), (10, 100), (16, 80), (288, 5_000)]:
        for epochs in range(30):
            for hundredths in range(0, 200, 5):
                exact = math.ceil(Fraction(images * classes * epochs * hundredths, 10_000))
                assert large_count(images, classes, epochs * (hundredths / 100)) == exact


def test_large_count_at_the_edges():
    assert [large_count(10, 100, percent) for percent in (0, 1e-9, 0.7, 100, 101, 1e300)] == [0, 1, 7, 1000, 1000, 1000]


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 3), torch.zeros(2, 3)
    refused = [
        (r"epoch is 0", lambda: large_loss(*batch, epoch=0, delta=1)),
        (r"delta is -1", lambda: large_loss(*batch, epoch=1, delta=-1)),
        (r"mode is 'drop'", lambda: large_loss(*batch, epoch=1, delta=1, mode="drop")),
        (r"threshold is nan", lambda: large_loss(*batch, epoch=2, delta=1, start=float("nan"))),
        (r"count is -1", lambda: large_unknown(*batch, count=-1)),
        (r"either count or threshold, got None", lambda: large_unknown(*batch)),
        (r"either count or threshold, got 1 and 2", lambda: large_unknown(*batch, count=1, threshold=2)),
        (r"percent is -3", lambda: large_count(2, 3, -3)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
