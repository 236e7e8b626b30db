"""Every head and graph, and several backbones, as one network for any number of images: as graph and as ONNX."""

import numpy as np
import pytest
import torch
from torch import nn

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.inference.export.about import About
from trilabel.inference.export.network import DeployedNetwork, example, traced
from trilabel.inference.export.onnx_file import open_onnx, write_onnx
from trilabel.labels import Labels
from trilabel.models import HEADS, create_model
from trilabel.models.heads import semantic
from trilabel.training.decisions import Decisions

CLASSES = 5
DECISIONS = Decisions(1.5, [0.1, -0.2, 0.3, 0.0, -0.4], [0.5, 0.45, 0.55, 0.5, 0.4], "made up")
# Small ones: what takes time is to follow them step by step.
SETTINGS = {
    "gcn": {"size": 8, "hidden": 16},
    "semantic": {"size": 8, "channels": 16, "steps": 1},
    "label-rnn": {"size": 8, "hidden": 16, "longest": 3},
}
HEADS_AND_GRAPHS = [(name, "none", {}) for name in HEADS]
HEADS_AND_GRAPHS += [("gap", "gnn", {"steps": 1}), ("gap", "gnn", {"hidden": 3})]


def deployed(backbone="tiny", head="gap", graph="none", graph_settings=None, size=32):
    """A network with random weights."""
    torch.manual_seed(0)
    known = np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (40, CLASSES))
    config = Config(
        backbone=backbone,
        head=head,
        head_settings=SETTINGS.get(head, {}),
        graph=graph,
        graph_settings=graph_settings or {},
    )
    classifier = create_model(config, CLASSES, size, labels=Labels.from_signed(known))
    return DeployedNetwork(classifier, CLASSES, DECISIONS).eval()


def about(size=32):
    return About([f"class {number}" for number in range(CLASSES)], size, DECISIONS)


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


class AllHeads(nn.Module):
    """All heads on one backbone: what takes time is to follow a network, not to follow a head."""

    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(deployed("tiny", *which) for which in HEADS_AND_GRAPHS)
        self.backbone = self.parts[0].backbone
        for part in self.parts:
            part.backbone = nn.Identity()

    def forward(self, images):
        normalized = (images.permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
        features = self.backbone(normalized)
        return torch.stack([part.head(part.head.reduce_features(features)) for part in self.parts])


def test_the_graph_of_every_head_takes_any_number_of_images():
    network = AllHeads().eval()
    graph = traced(network).module()
    with torch.inference_mode():
        for count in (1, 5):
            close(graph(example(32, count)), network(example(32, count)))
        assert (network(example(32, 5)).std(1).amax(1) > 1e-5).all(), "scores differ from image to image"


def test_from_pixels_to_decisions():
    network, images = deployed(), example(32, 3)
    with torch.inference_mode():
        probabilities, present, logits = traced(network).module()(images)
        normalized = (images.permute(0, 3, 1, 2) / 255 - 0.5) / 0.25
        close(logits, network.head(network.head.reduce_features(network.backbone(normalized))))
    by_hand = torch.sigmoid(1.5 * logits + torch.tensor(DECISIONS.shifts))
    close(probabilities, by_hand)
    assert torch.equal(present, by_hand >= torch.tensor(DECISIONS.thresholds)) and present.any() and not present.all()


def test_attention_in_parts_is_the_same(monkeypatch):
    """A large map and many classes are compared in parts, whose number must not depend on the images."""
    network, images = deployed(head="semantic"), example(32, 3)
    with torch.inference_mode():
        wanted = network(images)[2]
        monkeypatch.setattr(semantic, "_AT_ONCE", 1 << 10)
        for found in (network(images)[2], traced(network).module()(images)[2]):
            close(found, wanted)


def test_a_network_that_depends_on_values_is_refused():
    network = deployed()
    network.head.forward = lambda features: features[:, :CLASSES] * (2.0 if features.sum() > 0 else 1.0)
    with pytest.raises(TrilabelError, match="cannot be exported as a graph"):
        traced(network)


def test_a_timm_network_takes_any_number_of_images():
    network = deployed("vit_tiny_patch16_224", size=32)
    network.backbone.network.blocks = network.backbone.network.blocks[:2]
    graph = traced(network).module()
    with torch.inference_mode():
        for count in (1, 3):
            close(graph(example(32, count))[2], network(example(32, count))[2])


def agrees_in_onnxruntime(network, path, size=32):
    write_onnx(network, about(size), path)
    opened, said = open_onnx(path, torch.device("cpu"), False)
    assert said == about(size)
    with torch.inference_mode():
        for count in (1, 5):
            close(opened.run(example(size, count)), network(example(size, count))[2])


@pytest.mark.slow
@pytest.mark.parametrize("which", HEADS_AND_GRAPHS)
def test_every_head_in_onnxruntime(which, tmp_path):
    agrees_in_onnxruntime(deployed("tiny", *which), tmp_path / "one.onnx")


BACKBONES = ["resnet18", "resnet26-v1", "vit_tiny_patch16_224", "convnext_atto", "mobilenetv3_small_050", "vgg11"]


@pytest.mark.slow
@pytest.mark.parametrize("name", BACKBONES)
def test_backbones_of_several_kinds_in_onnxruntime(name, tmp_path):
    agrees_in_onnxruntime(deployed(name, size=64), tmp_path / "one.onnx", 64)
