"""Head semantic and methods on it with the weights of the released code, for the numbers that it gave."""

from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import nn

from trilabel.labels import Labels
from trilabel.methods.base import Batch
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings

FILE = Path(__file__).parents[1] / "reference" / "wang_baselines.npz"
_GATES = {"ssgrl": ("eq3", "eq4", "eq5"), "others": ("1", "2", "3")}


@cache
def case(name):
    """{group: {name: tensor}} of one case; groups: inputs, weights, outputs, grads."""
    found: dict[str, dict[str, torch.Tensor]] = {}
    with np.load(FILE) as arrays:
        for key in arrays.files:
            which, group, array = key.split("/", 2)
            if which == name:
                found.setdefault(group, {})[array] = torch.from_numpy(np.asarray(arrays[key]))
    assert found, f"no case {name}"
    return found


def labels_like(target):
    """Labels of as many images and classes."""
    return Labels.from_signed(np.asarray(target, dtype=np.int8))


def released_head(numbers):
    """(the head with these weights, {our parameter: function of the released gradients})."""
    inputs, weights = numbers["inputs"], numbers["weights"]
    old = "word_semantic.fc_1.weight" in weights
    size, classes = inputs["X"].shape[1], len(inputs["word"])
    attention = "word_semantic" if old else "SemanticDecoupling"
    fc = [f"{attention}.fc_{n}" if old else f"{attention}.fc{n}" for n in (1, 2, 3, "a" if old else 4)]
    gates = [f"graph_net.fc_{n}" if old else f"GraphNeuralNetwork.fc_{n}" for n in _GATES["ssgrl" if old else "others"]]
    merge = "fc_output" if old else "fc"
    parts = {
        "vectors": lambda w: inputs["word"],
        "graph": lambda w: inputs["A_in"],
        "of_cell.weight": lambda w: w[f"{fc[0]}.weight"],
        "of_class.weight": lambda w: w[f"{fc[1]}.weight"],
        "mix.weight": lambda w: w[f"{fc[2]}.weight"],
        "attend.weight": lambda w: w[f"{fc[3]}.weight"],
        "exchange.of_message.weight": lambda w: torch.cat([w[f"{gate}_w.weight"] for gate in gates]),
        "exchange.of_message.bias": lambda w: torch.cat([w[f"{gate}_w.bias"] for gate in gates]),
        "exchange.of_state.weight": lambda w: torch.cat([w[f"{gate}_u.weight"] for gate in gates[:2]]),
        "exchange.of_state.bias": lambda w: torch.cat([w[f"{gate}_u.bias"] for gate in gates[:2]]),
        "exchange.of_reset.weight": lambda w: w[f"{gates[2]}_u.weight"],
        "exchange.of_reset.bias": lambda w: w[f"{gates[2]}_u.bias"],
        "merge.weight": lambda w: w[f"{merge}.weight"],
        "merge.bias": lambda w: w[f"{merge}.bias"],
        "weight": lambda w: w["classifiers.weight"],
        "bias": lambda w: w["classifiers.bias"],
    }
    hidden, word = weights[f"{fc[0]}.weight"].shape[0], inputs["word"].shape[1]
    settings = SemanticSettings(size=word, pool=1, channels=None, hidden=hidden)
    head = SemanticHead(size, classes, settings)
    # The released code can have another size of output; ours is that of the class features.
    outputs = weights[f"{merge}.weight"].shape[0]
    head.merge = nn.Linear(2 * size, outputs)
    head.weight, head.bias = nn.Parameter(torch.zeros(classes, outputs)), nn.Parameter(torch.zeros(classes))
    head.load_state_dict({name: part(weights) for name, part in parts.items()})
    return head, parts


class Reduced(nn.Module):
    """A model whose feature map is its input."""

    def __init__(self, head):
        super().__init__()
        self.head = head

    def reduce_features(self, images):
        return images


def step_of(method, head, numbers, epoch):
    """(what a step returned, after backward; the inputs with gradients)."""
    inputs = numbers["inputs"]
    images = inputs["X"].clone().requires_grad_()
    labels = inputs["target"].to(torch.int8)
    parts = method.step(Reduced(head), Batch(images, None, labels, torch.arange(len(labels)), epoch))
    parts["loss"].backward()
    return parts, images


def check_gradients(head, parts, images, numbers):
    """The gradients of the head's parameters and of its input are those of the released code."""
    grads = numbers["grads"]
    torch.testing.assert_close(images.grad, grads["X"], rtol=1e-4, atol=1e-6)
    for name, parameter in head.named_parameters():
        if name not in ("vectors", "graph"):
            torch.testing.assert_close(parameter.grad, parts[name](grads), rtol=1e-4, atol=1e-6)
