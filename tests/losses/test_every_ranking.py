"""What must hold for all losses on pairs of labels."""

import pytest
import torch
from hypothesis import settings

from tests.support.loss_cases import value_and_gradient
from trilabel.losses import lsep, pairwise_ranking, ranknet, warp

quick = settings(max_examples=50, deadline=None)


@pytest.mark.parametrize("loss", [pairwise_ranking, lsep, warp, ranknet])
@pytest.mark.parametrize("offset", [0, -30])
def test_single_precision_is_enough(loss, offset):
    generator = torch.Generator().manual_seed(2)
    logits = torch.randn(8, 2_000, generator=generator).mul_(3).add_(offset)
    labels = torch.randint(-1, 2, (8, 2_000), generator=generator)
    value, gradient = value_and_gradient(loss, logits, labels)
    expected = value_and_gradient(loss, logits.double(), labels)
    torch.testing.assert_close(value.double(), expected[0], rtol=1e-5, atol=0)
    torch.testing.assert_close(gradient.double(), expected[1], rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("loss", [lsep, warp, ranknet])
def test_huge_gaps_of_thousands_of_classes_stay_finite(loss):
    logits = torch.tensor([-3e38, 3e38]).repeat(20, 2_500)
    value, gradient = value_and_gradient(loss, logits, torch.tensor([1, -1]).repeat(20, 2_500))
    assert value.isfinite() and value > 1e20
    assert gradient.isfinite().all() and (gradient[:, 0::2] < 0).all() and (gradient[:, 1::2] > 0).all()


@pytest.mark.parametrize("loss", [lsep, warp, ranknet])
@pytest.mark.parametrize("label", [1, -1])
def test_an_image_with_one_kind_of_label_adds_nothing(loss, label):
    logits, labels = torch.tensor([[0.3, -1.0, 2.0], [0.1, 0.2, 0.3]]), torch.tensor([[1, -1, -1], [label, label, 0]])
    value, gradient = value_and_gradient(loss, logits, labels)
    alone, its_gradient = value_and_gradient(loss, logits[:1], labels[:1])
    torch.testing.assert_close(value, alone / 2)
    torch.testing.assert_close(gradient, torch.stack([its_gradient[0] / 2, torch.zeros(3)]))
