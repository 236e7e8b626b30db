"""The posterior of unknown labels: against plain loops, and against the losses that it becomes at both ends."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import losses as oracle
from tests.support.loss_cases import assert_same, batches, value_and_gradient
from trilabel import TrilabelError
from trilabel.losses import assume_negative, bce, one_of_k_log_factor, posterior
from trilabel.losses.posterior import posterior_targets

quick = settings(max_examples=50, deadline=None)
inf = math.inf
log_factors = st.one_of(st.floats(-8, 8), st.sampled_from([0.0, -inf]))


@quick
@given(batches(), log_factors, st.floats(0, 1))
def test_it_is_the_plain_loop(batch, factor, smoothing):
    def slow(x, z, frozen=None):
        return oracle.posterior(x, z, [[factor] * len(x[0])] * len(x), smoothing, frozen)

    assert_same(lambda x, z: posterior(x, z, factor, smoothing), slow, batch, frozen=True)


@quick
@given(batches())
def test_one_of_k_is_the_plain_loop(batch):
    logits, labels = batch
    factors = oracle.one_of_k_log_factors(logits.tolist(), labels.tolist())
    expected = torch.tensor(factors, dtype=torch.float64)
    torch.testing.assert_close(one_of_k_log_factor(logits, labels), expected, rtol=1e-9, atol=1e-12)

    def slow(x, z, frozen=None):
        return oracle.posterior(x, z, factors, 0, frozen)

    assert_same(lambda x, z: posterior(x, z, one_of_k_log_factor(x, z)), slow, batch, frozen=True)


@quick
@given(batches(), st.floats(0, 1))
def test_silence_that_says_nothing_gives_no_gradient(batch, smoothing):
    """The gradient is that of the known labels alone, and exactly 0 for unknown ones."""
    logits, labels = batch
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        x = logits.to(dtype)
        _, gradient = value_and_gradient(lambda x, z: posterior(x, z, 0.0, smoothing), x, labels)
        assert (gradient[labels == 0] == 0).all()
        torch.testing.assert_close(gradient, value_and_gradient(lambda x, z: bce(x, z, smoothing), x, labels)[1])


@quick
@given(batches(), st.floats(0, 1))
def test_where_all_positives_are_named_it_is_assume_negative(batch, smoothing):
    got = value_and_gradient(lambda x, z: posterior(x, z, -inf, smoothing), *batch)
    torch.testing.assert_close(got, value_and_gradient(lambda x, z: assume_negative(x, z, smoothing), *batch))


def test_a_factor_for_each_class_or_label_or_all():
    logits, labels = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)), torch.zeros(3, 4)
    of_class = torch.tensor([0.0, -1.0, -inf, 2.0])
    targets = posterior_targets(logits, labels, of_class)
    assert torch.equal(targets, posterior_targets(logits, labels, of_class.expand(3, 4)))
    assert torch.equal(targets[:, 1], posterior_targets(logits, labels, -1.0)[:, 1])
    torch.testing.assert_close(torch.logit(targets[:, 3]), logits[:, 3] + 2)


def test_infinite_logits_and_factors_give_finite_losses():
    for dtype in (torch.bfloat16, torch.float32):
        logits = torch.tensor([[-inf, inf, 0.0, 1e30]], dtype=dtype)
        for factor in (-inf, inf, 0.0, -50.0):
            for smoothing in (0, 0.1):
                value, gradient = value_and_gradient(
                    lambda x, z, f=factor, s=smoothing: posterior(x, z, f, s), logits, torch.zeros(1, 4)
                )
                assert value.isfinite() and gradient.isfinite().all() and gradient.dtype == dtype
        assert one_of_k_log_factor(logits, torch.tensor([[1, 0, 0, 0]])).isfinite().all()


def test_more_to_name_makes_silence_say_less():
    """With one label named, the factor is a half where nothing else is likely, and nears 1 as more is."""
    few, many = torch.tensor([[0.0, -20.0, -20.0, -20.0]]), torch.tensor([[0.0, -20.0, 20.0, 20.0]])
    labels = torch.tensor([[1, 0, 0, 0]])
    assert one_of_k_log_factor(few, labels).exp()[0, 1].item() == pytest.approx(1 / 2)
    assert one_of_k_log_factor(many, labels).exp()[0, 1].item() == pytest.approx(3 / 4)
    assert not one_of_k_log_factor(many, torch.zeros(1, 4)).any()  # nobody looked at this image


def test_unfit_settings_are_refused():
    with pytest.raises(TrilabelError, match="smoothing is 2"):
        posterior(torch.zeros(2, 3), torch.ones(2, 3), 0.0, smoothing=2)
