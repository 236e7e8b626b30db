"""The loop: learns, repeats itself, and survives being killed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from tests.support.runs import copied_at_batches, same, tensors_of, without_times
from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.loading import load
from trilabel.labels import Labels
from trilabel.methods import METHODS, Batch, Method
from trilabel.models import Classifier, create_model
from trilabel.training import checkpoint
from trilabel.training.api import train
from trilabel.training.resume import restore
from trilabel.training.run_folder import RunFolder
from trilabel.training.setup import prepare
from trilabel.training.splits import split_for_training
from trilabel.training.stage_setup import enter


def test_learns(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, replace(quick, epochs=6), tmp_path / "run")
    chance = small_scenes.labels[small_scenes.rows_of("val")].counts_per_class()[0].mean() / 48
    assert run.metrics["mAP"] > 1.3 * chance
    assert run.history[-1].loss < 0.8 * run.history[0].loss


def test_run_folder_holds_what_it_promises(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, quick, tmp_path / "run")
    folder = RunFolder(run.folder)
    assert {file.name for file in run.folder.iterdir()} == {
        "config.json", "versions.json", "metrics.jsonl", "labels.npz", "last.safetensors", "best.safetensors",
        "validation_images.json", "validation_scores.npy", "validation_labels.npz", "decisions.json",
        "finished.json",
    }  # fmt: skip
    assert folder.read().config == quick
    assert without_times(folder.read_history()) == without_times(run.history)
    assert Labels.load(folder.labels) == small_scenes.labels[small_scenes.rows_of("train")]
    assert "torch" in json.loads((run.folder / "versions.json").read_text())
    assert run.best.val["mAP"] == max(record.val["mAP"] for record in run.history)


def test_same_seed_same_numbers(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    one = train(small_scenes, replace(quick, crop=0.5), tmp_path / "one")
    two = train(small_scenes, replace(quick, crop=0.5), tmp_path / "two")
    other = train(small_scenes, replace(quick, crop=0.5, seed=1), tmp_path / "other")
    assert same(tensors_of(one.folder), tensors_of(two.folder))
    assert without_times(one.history) == without_times(two.history)
    assert not same(tensors_of(one.folder), tensors_of(other.folder))


def test_loaded_model_scores_as_the_run_said(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, replace(quick, ema=0.9), tmp_path / "run")
    scored = load(run).evaluate(small_scenes, "val")
    assert scored["mAP"] == pytest.approx(run.metrics["mAP"], abs=1e-12)


# ---- stages


def test_linear_stage_leaves_the_backbone_alone(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, replace(quick, stages="linear", epochs=1), tmp_path / "one")
    longer = train(small_scenes, replace(quick, stages="linear", epochs=3), tmp_path / "three")
    before, after = tensors_of(run.folder), tensors_of(longer.folder)
    for name in before:
        if name.startswith("model."):
            learned = name in ("model.head.linear.weight", "model.head.linear.bias")
            assert torch.equal(before[name], after[name]) != learned, name


def test_linear_stage_is_training_on_features(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    """The slow way: features by hand, a linear layer, the same batches and plain SGD."""
    from torch.nn import functional as F

    from trilabel.data.augment import Views
    from trilabel.training.batches import epoch_order

    config = replace(quick, stages="linear", epochs=2, optimizer="sgd", momentum=0.0, linear_lr=0.5, val="none")
    run = train(small_scenes, config, tmp_path / "run")
    torch.manual_seed(config.seed)
    model = create_model(Config(), small_scenes.labels.shape[1], image_size=32).eval()
    rows = small_scenes.rows_of("train")
    assert small_scenes.images is not None
    with torch.no_grad():
        views = Views(model.backbone.mean, model.backbone.std)
        features = model.backbone(views.plain(small_scenes.images[torch.from_numpy(rows)])).mean((2, 3))
    labels = torch.from_numpy(small_scenes.labels.to_signed()[rows])
    weight = model.head.linear.weight.detach().clone().requires_grad_()
    bias = model.head.linear.bias.detach().clone().requires_grad_()
    for epoch in (1, 2):
        for batch in epoch_order(len(rows), config.batch_size, [config.seed, 0, epoch]).batches:
            logits = features[batch] @ weight.T + bias
            loss = F.binary_cross_entropy_with_logits(logits, (labels[batch] > 0).float())
            gradients = torch.autograd.grad(loss, (weight, bias))
            with torch.no_grad():
                weight -= 0.5 * gradients[0]
                bias -= 0.5 * gradients[1]
    after = tensors_of(run.folder)
    torch.testing.assert_close(after["model.head.linear.weight"], weight.detach(), atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(after["model.head.linear.bias"], bias.detach(), atol=1e-5, rtol=1e-4)


def test_fine_tuning_starts_from_the_best_linear_weights(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([0.0, 0.2, 0.9, 0.1, 0.5, 0.6])  # one for the check at the start; linear epoch 2 is the best of three

    def evaluate(*args: Any, **kwargs: Any) -> dict[str, float]:
        return {"mAP": next(values)}

    monkeypatch.setattr(metrics, "evaluate", evaluate)
    starts: list[Tensor] = []
    original = METHODS["known-only"].start_epoch

    def start_epoch(self: Any, epoch: int) -> None:
        starts.append(models[0].head.linear.weight.detach().clone())
        original(self, epoch)

    models: list[Classifier] = []

    def create(*arguments: Any) -> Classifier:
        models.append(create_model(*arguments))
        return models[-1]

    monkeypatch.setattr("trilabel.training.setup.create_model", create)
    monkeypatch.setattr(METHODS["known-only"], "start_epoch", start_epoch)
    run = train(
        small_scenes, replace(quick, stages="linear-then-fine-tune", linear_epochs=3, linear_lr=0.01), tmp_path / "run"
    )
    best_linear = tensors_of(run.folder, "best-linear")["model.head.linear.weight"]
    assert torch.equal(starts[2], best_linear)  # what linear epoch 3 started from: the weights after epoch 2
    assert torch.equal(starts[3], best_linear)  # what fine-tuning started from
    assert [record.stage for record in run.history] == ["linear"] * 3 + ["fine-tune"] * 2
    assert run.best.epoch == 2


def test_accumulation_is_a_larger_batch(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    base = replace(quick, stages="linear", epochs=1, optimizer="sgd", linear_lr=0.1, val="none")
    base = replace(base, settings={"normalize": "all"})
    small = train(small_scenes, replace(base, batch_size=8, accumulate=2), tmp_path / "small")
    large = train(small_scenes, replace(base, batch_size=16), tmp_path / "large")
    name = "model.head.linear.weight"
    torch.testing.assert_close(tensors_of(small.folder)[name], tensors_of(large.folder)[name])


def test_patience_stops_early(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = iter([0.0, 0.5, 0.6, 0.55, 0.4, 0.9])  # the first is asked for before training, to know the names
    monkeypatch.setattr(metrics, "evaluate", lambda *a, **k: {"mAP": next(values)})
    run = train(small_scenes, replace(quick, epochs=5, patience=2), tmp_path / "run")
    assert len(run.history) == 4
    assert run.best.epoch == 2


def test_other_ways_of_running_work(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    for number, changes in enumerate(
        [
            {"precision": "bf16"},
            {"channels_last": True, "lr_schedule": "cosine"},
            {"optimizer": "sgd", "clip_gradient": 0.1, "lr_schedule": "step"},
            {"optimizer": "rmsprop", "lr_schedule": "one-cycle", "val": "none"},
        ]
    ):
        run = train(small_scenes, replace(quick, epochs=1, **changes), tmp_path / str(number))
        assert np.isfinite(run.history[0].loss)


@pytest.mark.slow
def test_compiled_model_trains_and_loads(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, replace(quick, compile=True), tmp_path / "run")
    assert load(run).evaluate(small_scenes, "val")["mAP"] == pytest.approx(run.metrics["mAP"], abs=1e-6)


# ---- methods with a memory, and two views


class Remembering(Method):
    """A method with a parameter, a buffer and two views, to see that the loop looks after them."""

    description, suits, views = "test", "test", 2

    def __init__(self, settings: Any, labels: Labels, *more: Any) -> None:
        super().__init__(settings, labels, *more)
        self.shift = nn.Parameter(torch.zeros(labels.shape[1]))
        self.register_buffer("seen", torch.zeros(len(labels), dtype=torch.int64))
        self.seen: Tensor

    def parameter_groups(self, lr: float = 1e-3) -> list[tuple[list[nn.Parameter], float]]:
        return [([self.shift], 10.0)]

    def step(self, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        assert batch.strong is not None
        assert not torch.equal(batch.strong, batch.images)
        self.seen[batch.rows] += 1
        logits = model(batch.images).logits + self.shift + 0.1 * model(batch.strong).logits
        loss = nn.functional.softplus(-logits * batch.labels).mean()
        return {"loss": loss, "half": loss / 2, "logits": logits.detach()}


@pytest.fixture
def remembering(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setitem(METHODS.own, "remembering", Remembering)
    yield "remembering"


def test_what_a_method_remembers_is_trained_and_saved(
    small_scenes: Dataset, quick: Config, tmp_path: Path, remembering: str
) -> None:
    run = train(small_scenes, replace(quick, method=remembering, epochs=3), tmp_path / "run")
    saved = tensors_of(run.folder)
    assert saved["method.seen"].tolist() == [3] * 96  # each image once an epoch
    assert saved["method.shift"].abs().max() > 0
    assert run.history[0].parts["half"] == pytest.approx(run.history[0].loss / 2)


def test_a_method_is_told_whether_the_stage_before_has_taught_the_model(
    small_scenes: Dataset, quick: Config, tmp_path: Path, remembering: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    def step(self: Remembering, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        told.append(batch.goes_on)
        return one_view_step(self, model, batch)

    monkeypatch.setattr(Remembering, "views", 1)
    monkeypatch.setattr(Remembering, "step", step)
    config = replace(quick, method=remembering, linear_epochs=1, epochs=1, batch_size=96)
    train(small_scenes, replace(config, stages="linear-then-fine-tune", linear_lr=config.lr), tmp_path / "both")
    train(small_scenes, replace(config, stages="fine-tune"), tmp_path / "one")
    assert told == [False, True, False]


# ---- stopping and going on


def test_killed_between_epochs_and_resumed_is_identical(
    small_scenes: Dataset, quick: Config, tmp_path: Path, remembering: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every place where a step can be interrupted: the resumed run must end with the very same bits.

    Real processes are killed in tests/reliability.
    """
    config = replace(quick, method=remembering, stages="linear-then-fine-tune", linear_epochs=1, epochs=2, ema=0.9)
    config = replace(config, linear_lr=config.lr, save_minutes=0.0, lr_schedule="cosine")  # saved after every step
    monkeypatch.setattr(Remembering, "views", 1)
    monkeypatch.setattr(Remembering, "step", one_view_step)
    copies = {stop_at: tmp_path / f"cut{stop_at}" for stop_at in (3, 7, 12, 14, 16, 20, 22, 28)}
    with copied_at_batches(tmp_path / "whole", copies):
        whole = train(small_scenes, config, tmp_path / "whole")
    for stop_at, folder in copies.items():
        if not (folder / "last.safetensors").exists():
            continue  # before the first step there is nothing to resume
        resumed = train(small_scenes, config, folder, resume=True)
        assert same(tensors_of(folder), tensors_of(whole.folder)), stop_at
        assert same(tensors_of(folder, "best"), tensors_of(whole.folder, "best")), stop_at
        assert without_times(resumed.history) == without_times(whole.history), stop_at


