"""A configuration becomes a model: parts by name, their settings, and the weights of a run."""

import pytest
import torch
from safetensors.torch import save_file

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.models import create_model
from trilabel.models.heads.saliency import SaliencySettings
from trilabel.models.heads.weldon import WeldonSettings


def saved_run(folder, classes=3, **parts):
    """A run folder with three models, of which only the best must be read; gives the best one's tensors."""
    (folder / "config.json").write_text("{}")
    model = create_model(Config(**parts), classes)
    state = {f"model.{name}": torch.rand(value.shape).to(value.dtype) for name, value in model.state_dict().items()}
    for name, change in (("best", 0), ("last", 1), ("start", 2)):
        tensors = {key: value + change for key, value in state.items()} | {"method.x": torch.ones(2)}
        save_file(tensors, folder / f"{name}.safetensors")
    return state


def test_settings_reach_the_head():
    model = create_model(Config(head="weldon", head_settings={"top": "0.25", "bottom": "1"}), 3)
    assert model.head.settings == WeldonSettings(0.25, 1.0)
    model = create_model(Config(head="saliency", head_settings={"alpha": "2", "k": "3"}), 3)
    assert model.head.settings == SaliencySettings(2.0, 3)
    assert create_model(Config(head="saliency"), 3).head.settings == SaliencySettings()


def test_an_unknown_head_is_refused():
    with pytest.raises(TrilabelError, match="no head named 'gip'; there are: gap"):
        create_model(Config(head="gip"), 3)


def test_an_unknown_graph_and_settings_without_a_graph_are_refused():
    with pytest.raises(TrilabelError, match="no graph named 'gmn'; there are: none, gnn; did you mean 'gnn'"):
        create_model(Config(graph="gmn"), 3)
    with pytest.raises(TrilabelError, match="steps: settings of a graph, but the graph is none; pass --graph gnn"):
        create_model(Config(graph_settings={"steps": 2}), 3)


def test_size_and_weights_are_those_given_not_those_of_the_configuration():
    config = Config(weights="missing.safetensors", image_size=48)
    assert create_model(config, 3, image_size=32).backbone.image_size == 32


def test_a_run_folder_gives_the_backbone_of_its_best_model(tmp_path):
    state = saved_run(tmp_path)
    torch.manual_seed(5)
    model = create_model(Config(), 7, 32, str(tmp_path))  # of other classes, so the head is new
    backbone = model.backbone.state_dict()
    assert backbone and all(torch.equal(value, state[f"model.backbone.{key}"]) for key, value in backbone.items())
    torch.manual_seed(5)
    assert torch.equal(model.head.linear.weight, create_model(Config(), 7).head.linear.weight)
    assert model.backbone.image_size == 32


@pytest.mark.parametrize("graph", ["none", "gnn"])
def test_keep_head_takes_the_head_of_the_run_too(tmp_path, graph):
    state = saved_run(tmp_path, graph=graph)
    model = create_model(Config(keep_head=True, graph=graph), 3, 32, str(tmp_path))
    assert all(torch.equal(value, state[f"model.{key}"]) for key, value in model.state_dict().items())
    with pytest.raises(TrilabelError, match=r"weights of this run do not fit head 'gap' of 4 classes \(. tensors"):
        create_model(Config(keep_head=True, graph=graph), 4, 32, str(tmp_path))
