"""Head semantic: what holds for all heads, its attention as a plain loop, and that parts of it change nothing."""

import pytest
import torch

from tests.support.head_checks import double_head, random_features
from trilabel.errors import TrilabelError
from trilabel.models import FeatureClassifier
from trilabel.models.heads import semantic
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings
from trilabel.testing.heads import FEATURES, drawn_labels

SMALL = SemanticSettings(size=3, channels=5, hidden=4)


def test_it_is_a_head_that_keeps_maps():
    for classes, images in ((4, 3), (1, 3), (4, 1)):
        torch.manual_seed(0)
        head = SemanticHead(FEATURES, classes, SMALL, drawn_labels(classes=classes))
        feature_map = torch.randn(images, FEATURES, 5, 4)
        features = head.reduce_features(feature_map)
        assert features.shape == (images, FEATURES, 2, 2)
        logits = FeatureClassifier(head)(features).logits
        assert logits.shape == (images, classes) and logits.isfinite().all()
        logits.sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in head.parameters())
        loaded = SemanticHead(FEATURES, classes, SMALL)
        loaded.load_state_dict(head.state_dict())
        head.eval(), loaded.eval()
        assert torch.equal(loaded(features), head(features))
        maps = head.maps(feature_map)
        assert maps.shape == (images, classes, 5, 4) and maps.min() >= 0
        assert head.attention(features).quadrants().shape == (images, classes)
        assert head.to("meta")(features.to("meta")).shape == (images, classes)


def test_attention_is_the_plain_loop():
    head = double_head(SemanticHead, SemanticSettings(size=3, channels=None, hidden=4, pool=1))
    maps = random_features(2, 4, 3, 2)
    cells = maps.flatten(2).transpose(1, 2)
    expected = torch.zeros(2, 3, 4, dtype=torch.float64)
    for image in range(2):
        for label in range(3):
            scores = []
            for cell in cells[image]:
                compared = torch.tanh(head.of_cell(cell) * head.of_class(head.vectors[label]))
                scores.append(head.attend(head.mix(compared)).item())
            weights = torch.tensor(scores, dtype=torch.float64).softmax(0)
            expected[image, label] = sum(weight * cell for weight, cell in zip(weights, cells[image], strict=True))
    torch.testing.assert_close(head.class_features(maps), expected)


def test_quadrants_are_those_of_the_strongest_cell():
    head = double_head(SemanticHead, SemanticSettings(size=3, channels=None, hidden=4, pool=1), classes=1)
    head.attend.weight.data.zero_()  # the same attention everywhere
    for row, column, expected in ((0, 0, 0), (0, 3, 1), (3, 1, 2), (2, 2, 3), (1, 2, 1)):
        maps = torch.zeros(1, 4, 4, 4, dtype=torch.float64)
        maps[0, :, row, column] = 1
        assert head.attention(maps).quadrants().item() == expected


def test_parts_that_are_repeated_give_the_same(monkeypatch):
    head = double_head(SemanticHead, SMALL)
    maps = random_features(2, 4, 4, 4).requires_grad_()
    whole = head(maps)
    whole.sum().backward()
    gradient, maps.grad = maps.grad, None
    monkeypatch.setattr(semantic, "_AT_ONCE", 40)
    parts = head(maps)
    parts.sum().backward()
    torch.testing.assert_close(parts, whole)
    torch.testing.assert_close(maps.grad, gradient)


def test_what_cannot_be_is_refused():
    with pytest.raises(TrilabelError, match="too many for its graph"):
        SemanticHead(4, 10_001)
    with pytest.raises(TrilabelError, match="head semantic: channels is 0"):
        SemanticSettings(channels=0)
    assert SemanticSettings(steps=0).steps == 0


def test_half_precision():
    head = SemanticHead(FEATURES, 4, SMALL, drawn_labels()).eval()
    maps = torch.randn(3, FEATURES, 4, 4)
    with torch.autocast("cpu", torch.bfloat16):
        half = head(maps)
    torch.testing.assert_close(half.float(), head(maps), rtol=0.1, atol=0.1)


def test_one_image_with_one_cell_can_be_learned_from():
    torch.manual_seed(0)
    head = SemanticHead(FEATURES, 3, SMALL)
    head(torch.randn(4, FEATURES, 2, 2))
    norm = head.reduce_channels[1]
    before = {name: value.clone() for name, value in norm.named_buffers()}
    one = torch.randn(1, FEATURES, 1, 1)
    logits = head(one)
    logits.sum().backward()
    assert norm.weight.grad.isfinite().all()
    assert all(torch.equal(value, before[name]) for name, value in norm.named_buffers())
    assert torch.equal(logits, head.eval()(one))  # by the running statistics, as it is scored


def test_without_messages_every_parameter_is_used():
    """Several processes wait for the gradients of all."""
    head = SemanticHead(FEATURES, 3, SemanticSettings(size=3, channels=5, steps=0))
    head(torch.randn(2, FEATURES, 2, 2)).sum().backward()
    assert all(parameter.grad is not None for parameter in head.parameters())
