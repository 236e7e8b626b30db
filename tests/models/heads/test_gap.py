"""The gap head: pooling and the linear layer commute."""

import torch

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


def normalizing(features: torch.Tensor) -> GapHead:
    head = GapHead(features.shape[1], 4, GapSettings(normalize=True))
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


def test_the_normalization_is_saved_with_the_weights():
    features = torch.rand(20, 7)
    head, other = normalizing(features), GapHead(7, 4, GapSettings(normalize=True))
    other.load_state_dict(head.state_dict())
    assert torch.equal(other(features), head(features))
    assert GapHead(7, 4).state_dict().keys() == {"linear.weight", "linear.bias"}
