"""CUDA graphs: a backbone's passes over a batch are recorded once and replayed, a launch instead of hundreds.

With small batches a GPU waits for Python to launch its kernels; replaying has them all ready. The rest of a step
(views, head, method, optimizer) is launched as ever, so that a method may do what it likes.
"""

import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from trilabel.log import log
from trilabel.models.backbone import Backbone

_WARM_UP = 3  # passes before recording, in which libraries choose their algorithms


class Passes(NamedTuple):
    """The two passes of a backbone between tensors that stay where they are."""

    images: Tensor  # B×3×S×S: what goes in
    feature_map: Tensor  # B×D×h×w: what comes out
    slope: Tensor  # of the loss by the feature map, B×D×h×w: what goes in on the way back
    gradients: list[tuple[nn.Parameter, Tensor]]  # what comes out there
    forward: Callable[[], None]
    backward: Callable[[], None]


def capture(backbone: Backbone, images: Tensor, context: Callable[[], AbstractContextManager[object]]) -> None:
    """Makes training passes over images of this shape replay a recording; all others stay as they are.

    images: what a batch looks like, on the GPU. context: the precision to compute in. What cannot be recorded (a
    backbone that waits for the device) is left alone, with a warning. So is what would fill the device: a recording
    keeps the memory of its batch, and the last, smaller batch of an epoch needs as much beside it.
    """
    plain = backbone.forward
    kept, before_it = [buffer.clone() for buffer in backbone.buffers()], torch.cuda.memory_reserved()
    was_training, was_choosing = backbone.training, torch.backends.cudnn.benchmark
    backbone.train()
    try:
        torch.backends.cudnn.benchmark = True  # what is replayed thousands of times may take seconds to choose
        with context():
            passes = _recorded(backbone, images)
    except RuntimeError as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        log.warning(f"the passes of this backbone cannot be recorded, so each kernel is launched by itself ({reason})")
        return
    finally:
        torch.backends.cudnn.benchmark = was_choosing
        backbone.train(was_training)
        for buffer, before in zip(backbone.buffers(), kept, strict=True):  # recording runs it a few times
            buffer.copy_(before)
    if images.is_cuda and torch.cuda.mem_get_info()[0] < torch.cuda.memory_reserved() - before_it:
        return
    setattr(backbone, "forward", _Forward(backbone, plain, passes))  # noqa: B010 (a method, says mypy)


def release(backbone: Backbone) -> None:
    """Takes back what `capture` did, and its memory: backbone and recording hold each other."""
    backbone.__dict__.pop("forward", None)


def _recorded(backbone: Backbone, images: Tensor) -> Passes:
    parameters = [parameter for parameter in backbone.parameters() if parameter.requires_grad]
    aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    aside.wait_stream(torch.cuda.current_stream())
    strict = torch.cuda.get_sync_debug_mode()
    try:
        with torch.cuda.stream(aside), _casting_anew():
            for left in reversed(range(_WARM_UP)):
                if not left:  # what waits for the device is found here: torch does not recover from it in a recording
                    torch.cuda.set_sync_debug_mode("error")
                feature_map = backbone(images)
                torch.autograd.grad(feature_map, parameters, torch.zeros_like(feature_map), allow_unused=True)
    finally:
        torch.cuda.set_sync_debug_mode(strict)
    torch.cuda.current_stream().wait_stream(aside)
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with _recording(forward), _casting_anew():
        feature_map = backbone(images)
    slope = torch.zeros_like(feature_map)
    with _recording(backward, forward.pool()):
        found = zip(parameters, torch.autograd.grad(feature_map, parameters, slope, allow_unused=True), strict=True)
        gradients = [(weight, _laid_out_as(weight, gradient)) for weight, gradient in found if gradient is not None]
    return Passes(images, feature_map.detach(), slope, gradients, forward.replay, backward.replay)


@contextmanager
def _recording(graph: torch.cuda.CUDAGraph, pool: Any = None) -> Iterator[None]:
    """What is launched inside goes into the graph, in the memory of the pool."""
    as_it_was = torch.cuda.stream(torch.cuda.current_stream())  # where recording fails, torch would stay on its stream
    # thread_local: another thread may use the device meanwhile, as the one that writes checkpoints does.
    with as_it_was, torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        yield


def _laid_out_as(weight: Tensor, gradient: Tensor) -> Tensor:
    """The gradient in the memory layout of its weight, as fused optimizers want it."""
    return gradient if gradient.stride() == weight.stride() else torch.empty_like(weight).copy_(gradient)


def _casting_anew() -> AbstractContextManager[object]:
    """Autocast as it is, but for the weights that it has cast already: those casts would not be recorded."""
    return torch.autocast(
        "cuda", torch.get_autocast_dtype("cuda"), torch.is_autocast_enabled("cuda"), cache_enabled=False
    )


class _Forward:
    """The backbone's forward from now on."""

    def __init__(self, backbone: Backbone, plain: Callable[[Tensor], Tensor], passes: Passes) -> None:
        self.backbone, self.plain, self.passes = backbone, plain, passes
        self.way_back: Callable[[], object] = lambda: None  # of the last pass, while it is still to be gone

    def __call__(self, images: Tensor) -> Tensor:
        fits = images.shape == self.passes.images.shape and not images.requires_grad
        if not (fits and self.backbone.training and torch.is_grad_enabled()) or self.way_back() is not None:
            return self.plain(images)
        feature_map: Tensor = _Replay.apply(self.passes.gradients[0][0], images, self)
        self.way_back = weakref.ref(feature_map.grad_fn)
        return feature_map


class _Replay(torch.autograd.Function):
    """A weight (so that there is a way back), images, whose forward it is -> feature map."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, images: Tensor, of: _Forward) -> Tensor:
        ctx.of = of
        of.passes.images.copy_(images)
        of.passes.forward()
        return of.passes.feature_map.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[None, None, None]:
        if ctx.of.way_back() is not ctx:
            raise RuntimeError("a recorded pass can be gone back once: its memory is used anew")
        passes = ctx.of.passes
        # Of another pass in the same step, say; copied, since what a weight has may be what is about to be replaced.
        there = [(gradient, weight.grad.clone()) for weight, gradient in passes.gradients if weight.grad is not None]
        passes.slope.copy_(slope)
        passes.backward()
        for gradient, before in there:
            gradient.add_(before)
        for weight, gradient in passes.gradients:
            weight.grad = gradient
        ctx.of.way_back = lambda: None
        return None, None, None
