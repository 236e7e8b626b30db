"""Training with recorded passes is training without; what does not fit the recording uses the plain forward.

Tests without a GPU use a stand-in for the recording. Whole runs are in tests/training/test_cuda_graphs.py.
"""

import copy
import gc
import weakref
from contextlib import nullcontext
from functools import partial

import pytest
import timm
import torch
from torch import nn
from torch.nn import functional as F

from tests.support.recorder import Recorder, is_captured
from trilabel.config import Config
from trilabel.models import Backbone, create_model, cuda_graphs
from trilabel.models.tiny import TinyNet

BATCH, SIZE, CLASSES = 4, 16, 3


@pytest.fixture
def recorder(monkeypatch):
    stand_in = Recorder()
    monkeypatch.setattr(cuda_graphs, "_record", stand_in)
    return stand_in


def batch(seed, count=BATCH, size=SIZE):
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(seed))


def twins(head="gap"):
    """(a captured model, the same without), in training."""
    torch.manual_seed(0)
    plain = create_model(Config(head=head), CLASSES, SIZE).train()
    captured = copy.deepcopy(plain)
    cuda_graphs.capture(captured.backbone, torch.zeros(BATCH, 3, SIZE, SIZE), nullcontext)
    return captured, plain


def loss_of(logits):
    return F.softplus(logits * torch.tensor([1.0, -1.0, 2.0], device=logits.device)).mean()


def gradients_of(model):
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def assert_same(one, two):
    assert one.keys() == two.keys()
    for name in one:
        torch.testing.assert_close(one[name], two[name], rtol=0, atol=0, msg=name)


# ---- with a stand-in


@pytest.mark.parametrize("head", ["gap", "weldon", "saliency"])
def test_feature_map_and_every_gradient_are_those_of_autograd(recorder, head):
    captured, plain = twins(head)
    for seed in range(3):
        for model in (captured, plain):
            model.zero_grad()
            loss_of(model(batch(seed)).logits).backward()
        assert_same(gradients_of(captured), gradients_of(plain))
        assert_same(captured.state_dict(), plain.state_dict())  # batch-norm statistics too
    maps = [model.backbone(batch(7)) for model in (captured, plain)]
    assert torch.equal(*maps) and all(each.requires_grad for each in maps)
    assert (recorder.forwards, recorder.backwards) == (4, 3)


@pytest.mark.parametrize("set_to_none", [True, False])
def test_steps_of_adam_lead_to_the_same_weights(recorder, set_to_none):
    captured, plain = twins()
    start = copy.deepcopy(plain.state_dict())
    for model in (captured, plain):
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, fused=True)
        for seed in range(6):
            images = batch(seed, count=3 if seed == 4 else BATCH)  # the last batch of an epoch is smaller
            loss_of(model(images).logits).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none)
    assert_same(captured.state_dict(), plain.state_dict())
    assert not torch.equal(start["backbone.network.stages.0.0.weight"], captured.backbone.network.stages[0][0].weight)
    assert recorder.backwards == 5


def test_other_shapes_modes_and_passes_without_gradients_are_plain(recorder):
    captured, plain = twins()
    for model in (captured, plain):
        model.zero_grad()
        loss_of(model(batch(0, count=BATCH - 1)).logits).backward()
        loss_of(model(batch(0, size=2 * SIZE)).logits).backward()
    assert_same(gradients_of(captured), gradients_of(plain))
    with torch.no_grad():
        assert torch.equal(captured.backbone(batch(1)), plain.backbone(batch(1)))
    with torch.inference_mode():
        assert torch.equal(captured.backbone(batch(1)), plain.backbone(batch(1)))
    captured.eval(), plain.eval()
    assert torch.equal(captured.backbone(batch(1)), plain.backbone(batch(1)))
    assert_same(captured.state_dict(), plain.state_dict())
    assert recorder.forwards == 0
    captured.train()(batch(1))
    assert recorder.forwards == 1


def test_a_pass_without_a_backward_does_not_block_the_recording(recorder):
    captured, _ = twins()
    captured(batch(1))
    for number in range(2, 5):
        loss_of(captured(batch(number)).logits).backward()
    assert (recorder.forwards, recorder.backwards) == (4, 3)


def test_gradients_of_images_are_right_and_a_second_backward_is_refused(recorder):
    captured, plain = twins()
    images = [batch(1).requires_grad_() for _ in range(2)]
    for model, seen in zip((captured, plain), images, strict=True):
        loss_of(model(seen).logits).backward()
    assert torch.equal(images[0].grad, images[1].grad) and recorder.forwards == 0
    loss = loss_of(captured(batch(2)).logits)
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="can run once"):
        loss.backward()


