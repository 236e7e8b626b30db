"""The gap head: pooling and the linear layer commute."""

import pytest
import torch

from trilabel.errors import TrilabelError
from trilabel.models.heads.gap import GapHead, GapSettings


def test_the_mean_of_its_maps_is_the_logit():
    head = GapHead(7, 4)
    feature_map = torch.randn(3, 7, 5, 6)
    maps, logits = head.maps(feature_map), head(head.reduce_features(feature_map))
    torch.testing.assert_close(maps.mean((2, 3)), logits)
    weight, bias = head.linear.weight, head.linear.bias
    for y in range(5):
        for x in range(6):
            torch.testing.assert_close(maps[:, :, y, x], feature_map[:, :, y, x] @ weight.T + bias)


def normalizing(features: torch.Tensor, power: float = 1.0, contrast: float = 1.0) -> GapHead:
    head = GapHead(features.shape[1], 4, GapSettings(normalize=True, power=power, contrast=contrast))
    head.fit_normalization(features)
    return head


def test_normalized_features_have_one_length_mean_0_and_mean_square_1():
    features = torch.rand(50, 7) * torch.logspace(-3, 3, 50)[:, None]
    head = normalizing(features)
    seen = head.normalized(features)
    torch.testing.assert_close(seen.mean(0), torch.zeros(7), atol=1e-5, rtol=0)
    torch.testing.assert_close(seen.square().mean(), torch.tensor(1.0))
    for factor in (0.01, 100.0):
        torch.testing.assert_close(head(factor * features), head(features), atol=1e-4, rtol=1e-4)
    features = torch.rand(1, 7)
    assert normalizing(features).normalized(features).isfinite().all(), "one image has no spread"
    assert normalizing(torch.zeros(3, 7))(torch.zeros(2, 7)).isfinite().all()


def test_the_mean_of_maps_is_the_logit_of_normalized_features_too():
    feature_map = torch.rand(3, 7, 5, 6)
    head = normalizing(torch.rand(20, 7))
    logits = head(head.reduce_features(feature_map))
    torch.testing.assert_close(head.maps(feature_map).mean((2, 3)), logits, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("power", "contrast"), [(3, 1), (3, 1.5), (1, 2)])
def test_a_power_pools_by_the_generalized_mean_and_contrast_raises_it(power: float, contrast: float):
    head = GapHead(7, 4, GapSettings(power=power, contrast=contrast))
    feature_map = torch.randn(3, 7, 5, 6)
    pooled = head.reduce_features(feature_map)
    for image in range(3):
        for channel in range(7):
            cells = feature_map[image, channel].double().flatten()
            above, below = cells[cells > 0], cells[cells < 0]
            expected = (above.pow(power).sum() / 30) ** (contrast / power) + below.sum() / 30
            torch.testing.assert_close(pooled[image, channel].double(), expected, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(head.maps(feature_map).mean((2, 3)), head(pooled), atol=1e-5, rtol=1e-5)


def test_contrast_makes_strong_features_count_for_more():
    feature_map = torch.ones(1, 2, 3, 3) * torch.tensor([1.0, 4.0])[:, None, None]
    plain, strong = (GapHead(2, 4, GapSettings(power=3, contrast=c)).reduce_features(feature_map) for c in (1.0, 1.5))
    torch.testing.assert_close(plain, torch.tensor([[1.0, 4.0]]))
    torch.testing.assert_close(strong, torch.tensor([[1.0, 8.0]]))


def test_it_can_be_fine_tuned_where_cells_are_zero_or_negative():
    feature_map = torch.cat((torch.zeros(2, 7, 4, 4), -torch.rand(2, 7, 4, 4), torch.rand(2, 7, 4, 4)))
    feature_map.requires_grad_()
    head = normalizing(torch.rand(20, 7), power=3, contrast=1.5)
    head(head.reduce_features(feature_map)).square().sum().backward()
    assert feature_map.grad is not None and feature_map.grad.isfinite().all() and feature_map.grad[-1].any()


@pytest.mark.parametrize("contrast", [1.0, 1.5])
@pytest.mark.parametrize("scale", [0.0, 1e-20, 1e-3, 1e3, 1e15])
def test_powers_neither_overflow_nor_vanish(scale: float, contrast: float):
    head = normalizing(torch.rand(20, 7), power=3, contrast=contrast)
    feature_map = scale * torch.rand(2, 7, 4, 4)
    maps, logits = head.maps(feature_map), head(head.reduce_features(feature_map))
    assert maps.isfinite().all()
    torch.testing.assert_close(maps.mean((2, 3)), logits, atol=1e-4, rtol=1e-4)
    half = head.reduce_features(feature_map.bfloat16())
    assert half.dtype == torch.float32 and half.isfinite().all()


@pytest.mark.parametrize("power", [0.5, float("inf"), float("nan")])
def test_a_power_is_1_or_more(power: float):
    with pytest.raises(TrilabelError, match="power must be 1 or more"):
        GapSettings(power=power)


@pytest.mark.parametrize("contrast", [0.0, -1.0, float("inf"), float("nan")])
def test_a_contrast_is_above_0(contrast: float):
    with pytest.raises(TrilabelError, match="contrast must be above 0"):
        GapSettings(contrast=contrast)


def test_the_normalization_is_saved_with_the_weights():
    features = torch.rand(20, 7)
    head, other = normalizing(features), GapHead(7, 4, GapSettings(normalize=True))
    other.load_state_dict(head.state_dict())
    assert torch.equal(other(features), head(features))
    assert GapHead(7, 4).state_dict().keys() == {"linear.weight", "linear.bias"}