def one_view_step(self: Remembering, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
    self.seen[batch.rows] += 1
    logits = model(batch.images).logits + self.shift
    loss = nn.functional.softplus(-logits * batch.labels).mean()
    return {"loss": nn.functional.dropout(loss, 0.1), "logits": logits.detach()}


def test_resuming_a_finished_run_changes_nothing(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, quick, tmp_path / "run")
    before = (run.folder / "best.safetensors").read_bytes()
    again = train(small_scenes, quick, tmp_path / "run", resume=True)
    assert again.best == run.best
    assert (run.folder / "best.safetensors").read_bytes() == before


# ---- what is refused


def test_existing_folder_is_not_overwritten(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, replace(quick, epochs=1), tmp_path / "run")
    with pytest.raises(TrilabelError, match=r"exists.*overwrite=True, or resume=True"):
        train(small_scenes, quick, run.folder)
    train(small_scenes, replace(quick, epochs=1), run.folder, overwrite=True)
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "precious.txt").write_text("mine")
    with pytest.raises(TrilabelError, match="not a trilabel run"):
        train(small_scenes, quick, tmp_path / "photos", overwrite=True)
    assert (tmp_path / "photos" / "precious.txt").exists()


def test_resuming_with_nothing_there_or_something_else(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match="no run to resume"):
        train(small_scenes, quick, tmp_path / "none", resume=True)
    run = train(small_scenes, replace(quick, epochs=1), tmp_path / "run")
    with pytest.raises(TrilabelError, match=r"other settings \(lr\)"):
        train(small_scenes, replace(quick, epochs=1, lr=1.0), run.folder, resume=True)
    flipped = small_scenes.with_labels(Labels.from_signed(-small_scenes.labels.to_signed(), ids=small_scenes.ids))
    with pytest.raises(TrilabelError, match="labels differ"):
        train(flipped, replace(quick, epochs=1), run.folder, resume=True)
    content = (run.folder / "last.safetensors").read_bytes()
    (run.folder / "last.safetensors").write_bytes(content[: len(content) // 2])
    with pytest.raises(TrilabelError, match=r"last\.safetensors.*cut short"):
        train(small_scenes, replace(quick, epochs=1), run.folder, resume=True)


def test_a_loss_that_is_not_finite_says_where(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match=r"not finite in epoch \d+, step \d+ of 6 .*learning rate.*images '"):
        train(small_scenes, replace(quick, optimizer="sgd", lr=1e30), tmp_path / "run")


def test_validation_without_a_positive(
    small_scenes: Dataset, quick: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    signed = small_scenes.labels.to_signed()
    val = small_scenes.rows_of("val")
    signed[val, 0] = -1
    names = {"classes": small_scenes.classes, "ids": small_scenes.ids}
    run = train(replace(small_scenes, labels=Labels.from_signed(signed, **names)), quick, tmp_path / "one")
    assert repr(small_scenes.classes[0]) in caplog.text
    assert run.metrics["classes_without_ap"] == 1
    signed[val] = np.minimum(signed[val], 0)
    with pytest.raises(TrilabelError, match="no validation image is known to have any class"):
        train(replace(small_scenes, labels=Labels.from_signed(signed, **names)), quick, tmp_path / "two")


def test_unknown_metric_to_choose_by(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match=r"no validation metric named 'map'.*mAP"):
        train(small_scenes, replace(quick, select="map"), tmp_path / "run")
    assert not (tmp_path / "run").exists()  # found out before anything was trained


def test_a_run_is_not_lost_when_its_replacement_cannot_start(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    run = train(small_scenes, replace(quick, epochs=1), tmp_path / "run")
    with pytest.raises(TrilabelError, match="no such weights"):
        wrong = replace(quick, backbone="resnet18", weights="missing.safetensors")
        train(small_scenes, wrong, run.folder, overwrite=True)
    assert (run.folder / "best.safetensors").exists()
    train(small_scenes, replace(quick, epochs=1), run.folder, overwrite=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".run.train.lock", "run"]


def test_killed_before_the_first_checkpoint(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train(small_scenes, quick, tmp_path / "whole")

    def pull_the_plug(*args: Any) -> None:
        raise RuntimeError("pulled the plug")

    with monkeypatch.context() as patched, pytest.raises(RuntimeError, match="pulled"):
        patched.setattr(checkpoint, "save", pull_the_plug)
        train(small_scenes, quick, tmp_path / "cut")
    train(small_scenes, quick, tmp_path / "cut", resume=True)
    assert same(tensors_of(tmp_path / "cut"), tensors_of(whole.folder))


def test_the_rest_of_an_accumulation_is_a_whole_mean(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    base = replace(quick, stages="linear", epochs=1, optimizer="sgd", momentum=0.0, linear_lr=0.1, val="none")
    base = replace(base, settings={"normalize": "all"}, batch_size=32)  # three batches
    exact = train(small_scenes, replace(base, accumulate=3), tmp_path / "exact")
    rest = train(small_scenes, replace(base, accumulate=8), tmp_path / "rest")
    assert same(tensors_of(exact.folder), tensors_of(rest.folder))


def test_resuming_keeps_the_memory_layout_of_the_optimizer(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    config = replace(quick, channels_last=True, epochs=1)
    run = train(small_scenes, config, tmp_path / "run")
    fabric = Fabric(accelerator="cpu", devices=1)
    job = prepare(fabric, split_for_training(small_scenes, config), config, RunFolder(run.folder), resumes=True)
    restore(job, config)
    enter(job, job.stages[0])
    layouts = [
        (parameter.stride(), memory["exp_avg"].stride()) for parameter, memory in job.state.optimizer.state.items()
    ]
    assert layouts
    assert all(one == two for one, two in layouts)


def test_a_resumed_run_may_train_longer(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    whole = train(small_scenes, replace(quick, epochs=3), tmp_path / "whole")
    train(small_scenes, replace(quick, epochs=2), tmp_path / "run")
    longer = train(small_scenes, replace(quick, epochs=3), tmp_path / "run", resume=True)
    assert longer.config.epochs == 3
    assert same(tensors_of(longer.folder), tensors_of(whole.folder))


def test_a_batch_of_broken_images_is_left_out(quick: Config, tmp_path: Path, small_scenes: Dataset) -> None:
    """Files that look whole and are not, one a batch: warned of, counted, and not part of the mean loss."""
    from PIL import Image

    assert small_scenes.images is not None
    paths = []
    for number, image in enumerate(small_scenes.images[:12]):
        paths.append(str(tmp_path / f"{number}.png"))
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(paths[-1])
    for path in (paths[3], paths[7]):
        content = bytearray(Path(path).read_bytes())
        content[60:-60] = bytes(len(content) - 120)
        Path(path).write_bytes(content)
    labels = small_scenes.labels[np.arange(12)]
    dataset = Dataset(labels.ids, paths, labels, {"train": np.arange(12)})
    config = replace(quick, val="none", batch_size=1, accumulate=5, epochs=1, broken="skip")
    streamed = train(dataset, replace(config, cache="none"), tmp_path / "streamed")
    assert streamed.history[0].images_left_out == 2
    assert np.isfinite(streamed.history[0].loss)
    decoded = train(dataset, replace(config, cache="memory"), tmp_path / "decoded")
    assert len(Labels.load(RunFolder(decoded.folder).labels)) == 10


def test_positives_only_are_refused_before_anything_is_written(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    only = Labels.from_signed(np.maximum(small_scenes.labels.to_signed(), 0), ids=small_scenes.ids)
    with pytest.raises(TrilabelError, match="assume-negative"):
        train(small_scenes.with_labels(only), replace(quick, method="known-only"), tmp_path / "run")
    run = train(small_scenes.with_labels(only), replace(quick, method="auto", epochs=1), tmp_path / "auto")
    assert run.config.method == "assume-negative"


# ---- several processes


def test_two_processes_train_and_score_every_image_once(
    small_scenes: Dataset, quick: Config, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """New processes, which import everything and print nothing."""
    rows = small_scenes.rows_of("val")[:-1]  # an odd number, so that the shares differ
    odd = replace(small_scenes, splits={**small_scenes.splits, "val": rows})
    run = train(odd, replace(quick, devices=2, batch_size=8, device="cpu"), tmp_path / "two")
    printed = "".join(capfd.readouterr()).splitlines()
    assert [line for line in printed if not line.startswith("[Gloo]")] == []
    assert len(run.history) == 2
    scored = load(run).evaluate(odd, "val")
    assert scored["images"] == run.metrics["images"] == 47
    assert scored["mAP"] == pytest.approx(run.metrics["mAP"], abs=1e-9)


def test_positives_alone_choose_an_epoch_and_the_record_says_how(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    named = Labels.from_signed(np.maximum(small_scenes.labels.to_signed(), 0))
    config = replace(quick, method="assume-negative", epochs=3)
    run = train(replace(small_scenes, labels=named), config, tmp_path / "named")
    full = train(small_scenes, replace(config, method="known-only"), tmp_path / "full")
    assert all(record.val_unknown_as_absent for record in run.history)
    assert run.metrics["mAP"] < 1
    # All positives are named here, so taking the rest for absent is the truth, and both runs are the same.
    assert [record.val["mAP"] for record in run.history] == pytest.approx(
        [record.val["mAP"] for record in full.history], abs=0.05
    )
    assert not any(record.val_unknown_as_absent for record in full.history)