def test_a_released_backbone_is_as_before_and_freed_at_once(recorder):
    captured, plain = twins()
    cuda_graphs.release(captured.backbone)
    assert torch.equal(captured(batch(1)).logits, plain(batch(1)).logits) and recorder.forwards == 0
    gone = weakref.ref(captured.backbone)
    gc.disable()
    try:
        del captured
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("together", [True, False])
def test_a_second_pass_before_the_backward_is_plain_and_both_count(recorder, together):
    captured, plain = twins()
    for model in (captured, plain):
        one, two = loss_of(model(batch(1)).logits), loss_of(3 * model(batch(2)).logits)
        if together:
            (one + two).backward()
        else:
            one.backward()
            two.backward()
    assert (recorder.forwards, recorder.backwards) == (1, 1)
    for name, gradient in gradients_of(plain).items():
        torch.testing.assert_close(gradients_of(captured)[name], gradient, msg=name)
    captured(batch(3))
    assert recorder.forwards == 2, "and then the recording is free again"


def test_gradients_add_up_over_passes_unless_set_to_zero(recorder):
    """The tensor that a recording writes to is also the gradient that the weight has from the pass before."""
    captured, plain = twins()
    for model in (captured, plain):
        for seed, count in ((1, BATCH), (2, BATCH), (3, BATCH - 1), (4, BATCH)):
            loss_of(model(batch(seed, count)).logits).backward()
    assert recorder.backwards == 3
    for name, gradient in gradients_of(plain).items():
        torch.testing.assert_close(gradients_of(captured)[name], gradient, msg=name)


def test_nothing_is_left_over_from_the_step_before(recorder):
    captured, plain = twins()
    loss_of(captured(batch(1)).logits).backward()
    captured.zero_grad()
    assert all(parameter.grad is None for parameter in captured.parameters())
    captured.load_state_dict(plain.state_dict())
    for model in (captured, plain):
        loss_of(model(batch(2)).logits).backward()
    assert_same(gradients_of(captured), gradients_of(plain))
    captured.zero_grad()
    feature_map = captured.backbone(batch(1))
    (0 * feature_map).sum().backward()
    assert not any(parameter.grad.any() for parameter in captured.backbone.parameters())


@pytest.mark.parametrize("training", [True, False])
def test_capturing_leaves_buffers_mode_and_settings_alone(recorder, monkeypatch, training):
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", training)
    torch.manual_seed(0)
    model = create_model(Config(), CLASSES, SIZE).train()
    model(batch(0))
    model.train(training)
    before = copy.deepcopy(model.state_dict())
    places = [value.data_ptr() for value in model.state_dict().values()]
    cuda_graphs.capture(model.backbone, torch.zeros(BATCH, 3, SIZE, SIZE), nullcontext)
    assert is_captured(model.backbone)
    assert_same(model.state_dict(), before)
    assert [value.data_ptr() for value in model.state_dict().values()] == places
    assert int(before["backbone.network.stages.0.1.num_batches_tracked"]) == 1
    assert all(module.training == training for module in model.modules())
    assert torch.backends.cudnn.benchmark == training
    assert all(parameter.grad is None for parameter in model.parameters())


def test_recording_is_done_in_training_and_in_the_precision_asked_for(monkeypatch):
    seen = []

    def recorded(backbone, images):
        seen.append((backbone.training, torch.is_autocast_enabled("cpu"), torch.backends.cudnn.benchmark))
        return Recorder()(backbone, images)

    monkeypatch.setattr(cuda_graphs, "_record", recorded)
    backbone = create_model(Config(), CLASSES, SIZE).backbone.eval()
    cuda_graphs.capture(backbone, batch(0), partial(torch.autocast, "cpu", torch.bfloat16))
    assert seen == [(True, True, True)]


@pytest.mark.parametrize(
    ("error", "words"), [(RuntimeError("\nit waits\nat length"), "(it waits)"), (RuntimeError(), "(RuntimeError)")]
)
def test_what_cannot_be_recorded_is_left_alone_with_a_warning(monkeypatch, caplog, error, words):
    def fails(backbone, images):
        backbone(images)
        raise error

    monkeypatch.setattr(cuda_graphs, "_record", fails)
    captured, plain = twins()
    (told,) = caplog.messages
    assert "\n" not in told and words in told
    assert not is_captured(captured.backbone) and not torch.backends.cudnn.benchmark
    assert_same(captured.state_dict(), plain.state_dict())
    for model in (captured, plain):
        loss_of(model(batch(1)).logits).backward()
    assert_same(gradients_of(captured), gradients_of(plain))


# ---- on a GPU

CONTEXTS = {"32": nullcontext, "bf16": partial(torch.autocast, "cuda", torch.bfloat16)}


def images_on_gpu(seed, count=4, size=64):
    return batch(seed, count, size).cuda().contiguous(memory_format=torch.channels_last)


def resnet18(drop_path=0.0):
    torch.manual_seed(0)
    options = {
        "num_classes": 0,
        "global_pool": "",
        "zero_init_last": False,
    }  # branches that count
    network = timm.create_model("resnet18", drop_path_rate=drop_path, **options)
    return Backbone(network, 512, 64, (0.5,) * 3, (0.25,) * 3)


