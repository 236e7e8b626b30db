"""What must hold for every head, and random class maps with ties for those that pool them."""

import math

import numpy as np
import torch
from hypothesis import strategies as st

from trilabel.labels import Labels
from trilabel.models import FeatureClassifier

FEATURES = 6


def some_labels(images=30, classes=4, seed=0):
    draw = np.random.default_rng(seed)
    return Labels.from_signed(draw.choice([-1, 0, 1], (images, classes), p=[0.2, 0.3, 0.5]).astype(np.int8))


def check_head(kind, settings=None):
    """Any number of classes and images, saved and loaded without labels, half precision, and no value read."""
    for classes, images in ((4, 3), (1, 3), (4, 1)):
        torch.manual_seed(0)
        head = kind(FEATURES, classes, settings, some_labels(classes=classes))
        feature_map = torch.randn(images, FEATURES, 3, 2)
        features = head.reduce_features(feature_map)
        assert kind.keeps_map == (features.ndim == 4)
        logits = FeatureClassifier(head)(features).logits
        assert features.shape == (images, FEATURES) and logits.shape == (images, classes) and logits.isfinite().all()
        assert torch.equal(logits[:1], head(features[:1])) or torch.allclose(logits[:1], head(features[:1]), atol=1e-6)
        logits.sum().backward()
        assert all(p.grad.isfinite().all() for p in head.parameters() if p.grad is not None)

        loaded = kind(FEATURES, classes, settings)
        loaded.load_state_dict(head.state_dict())
        assert torch.equal(loaded(features), logits)
        assert {name for name, _ in loaded.named_parameters()} == {name for name, _ in head.named_parameters()}

        with torch.autocast("cpu", torch.bfloat16):
            half = head(head.reduce_features(feature_map))
        assert half.dtype == torch.bfloat16
        torch.testing.assert_close(half.float(), logits, rtol=0.1, atol=0.1)
        assert head.to("meta")(features.to("meta")).shape == (images, classes)


def double_head(kind, settings=None, classes=3, channels=4):
    """A head in float64 with the same random weights at each call."""
    torch.manual_seed(2)
    return kind(channels, classes, settings).double()


def random_features(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64).to(dtype)


@st.composite
def maps_with_ties(draw):
    """B×C×h×w of a few different values."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 5), st.integers(1, 5)))
    values = st.lists(st.integers(-4, 4), min_size=math.prod(shape), max_size=math.prod(shape))
    return torch.tensor(draw(values), dtype=torch.float64).reshape(shape) / 4
