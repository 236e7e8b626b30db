"""Networks that have the same tensors and compute something else, told apart by the statistics of their batch norms.

A ResNet-50 of Keras has its strides in the 1×1 convolutions and timm's has them in the 3×3 ones; TensorFlow pads
images otherwise than PyTorch, and wants other colors. Weights of one load into the other without a word and cost many
points. But a batch norm remembers mean and variance of what it saw in training. On photographs it sees nearly the same
again in the right network, and something else in a wrong one.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from trilabel.data.decode import resized
from trilabel.errors import TrilabelError
from trilabel.models.backbone import Backbone, create_backbone

_LARGEST_SIZE = 224  # pixels on a side; enough to tell, and quick
# On the six views a ResNet-50 of Keras is off by 0.13 in the right network and 0.25 in timm's, EfficientNet-Lite0 of
# TensorFlow by 0.17 and 0.47. The limits lie between, and rest on these two files.
_FITS = 0.35
_CLEARLY_WORSE = 1.4


def discrepancies(names: Sequence[str], file: Path) -> dict[str, float]:
    """How far what batch norms see of photographs is from what they remember, for each network with these weights.

    Networks without batch norms, and such as cannot be tried, are left out.
    """
    found = {}
    for name in names:
        try:
            backbone = create_backbone(name, str(file)).eval()
            size = backbone.image_size
            if not backbone.network.pretrained_cfg.get("fixed_input_size"):  # type: ignore[union-attr, operator]
                size = min(size, _LARGEST_SIZE)
            value = discrepancy(backbone, photographs(size))
        except (TrilabelError, RuntimeError):
            continue
        if value is not None:
            found[name] = value
    return found


def clear_winner(found: dict[str, float]) -> str | None:
    """The network to which the statistics belong; None if they do not say so clearly.

    >>> clear_winner({"resnet50": 0.2, "resnet50-v1": 0.1}), clear_winner({"a": 0.10, "b": 0.11}), clear_winner({})
    ('resnet50-v1', None, None)
    """
    ranked = sorted(found, key=found.__getitem__)
    if len(ranked) < 2 or found[ranked[0]] > _FITS:
        return None
    return ranked[0] if found[ranked[1]] >= _CLEARLY_WORSE * found[ranked[0]] else None


def discrepancy(backbone: Backbone, images: Tensor) -> float | None:
    """The mean over all batch norms of how far the median channel is off; None without batch norms.

    images: B×3×S×S, uint8. A channel is off by its squared difference of means in units of the remembered variance,
    and the squared logarithm of the ratio of variances.
    """
    found: list[float] = []

    def compare(norm: nn.BatchNorm2d, inputs: tuple[Tensor, ...]) -> None:
        """Called before each batch norm with what it sees."""
        assert norm.running_mean is not None and norm.running_var is not None
        variance, mean = torch.var_mean(inputs[0].float(), (0, 2, 3))
        remembered = norm.running_var + norm.eps
        off = (mean - norm.running_mean) ** 2 / remembered + torch.log((variance + norm.eps) / remembered) ** 2
        found.append(off.median().item())

    norms = [m for m in backbone.modules() if isinstance(m, nn.BatchNorm2d) and m.running_mean is not None]
    hooks = [norm.register_forward_pre_hook(compare) for norm in norms]
    mean, std = (torch.tensor(color).view(3, 1, 1) for color in (backbone.mean, backbone.std))
    try:
        with torch.no_grad():
            backbone((images.float() / 255 - mean) / std)
    finally:
        for hook in hooks:
            hook.remove()
    return sum(found) / len(found) if found else None


@cache
def photographs(size: int) -> Tensor:
    """Six views of the two photographs that come with scikit-learn, B×3×size×size uint8: real ones, always at hand."""
    from sklearn.datasets import load_sample_images  # takes a second

    views = []
    for pixels in load_sample_images().images:
        whole = torch.from_numpy(pixels.copy()).permute(2, 0, 1)
        half = whole.shape[2] // 2
        views += [resized(view[None], size)[0] for view in (whole, whole[:, :, :half], whole[:, :, half:])]
    return torch.stack(views)
