"""Selective ASL: against the released code, against plain loops, and against ASL."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import SPREAD, TIED, assert_agrees, assert_same, batches, cases_of, reference_cases
from trilabel import TrilabelError
from trilabel.losses import asymmetric, partial_asymmetric
from trilabel.losses.partial_asymmetric import selected_unknown

quick = settings(max_examples=60, deadline=None)
gammas = st.sampled_from([0, 0.5, 1, 2, 2.5, 4])


@pytest.mark.parametrize("case", cases_of("partial_asymmetric"))
def test_partial_asymmetric_agrees_with_released_code(case):
    chosen = reference_cases()[case]["params"]
    numbers = {name: chosen[name] for name in ("gamma_pos", "gamma_neg", "gamma_unknown", "reduction")}
    mode, top_k = case.split("/")[2], chosen["top_k_per_image"]
    assert_agrees(lambda x, z: partial_asymmetric(x, z, mode, top_k=top_k, **numbers), case, 1e-5)


@quick
@given(
    batches(TIED | SPREAD),
    st.sampled_from(["ignore", "negative", "selective"]),
    st.tuples(gammas, gammas, gammas),
    st.integers(0, 6),
    st.sampled_from([0, 0.05, 0.3]),
    st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_partial_asymmetric_is_the_plain_loop(batch, mode, three, top_k, clip, common):
    common = common[: batch[0].shape[1]]

    def selected(x, z):
        """Unknown labels, less the most probable ones and those of common classes."""
        probable = oracle.largest_unknown(x, z, top_k * len(x))
        return [
            [
                label == 0 and (mode == "negative" or (mode == "selective" and not (likely or often)))
                for label, likely, often in zip(signs, row, common, strict=True)
            ]
            for signs, row in zip(z, probable, strict=True)
        ]

    def slow(x, z, frozen=None):
        return oracle.partial_asymmetric(x, z, selected(frozen or x, z), three, clip, frozen)

    def quick_loss(x, z):
        return partial_asymmetric(x, z, mode, *three, top_k, clip, torch.tensor(common), "sum")

    assert_same(quick_loss, slow, batch, frozen=True)


@quick
@given(batches(), gammas)
def test_relatives_coincide(batch, gamma):
    logits, labels = batch
    known = partial_asymmetric(logits, labels, "ignore", 1, 4, clip=0.05)
    torch.testing.assert_close(known, asymmetric(logits, labels))
    unknown_absent = labels.clamp(min=0) * 2 - 1
    everything = partial_asymmetric(logits, labels, "negative", 1, gamma, gamma, clip=0.1)
    torch.testing.assert_close(everything, asymmetric(logits, unknown_absent, 1, gamma, clip=0.1))
    torch.testing.assert_close(partial_asymmetric(logits, labels, "selective", 1, gamma, gamma, 0, 0.1), everything)
    torch.testing.assert_close(partial_asymmetric(logits, labels, "selective", 1, 4, 2, 99, 0.05), known)


def test_probable_unknown_labels_are_counted_over_the_batch():
    logits = torch.tensor([[5.0, 4.0, 3.0], [2.0, 2.0, 1.0]])
    labels = torch.tensor([[0, 0, -1], [0, 0, 0]])
    assert selected_unknown(logits, labels, 0).tolist() == [[True, True, False], [True, True, True]]
    assert selected_unknown(logits, labels, 1).tolist() == [[False, False, False], [True, True, True]]
    # The labels of an ignored class use up places among the most probable.
    without_first = selected_unknown(logits, labels, 1, torch.tensor([True, False, False]))
    assert without_first.tolist() == [[False, False, False], [False, True, True]]
    assert not selected_unknown(logits, labels, 9).any()


def test_labels_that_tie_with_the_last_probable_one_are_left_out_too():
    assert selected_unknown(torch.tensor([[1.0, 1.0, 0.0]]), torch.zeros(1, 3), 1).tolist() == [[False, False, True]]


def test_whole_numbers_beside_a_fraction_do_not_round_it():
    logits, labels = torch.tensor([[-2.0, 1.0, 0.5]]), torch.tensor([[0, 1, -1]])
    whole = partial_asymmetric(logits, labels, "negative", 0, 0, 0.5)
    assert torch.equal(whole, partial_asymmetric(logits, labels, "negative", 0.0, 0.0, 0.5))
    assert whole < partial_asymmetric(logits, labels, "negative", 0, 0, 0)


def test_reductions_reduce_the_same_parts():
    generator = torch.Generator().manual_seed(4)
    logits, labels = torch.randn(5, 7, generator=generator), torch.randint(-1, 2, (5, 7), generator=generator)
    parts = partial_asymmetric(logits, labels, reduction="none")
    assert parts.shape == (5, 7) and (parts[labels > 0] > 0).all()
    torch.testing.assert_close(partial_asymmetric(logits, labels, reduction="sum"), parts.sum())
    torch.testing.assert_close(partial_asymmetric(logits, labels), parts.sum() / 35)


def test_unfit_settings_are_refused():
    batch = torch.zeros(2, 3), torch.zeros(2, 3)
    refused = [
        (r"mode is 'none'", lambda: partial_asymmetric(*batch, mode="none")),
        (r"gamma_pos is -1", lambda: partial_asymmetric(*batch, gamma_pos=-1)),
        (r"gamma_unknown is -1", lambda: partial_asymmetric(*batch, gamma_unknown=-1)),
        (r"top_k is -1", lambda: partial_asymmetric(*batch, top_k=-1)),
        (r"bool \(3,\).*float32", lambda: partial_asymmetric(*batch, ignored_classes=torch.zeros(3))),
        (r"bool \(3,\).*bool \(2, 3\)", lambda: partial_asymmetric(*batch, ignored_classes=torch.ones(2, 3) > 0)),
    ]
    for message, call in refused:
        with pytest.raises(TrilabelError, match=message):
            call()
