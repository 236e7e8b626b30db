"""CUDA graphs: a backbone's passes over a batch are recorded once and replayed, one launch instead of hundreds.

With small batches a GPU waits for Python to launch its kernels; a replay has them all ready. The rest of a step (views,
head, method, optimizer) is launched as usual, so a method may do anything.
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

_WARM_UP_PASSES = 3  # before recording; libraries choose their algorithms in them


class Passes(NamedTuple):
    """A recorded forward and backward pass, which read and write tensors at fixed places in memory."""

    images: Tensor  # B×3×S×S: input of the forward pass
    feature_map: Tensor  # B×D×h×w: its output
    gradient: Tensor  # B×D×h×w, of the loss with respect to the feature map: input of the backward pass
    weight_gradients: list[tuple[nn.Parameter, Tensor]]  # its output
    forward: Callable[[], None]
    backward: Callable[[], None]


def capture(backbone: Backbone, images: Tensor, context: Callable[[], AbstractContextManager[object]]) -> None:
    """Makes training passes over images of this shape replay a recording; all other passes stay as they are.

    images: a batch of the shape to record, on the GPU. context: the precision to compute in.
    A backbone that cannot be recorded, because it waits for the device, is left as it is, with a warning. So is one
    whose recording would fill the device: a recording keeps the memory of its batch, and the smaller last batch of an
    epoch needs as much again.
    """
    plain_forward = backbone.forward
    buffers, reserved = [buffer.clone() for buffer in backbone.buffers()], torch.cuda.memory_reserved()
    was_training, benchmark = backbone.training, torch.backends.cudnn.benchmark
    backbone.train()
    try:
        torch.backends.cudnn.benchmark = True  # what is replayed thousands of times may take seconds to choose
        with context():
            passes = _record(backbone, images)
    except RuntimeError as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        log.warning(f"the passes of this backbone cannot be recorded, so each kernel is launched by itself ({reason})")
        return
    finally:
        torch.backends.cudnn.benchmark = benchmark
        backbone.train(was_training)
        for buffer, before in zip(backbone.buffers(), buffers, strict=True):  # recording runs it a few times
            buffer.copy_(before)
    if images.is_cuda and torch.cuda.mem_get_info()[0] < torch.cuda.memory_reserved() - reserved:
        return
    setattr(backbone, "forward", _ReplayedForward(backbone, plain_forward, passes))  # noqa: B010 (a method, says mypy)


def release(backbone: Backbone) -> None:
    """Undoes `capture` and frees its memory, which nothing else would: backbone and recording refer to each other."""
    backbone.__dict__.pop("forward", None)


def _record(backbone: Backbone, images: Tensor) -> Passes:
    parameters = [parameter for parameter in backbone.parameters() if parameter.requires_grad]
    _warm_up(backbone, images, parameters)
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with _recording(forward), _autocast_without_cache():
        feature_map = backbone(images)
    gradient = torch.zeros_like(feature_map)
    with _recording(backward, forward.pool()):
        found = zip(parameters, torch.autograd.grad(feature_map, parameters, gradient, allow_unused=True), strict=True)
        weight_gradients = [(weight, _in_layout_of(weight, own)) for weight, own in found if own is not None]
    return Passes(images, feature_map.detach(), gradient, weight_gradients, forward.replay, backward.replay)


def _warm_up(backbone: Backbone, images: Tensor, parameters: list[nn.Parameter]) -> None:
    """Passes on another stream, as recording requires; raises a RuntimeError where one waits for the device."""
    side_stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side_stream.wait_stream(torch.cuda.current_stream())
    sync_debug_mode = torch.cuda.get_sync_debug_mode()
    try:
        with torch.cuda.stream(side_stream), _autocast_without_cache():
            for left in reversed(range(_WARM_UP_PASSES)):
                if not left:  # found here, because torch does not recover from waiting inside a recording
                    torch.cuda.set_sync_debug_mode("error")
                feature_map = backbone(images)
                torch.autograd.grad(feature_map, parameters, torch.zeros_like(feature_map), allow_unused=True)
    finally:
        torch.cuda.set_sync_debug_mode(sync_debug_mode)
    torch.cuda.current_stream().wait_stream(side_stream)


@contextmanager
def _recording(graph: torch.cuda.CUDAGraph, pool: Any = None) -> Iterator[None]:
    """Records what is launched inside into the graph, in the memory of the pool."""
    current = torch.cuda.stream(torch.cuda.current_stream())  # where recording fails, torch would stay on its stream
    # thread_local: another thread may use the device meanwhile, as the one that writes checkpoints does.
    with current, torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"):
        yield


def _in_layout_of(weight: Tensor, gradient: Tensor) -> Tensor:
    """The gradient in the memory layout of its weight, as fused optimizers want it."""
    return gradient if gradient.stride() == weight.stride() else torch.empty_like(weight).copy_(gradient)


def _autocast_without_cache() -> AbstractContextManager[object]:
    """Autocast as it is now, but weights are cast in each pass: a cast taken from the cache would not be recorded."""
    return torch.autocast(
        "cuda", torch.get_autocast_dtype("cuda"), torch.is_autocast_enabled("cuda"), cache_enabled=False
    )


class _ReplayedForward:
    """Replaces a backbone's forward: replays where the recording fits, else calls the plain forward."""

    def __init__(self, backbone: Backbone, plain: Callable[[Tensor], Tensor], passes: Passes) -> None:
        self.backbone, self.plain, self.passes = backbone, plain, passes
        self.pending: Callable[[], object] = lambda: None  # the autograd node of a replay whose backward is to come

    def __call__(self, images: Tensor) -> Tensor:
        fits = images.shape == self.passes.images.shape and not images.requires_grad
        if not (fits and self.backbone.training and torch.is_grad_enabled()) or self.pending() is not None:
            return self.plain(images)
        feature_map: Tensor = _Replay.apply(self.passes.weight_gradients[0][0], images, self)
        self.pending = weakref.ref(feature_map.grad_fn)
        return feature_map


class _Replay(torch.autograd.Function):
    """(a weight, so that autograd asks for a backward pass; images; whose forward it is) -> feature map."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, images: Tensor, replayed: _ReplayedForward) -> Tensor:
        ctx.replayed = replayed
        replayed.passes.images.copy_(images)
        replayed.passes.forward()
        return replayed.passes.feature_map.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, None]:
        """Replays the recorded backward pass."""
        if ctx.replayed.pending() is not ctx:
            raise RuntimeError("the backward pass of a recording can run once: its memory is reused")
        passes = ctx.replayed.passes
        # E.g. from another pass in the same step; copied, since a weight's gradient may be the tensor replaced below.
        before = [(own, weight.grad.clone()) for weight, own in passes.weight_gradients if weight.grad is not None]
        passes.gradient.copy_(gradient)
        passes.backward()
        for own, earlier in before:
            own.add_(earlier)
        for weight, own in passes.weight_gradients:
            weight.grad = own
        ctx.replayed.pending = lambda: None
        return None, None, None
