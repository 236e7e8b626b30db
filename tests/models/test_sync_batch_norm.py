"""Batch norm over several processes: the same weights by the same names, and on a GPU the same step as one process."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from tests.support import two_processes
from trilabel import train
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.models import create_model, with_synced_batch_norm


@pytest.mark.parametrize("backbone", ["tiny", "resnet18", "efficientnet_b0"])
def test_every_batch_norm_is_converted_and_no_weight_changes(backbone: str) -> None:
    torch.manual_seed(0)
    model = create_model(Config(backbone=backbone), 3, image_size=32).eval()
    before, images = {name: value.clone() for name, value in model.state_dict().items()}, torch.rand(2, 3, 32, 32)
    expected = model(images).logits
    converted = with_synced_batch_norm(model)
    norms = [layer for layer in converted.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)]
    assert norms and all(isinstance(layer, nn.SyncBatchNorm) for layer in norms)
    assert converted.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in converted.state_dict().items())
    torch.testing.assert_close(converted(images).logits, expected)


def test_it_is_refused_on_cpus_and_needs_several_processes(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    config = replace(quick, device="cpu", sync_batch_norm=True, epochs=1)
    with pytest.raises(TrilabelError, match="--sync-batch-norm needs GPUs"):
        train(small_scenes, replace(config, devices=2), tmp_path / "run")
    assert train(small_scenes, config, tmp_path / "run").config.sync_batch_norm


@pytest.mark.gpu
def test_two_processes_step_as_one_with_both_batches(tmp_path: Path) -> None:
    """Both on one GPU, which gloo can do; the last batch is shared out unevenly."""
    alone = two_processes.step_with_batch_norm(False)
    # In processes of its own: those of `in_two` see no GPU.
    with two_processes.start(tmp_path, torch.multiprocessing.get_context("spawn")) as in_two:
        together = in_two(two_processes.step_with_batch_norm, True)
        apart = in_two(two_processes.step_with_batch_norm, False)[0]
    for name, value in alone.items():
        for other in together:
            torch.testing.assert_close(other[name], value, rtol=1e-4, atol=1e-5)
    assert not all(torch.allclose(apart[name], value, atol=1e-3) for name, value in alone.items())
