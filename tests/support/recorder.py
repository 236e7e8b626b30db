"""A stand-in for recording CUDA graphs where there is no GPU."""

import torch

from trilabel.models import Backbone
from trilabel.models.cuda_graphs import Passes


class Recorder:
    """Stands in for `cuda_graphs._record`; counts how often the passes are replayed.

    Like a CUDA graph, a replay knows nothing but tensors at fixed places in memory.
    """

    def __init__(self):
        self.forwards = self.backwards = 0

    def __call__(self, backbone, images):
        parameters, outputs = list(backbone.parameters()), []
        for _ in range(4):  # three to warm up, one to record: each moves the batch-norm statistics
            feature_map = backbone(images).detach()
        gradient = torch.full_like(feature_map, torch.nan)
        weight_gradients = [(parameter, torch.full_like(parameter, torch.nan)) for parameter in parameters]

        def forward():
            self.forwards += 1
            with torch.enable_grad():
                outputs[:] = [Backbone.forward(backbone, images)]
            feature_map.copy_(outputs[0].detach())

        def backward():
            self.backwards += 1
            found = torch.autograd.grad(outputs.pop(), parameters, gradient)
            for (_, place), own in zip(weight_gradients, found, strict=True):
                place.copy_(own)

        return Passes(images, feature_map, gradient, weight_gradients, forward, backward)


def is_captured(backbone):
    """Whether `capture` has replaced its forward."""
    return "forward" in vars(backbone)
