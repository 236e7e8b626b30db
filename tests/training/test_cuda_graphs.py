"""Whole runs with recorded passes are runs without, and no step waits for the device.

It needs none of the fixtures of conftest.py: a GPU machine may lack what these import (pytest --noconftest).
"""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

import trilabel as tl
from tests.support.recorder import Recorder, is_captured
from trilabel.data.scenes import scenes
from trilabel.methods import METHODS
from trilabel.models import cuda_graphs
from trilabel.training import checkpoint, stage_setup

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
QUICK = tl.Config(method="known-only", image_size=32, epochs=2, batch_size=16, lr=3e-3, workers=0, device="cpu")
ON_GPU = replace(QUICK, device="cuda", epochs=3, ema=0.9)


@pytest.fixture(scope="module")
def dataset():
    return scenes(train=96, val=48, test=48, size=32)


@pytest.fixture
def recorded(monkeypatch):
    """Shapes of the batches that were recorded."""
    shapes, record = [], cuda_graphs._record

    def watched(backbone, images):
        shapes.append(tuple(images.shape))
        return record(backbone, images)

    monkeypatch.setattr(cuda_graphs, "_record", watched)
    return shapes


def test_a_run_with_replayed_passes_is_the_run_without(dataset, tmp_path, monkeypatch):
    """With a stand-in for the recording, and bit for bit; 96 images are 4 full batches and a smaller one."""
    config = replace(QUICK, batch_size=20, ema=0.9, clip_gradient=1.0)
    plain = tl.train(dataset, config, tmp_path / "plain")
    recorder, step = Recorder(), METHODS["known-only"].step
    monkeypatch.setattr(cuda_graphs, "_record", recorder)

    def capture_first(self, model, batch):
        if not is_captured(model.backbone):
            cuda_graphs.capture(model.backbone, torch.zeros(20, 3, 32, 32), nullcontext)
        return step(self, model, batch)

    monkeypatch.setattr(METHODS["known-only"], "step", capture_first)
    run = tl.train(dataset, config, tmp_path / "run")
    assert (recorder.forwards, recorder.backwards) == (8, 8)
    for name in ("last", "best"):
        one, two = (checkpoint.load(tmp_path / each / f"{name}.safetensors")[0] for each in ("run", "plain"))
        assert one.keys() == two.keys()
        for key in one:
            assert torch.equal(one[key], two[key]), key
    assert [record.val for record in run.history] == [record.val for record in plain.history]


@pytest.mark.parametrize(
    ("change", "images"),
    [
        ({}, 4),
        ({"views": 2}, 8),
        ({"batch_size": 99}, 96),
        ({"accumulate": 2}, 0),
        ({"compile": True}, 0),
        ({"processes": 2}, 0),
        ({"device": "cpu"}, 0),
    ],
)
def test_a_full_batch_of_all_views_is_recorded_once(monkeypatch, change, images):
    """And nothing where gradients are accumulated or averaged over processes, or the model is compiled."""
    shapes = []
    monkeypatch.setattr(stage_setup, "capture", lambda backbone, batch, context: shapes.append(tuple(batch.shape)))
    monkeypatch.setattr(torch, "zeros", lambda *shape, device=None, zeros=torch.zeros: zeros(*shape))
    given = {"views": 1, "processes": 1, "device": "cuda", "batch_size": 4, "accumulate": 1, "compile": False, **change}
    job = SimpleNamespace(
        config=SimpleNamespace(**{name: given[name] for name in ("batch_size", "accumulate", "compile")}),
        fabric=SimpleNamespace(device=torch.device(given["device"]), autocast=nullcontext),
        processes=SimpleNamespace(count=given["processes"]),
        model=SimpleNamespace(backbone=SimpleNamespace(image_size=32)),
        method=SimpleNamespace(views=given["views"]),
        images=range(96),
        state=SimpleNamespace(wait_for_files=lambda: None),
        views=SimpleNamespace(lay_out=lambda batch: batch),
        recorded=False,
    )
    stage_setup.record_passes(job)
    stage_setup.record_passes(job)
    assert shapes == ([(images, 3, 32, 32)] if images else [])


# ---- on a GPU


@gpu
@pytest.mark.parametrize(
    ("change", "images"),
    [({}, 16), ({"method": "self-training"}, 32), ({"batch_size": 99}, 96), ({"accumulate": 2}, 0)],
)
def test_what_a_run_records(dataset, tmp_path, recorded, change, images):
    tl.train(dataset, replace(ON_GPU, epochs=1, **change), tmp_path / "run")
    assert recorded == ([(images, 3, 32, 32)] if images else [])


@gpu
@pytest.mark.parametrize("options", [{}, {"precision": "bf16", "channels_last": True}])
def test_a_run_on_a_gpu_goes_as_one_without_recording(dataset, tmp_path, monkeypatch, recorded, caplog, options):
    config = replace(ON_GPU, batch_size=20, **options)  # 96 images: the last batch is smaller
    with_recording = tl.train(dataset, config, tmp_path / "recorded")
    assert recorded == [(20, 3, 32, 32)] and "cannot be recorded" not in caplog.text

    def refuse(backbone, images):
        raise RuntimeError("switched off by the test")

    monkeypatch.setattr(cuda_graphs, "_record", refuse)
    plain = tl.train(dataset, config, tmp_path / "plain")
    assert "switched off by the test" in caplog.text
    losses = [[record.loss for record in run.history] for run in (with_recording, plain)]
    assert losses[0] == pytest.approx(losses[1], rel=0.03)
    for one, two in zip(with_recording.history, plain.history, strict=True):
        assert one.val["mAP"] == pytest.approx(two.val["mAP"], abs=0.08)
    scored = tl.load(with_recording).evaluate(dataset, "val")
    assert scored["mAP"] == pytest.approx(with_recording.metrics["mAP"], abs=0.01)


@gpu
@pytest.mark.parametrize(("cache", "accumulate"), [("device", 1), ("memory", 1), ("device", 64)])
def test_no_step_waits_for_the_device(dataset, tmp_path, monkeypatch, cache, accumulate):
    """From the middle of step 45 to the middle of step 55 of the second epoch; the first one prepares things.

    With an image per step an epoch has 96 steps, so the check of the loss after every 50 is among them.
    """
    step, steps, modes = METHODS["known-only"].step, [], []

    def watched(self, model, batch):
        steps.append(None)
        if len(steps) in (96 + 45, 96 + 55):
            torch.cuda.set_sync_debug_mode("error" if len(steps) == 96 + 45 else "default")
        modes.append(torch.cuda.get_sync_debug_mode())
        return step(self, model, batch)

    monkeypatch.setattr(METHODS["known-only"], "step", watched)
    try:
        tl.train(dataset, replace(ON_GPU, epochs=2, batch_size=1, cache=cache, accumulate=accumulate), tmp_path / "run")
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert modes == [0] * (96 + 44) + [2] * 10 + [0] * 42
