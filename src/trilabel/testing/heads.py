"""What holds for every head."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models import FeatureClassifier, Head
from trilabel.testing.expecting import case, expect, reading_no_value

FEATURES = 6
_LONGEST = 120  # letters of a description


def check_head(head: type[Head[Any]], settings: Any = None) -> None:
    """Raises an AssertionError if a head breaks its contract: sizes, saving, half precision, waiting for no device.

    settings: those to test it with, as its dataclass; None: the defaults.

    >>> from trilabel.models.heads.weldon import WeldonHead
    >>> check_head(WeldonHead)
    """
    text = getattr(head, "description", "")
    expect(text and "\n" not in text and len(text) < _LONGEST, "description must be one short line")
    expect(head.__doc__, "the class needs a docstring")
    expect(head.Settings() == head.Settings(), "Settings must be a dataclass whose fields all have defaults")
    for classes, images in ((4, 3), (1, 3), (4, 1)):
        with case(f"{images} images of {classes} classes"):
            _check_size(head, settings, classes, images)


def _check_size(kind: type[Head[Any]], settings: Any, classes: int, images: int) -> None:
    torch.manual_seed(0)
    head = kind(FEATURES, classes, settings, drawn_labels(classes=classes)).eval()
    feature_map = torch.randn(images, FEATURES, 3, 2)
    features = head.reduce_features(feature_map)
    logits = FeatureClassifier(head)(features).logits
    _check_halves(head, feature_map, features)
    expect(logits.shape == (images, classes), f"logits must be {(images, classes)}, not {tuple(logits.shape)}")
    expect(logits.isfinite().all(), "a logit is not finite")
    alone = torch.allclose(logits[:1], head(features[:1]), atol=1e-6)
    expect(alone, "the logits of an image depend on the other images of its batch")
    logits.sum().backward()
    gradients = [parameter.grad for parameter in head.parameters() if parameter.grad is not None]
    expect(all(gradient.isfinite().all() for gradient in gradients), "a gradient is not finite")
    _check_loaded(kind(FEATURES, classes, settings).eval(), head, features, logits)
    _check_other_numbers(head, feature_map, features, logits)


def _check_halves(head: Head[Any], feature_map: Tensor, features: Tensor) -> None:
    if head.keeps_map:
        expect(torch.equal(features, feature_map), "reduce_features must give the whole map, since keeps_map is set")
        maps = head.maps(feature_map).shape
        expect(maps[2:] == feature_map.shape[2:], f"class maps must be as large as the map, not {tuple(maps)}")
    else:
        expect(len(features) == len(feature_map), f"features are {tuple(features.shape)}: not one for each image")
        smaller = features.numel() < feature_map.numel()
        expect(smaller, "reduce_features keeps the whole map: set keeps_map")
        try:
            head.maps(feature_map)
        except TrilabelError as error:
            expect("\n" not in str(error), "a message must be one line")


def _check_loaded(loaded: Head[Any], head: Head[Any], features: Tensor, logits: Tensor) -> None:
    """A head that was made without labels, as `load` makes it."""
    loaded.load_state_dict(head.state_dict())
    expect(torch.equal(loaded(features), logits), "made without labels and loaded, it gives other logits")
    names, others = ({name for name, _ in one.named_parameters()} for one in (head, loaded))
    expect(names == others, "made without labels it has other parameters")


def _check_other_numbers(head: Head[Any], feature_map: Tensor, features: Tensor, logits: Tensor) -> None:
    """Half precision; and none at all, on the meta device, where reading a value fails."""
    with torch.autocast("cpu", torch.bfloat16):
        half = head(head.reduce_features(feature_map)).float()
    expect(torch.allclose(half, logits, rtol=0.1, atol=0.1), "logits in bfloat16 are far off")
    head.start_at(torch.zeros(logits.shape[1]))
    with reading_no_value():
        on_meta = head.to("meta")(features.to("meta"))
    expect(on_meta.shape == logits.shape, "on the meta device logits have another shape")


def drawn_labels(images: int = 30, classes: int = 4, seed: int = 0) -> Labels:
    """Random labels, of which about a third are unknown."""
    draw = np.random.default_rng(seed)
    return Labels.from_signed(draw.choice([-1, 0, 1], (images, classes), p=[0.2, 0.3, 0.5]).astype(np.int8))
