"""The gap head: pooling and the linear layer commute."""

import torch

from trilabel.models.heads.gap import GapHead


def test_the_mean_of_its_maps_is_the_logit():
    head = GapHead(7, 4)
    feature_map = torch.randn(3, 7, 5, 6)
    maps, logits = head.maps(feature_map), head(head.reduce_features(feature_map))
    torch.testing.assert_close(maps.mean((2, 3)), logits)
    weight, bias = head.linear.weight, head.linear.bias
    for y in range(5):
        for x in range(6):
            torch.testing.assert_close(maps[:, :, y, x], feature_map[:, :, y, x] @ weight.T + bias)
