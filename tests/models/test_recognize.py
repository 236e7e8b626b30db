"""Files of weights are recognized, or refused with the closest network."""

import re
from pathlib import Path

import pytest
import timm
import torch
from safetensors.torch import save_file

from tests.support.batch_norms import write_weights
from trilabel.errors import TrilabelError
from trilabel.models.fingerprints import fitting_backbones, read_shapes
from trilabel.models.recognize import recognize
from trilabel.models.variants import photographs


def save_network(folder: Path, name: str, file: str = "weights.safetensors") -> Path:
    state = timm.create_model(name).state_dict()
    save_file({key: value.clone() for key, value in state.items()}, folder / file)
    return folder / file


@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_convnext", "test_efficientnet"])
def test_a_file_or_its_folder_is_recognized(tmp_path: Path, name: str) -> None:
    file = save_network(tmp_path, name)
    assert recognize(file).backbone == recognize(tmp_path).backbone == name
    assert "recognized by its tensors" in recognize(file).how


def test_the_original_resnet_is_told_from_the_later_one(tmp_path: Path) -> None:
    found = recognize(write_weights(tmp_path / "resnet26.safetensors", "resnet26-v1", photographs(224).flip(3)))
    assert found.backbone == "resnet26-v1" and found.by_statistics and set(found.fitting) == {"resnet26", "resnet26-v1"}
    assert "by the statistics of its batch norms not resnet26" in found.how


def test_a_network_that_was_never_trained_is_taken_for_the_plain_one(tmp_path: Path) -> None:
    found = recognize(save_network(tmp_path, "resnet18"))
    assert found.backbone == "resnet18" and not found.by_statistics and len(found.discrepancies) == 2
    assert "resnetblur18 would fit as well" in found.how


def test_without_batch_norms_the_name_of_the_file_decides(tmp_path: Path) -> None:
    assert recognize(save_network(tmp_path, "deit_tiny_patch16_224")).backbone == "vit_tiny_patch16_224"
    named = save_network(tmp_path, "deit_tiny_patch16_224", "deit_tiny_patch16_224.fb_in1k.safetensors")
    assert recognize(named).backbone == "deit_tiny_patch16_224"


def test_names_that_timm_replaces_are_recognized(tmp_path: Path) -> None:
    """As of the first ConvNeXt, by its authors, whose layers had other names."""
    state = {}
    for key, value in timm.create_model("convnext_atto").state_dict().items():
        key = key.replace("stem.", "downsample_layers.0.").replace("head.norm.", "norm.").replace("head.fc.", "head.")
        key = re.sub(r"stages\.(\d)\.downsample", r"downsample_layers.\1", key)
        key = (
            re.sub(r"stages\.(\d)\.blocks", r"stages.\1", key).replace("conv_dw", "dwconv").replace("mlp.fc", "pwconv")
        )
        state[key] = value.clone().flatten(1) if "pwconv" in key and key.endswith("weight") else value.clone()
    save_file(state, tmp_path / "weights.safetensors")
    assert fitting_backbones(read_shapes(tmp_path / "weights.safetensors")) == []
    assert recognize(tmp_path / "weights.safetensors").backbone == "convnext_atto"


def test_what_is_no_network_is_refused_with_the_closest(tmp_path: Path) -> None:
    state = {key: value.clone() for key, value in timm.create_model("resnet18").state_dict().items()}
    state["conv1.weight"] = torch.zeros(64, 1, 7, 7)  # for gray images
    del state["bn1.weight"]
    save_file(state, tmp_path / "odd.safetensors")
    with pytest.raises(TrilabelError, match=r"the closest is resnet18, and 2 tensors differ, e\.g\. 'conv1\.weight'"):
        recognize(tmp_path / "odd.safetensors")
    save_file({"a": torch.zeros(3)}, tmp_path / "strange.safetensors")
    with pytest.raises(TrilabelError, match=r"strange\.safetensors: no backbone of timm has"):
        recognize(tmp_path / "strange.safetensors")
