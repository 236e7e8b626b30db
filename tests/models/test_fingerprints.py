"""The table of what the networks of timm are made of agrees with timm, and files are found in it."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import timm
import torch
from safetensors.torch import save_file

from trilabel.errors import TrilabelError
from trilabel.models.fingerprints import _table, fitting_backbones, nearest_backbones, read_shapes


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    """The script that writes the table."""
    file = Path(__file__).parents[2] / "benchmarks" / "write_fingerprints.py"
    spec = importlib.util.spec_from_file_location("write_fingerprints", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_has_what_timm_makes(writer: ModuleType) -> None:
    names = ["resnet18", "resnet50", "tf_efficientnet_lite0", "convnext_atto", "vit_tiny_patch16_224", "vgg11"]
    names += ["mobilenetv3_small_050", "deit_tiny_distilled_patch16_224", "levit_128s", "test_vit"]
    assert writer.fingerprints_of(names) == [row for name in names for row in _table() if row.backbone == name]


@pytest.mark.slow
def test_the_whole_table_has_what_timm_makes(writer: ModuleType) -> None:
    assert writer.fingerprints_of(timm.list_models()) == _table()


def shapes_of(name: str, classes: int = 1000) -> dict[str, tuple[int, ...]]:
    with torch.device("meta"):
        network = timm.create_model(name, num_classes=classes)
    return {key: tuple(value.shape) for key, value in network.state_dict().items()}


@pytest.mark.parametrize("name", ["resnet34", "convnext_atto", "vit_tiny_patch16_384", "regnetx_002"])
@pytest.mark.parametrize("classes", [1000, 7, 0])
def test_networks_are_found_with_any_classifier(name: str, classes: int) -> None:
    shapes = shapes_of(name, classes)
    if not (name == "convnext_atto" and classes == 0):
        assert fitting_backbones(shapes)[0] in (name, f"deit_{name[4:]}")
    without_counters = {key: shape for key, shape in shapes.items() if not key.endswith("num_batches_tracked")}
    assert fitting_backbones(without_counters) == fitting_backbones(shapes)
    assert name in nearest_backbones(shapes)


def test_one_tensor_more_or_of_another_shape_is_another_network() -> None:
    shapes = shapes_of("resnet18")
    assert fitting_backbones(shapes) == ["resnet18", "resnetblur18"]
    assert fitting_backbones({**shapes, "layer5.weight": (3,)}) == []
    assert fitting_backbones({**shapes, "conv1.weight": (64, 3, 3, 3)}) == []


def test_shapes_are_read_without_the_tensors(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_file({"module.a": torch.zeros(3, 2, dtype=torch.bfloat16), "b": torch.zeros(())}, file)
    assert read_shapes(file) == {"a": (3, 2), "b": ()}
    for content in (b"", b"rubbish" * 20, file.read_bytes()[:-1]):
        file.write_bytes(content)
        with pytest.raises(TrilabelError, match=r"weights\.safetensors: cannot be read as weights"):
            read_shapes(file)
