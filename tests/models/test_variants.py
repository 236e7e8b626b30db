"""Batch norms tell a network from others with the same tensors."""

from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from tests.support.batch_norms import write_weights
from trilabel.data.dataset import Dataset
from trilabel.models import create_backbone
from trilabel.models.variants import clear_winner, discrepancies, discrepancy, photographs


@pytest.mark.parametrize("right", ["resnet26", "resnet26-v1"])
def test_the_variant_that_the_statistics_were_made_with_fits_best(
    tmp_path: Path, small_scenes: Dataset, right: str
) -> None:
    """On other images than those, of the same kind."""
    assert isinstance(small_scenes.images, torch.Tensor)
    images = F.interpolate(small_scenes.images[:64], 64)
    file = write_weights(tmp_path / "weights.safetensors", right, images[:32])
    found = {}
    for name in ("resnet26", "resnet26-v1"):
        value = discrepancy(create_backbone(name, str(file)).eval(), images[32:])
        assert value is not None
        found[name] = value
    assert clear_winner(found) == right, found


def test_a_network_sees_what_it_remembers(tmp_path: Path) -> None:
    """The same images and network: nothing differs, but for the variance, which is remembered as that of a sample."""
    images = photographs(64)
    file = write_weights(tmp_path / "weights.safetensors", "test_resnet", images)
    backbone = create_backbone("test_resnet", str(file)).eval()
    same, darker = discrepancy(backbone, images), discrepancy(backbone, images // 2)
    assert same is not None and darker is not None
    assert same < 1e-3 and darker > 100 * same


def test_photographs_tell_padding_and_colors_apart(tmp_path: Path) -> None:
    names = ("efficientnet_lite0", "tf_efficientnet_lite0")
    for right in names:
        file = write_weights(tmp_path / f"{right}.safetensors", right, photographs(160).flip(3))
        assert clear_winner(discrepancies(names, file)) == right


def test_networks_without_batch_norms_say_nothing(tmp_path: Path) -> None:
    file = write_weights(tmp_path / "weights.safetensors", "test_vit", photographs(160))
    assert discrepancies(["test_vit", "no such"], file) == {}


def test_statistics_that_fit_nothing_decide_nothing() -> None:
    assert clear_winner({"a": 2.0, "b": 9.0}) is None
    assert clear_winner({"a": 0.1}) is None