def tiny_with_dropout():
    torch.manual_seed(0)
    network = TinyNet()
    network.stages.append(nn.Dropout(0.5))
    return Backbone(network, 128, 64, (0.5,) * 3, (0.25,) * 3)


def on_gpu(backbone, context=nullcontext):
    backbone = backbone.cuda().to(memory_format=torch.channels_last).train()
    like = torch.zeros_like(images_on_gpu(0), dtype=next(backbone.parameters()).dtype)
    cuda_graphs.capture(backbone, like, context)
    assert is_captured(backbone)
    return backbone


def layout(tensor):
    """Its strides, but for dimensions of size 1, whose strides mean nothing."""
    return [stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1]


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["32", "bf16"])
def test_losses_of_recorded_steps_are_those_of_plain_ones(precision):
    torch.manual_seed(0)
    start = create_model(Config(backbone="resnet18"), CLASSES, 64)
    losses = []
    for recorded in (False, True):
        model = copy.deepcopy(start).cuda().to(memory_format=torch.channels_last).train()
        if recorded:
            on_gpu(model.backbone, CONTEXTS[precision])
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
        losses.append([])
        for step in range(5):
            with CONTEXTS[precision]():
                logits = model(images_on_gpu(step % 2)).logits
            loss = loss_of(logits.float())
            loss.backward()
            for parameter in model.parameters():
                assert layout(parameter.grad) == layout(parameter) and parameter.grad.dtype == torch.float32
            optimizer.step()
            optimizer.zero_grad()
            losses[-1].append(loss.item())
        counted = model.backbone.network.bn1.num_batches_tracked
        assert int(counted) == 5, "steps, not passes of the recording"
    plain, recorded = losses
    assert plain[4] < 0.8 * plain[0], "steps must change something, or any recording would pass"
    assert recorded == pytest.approx(plain, rel=0.01 if precision == "32" else 0.03)


@pytest.mark.gpu
def test_recorded_gradients_are_those_of_autograd():
    """In float64: a few images through so many batch norms make much of each rounding."""
    plain = resnet18().cuda().double().to(memory_format=torch.channels_last).train()
    recorded = on_gpu(resnet18().double())
    for seed in range(3):
        maps = []
        for backbone in (recorded, plain):
            backbone.zero_grad()
            maps.append(backbone(images_on_gpu(seed).double()))
            maps[-1].square().mean().backward()
        torch.testing.assert_close(*maps, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(gradients_of(recorded), gradients_of(plain), rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(recorded.state_dict(), plain.state_dict(), rtol=1e-6, atol=1e-8)


@pytest.mark.gpu
def test_a_weight_that_is_not_used_has_no_gradient_and_what_waits_is_left_alone(caplog):
    unused = resnet18()
    unused.register_parameter("unused", nn.Parameter(torch.ones(3)))
    on_gpu(unused)(images_on_gpu(0)).sum().backward()
    assert unused.unused.grad is None and unused.network.conv1.weight.grad is not None

    class Waits(TinyNet):
        def forward(self, images):
            return super().forward(images * float(images.mean() < 100))

    waits = Backbone(Waits(), 128, 64, (0.5,) * 3, (0.25,) * 3).cuda().train()
    stream = torch.cuda.current_stream()
    cuda_graphs.capture(waits, torch.zeros_like(images_on_gpu(0)), nullcontext)
    assert not is_captured(waits) and "cannot be recorded" in caplog.text
    assert torch.cuda.current_stream() == stream
    waits(images_on_gpu(0)).sum().backward()
    torch.cuda.synchronize()
    assert all(torch.isfinite(parameter.grad).all() for parameter in waits.parameters())


@pytest.mark.gpu
@pytest.mark.parametrize("make", [tiny_with_dropout, partial(resnet18, 0.5)])
def test_dropout_is_random_in_each_replay_and_follows_the_seed(make):
    backbone, images = on_gpu(make()), images_on_gpu(0)

    def replayed(seed=None):
        if seed is not None:
            torch.cuda.manual_seed(seed)
        feature_map = backbone(images)
        feature_map.square().sum().backward()
        kept = feature_map.detach().clone(), [parameter.grad.clone() for parameter in backbone.parameters()]
        backbone.zero_grad()
        return kept

    draws = [replayed(1), replayed(), replayed(), replayed(2), replayed(1)]
    maps = [feature_map for feature_map, _ in draws]
    assert not any(torch.equal(maps[one], maps[two]) for one in range(4) for two in range(one))
    torch.testing.assert_close(maps[4], maps[0], rtol=1e-3, atol=1e-3)
    for one, two in zip(draws[4][1], draws[0][1], strict=True):
        off = torch.linalg.vector_norm(one - two)
        assert off <= 0.01 * torch.linalg.vector_norm(two) + 1e-6, "the backward pass drops the same"
