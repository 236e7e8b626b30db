"""What methods remember is told, exported, shared between processes, and survives being killed; warm-ups too."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

import trilabel as tl
from tests.support import two_processes
from tests.support.fixed_targets import with_targets
from tests.support.runs import copied_at_batches, files_in, same, tensors_of, without_times
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.formats import csv_table
from trilabel.labels import Labels, simulate
from trilabel.labels.bits import unpacked
from trilabel.methods import METHODS, Batch, create_method
from trilabel.methods.selective import Selective
from trilabel.models import create_model
from trilabel.training.api import train
from trilabel.training.batches import epoch_order
from trilabel.training.record import UnknownTargets
from trilabel.training.run_folder import RunFolder
from trilabel.training.stage_setup import ModelAndMethod

FOR_GOOD = {"mode": "correct-for-good", "delta": 2.0}


@pytest.fixture(scope="module")
def one_named(small_scenes: Dataset) -> Dataset:
    """One present named in each training image; the full labels are the truth."""
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "single-positive", 0))


@pytest.fixture(scope="module")
def some_known(small_scenes: Dataset) -> Dataset:
    """A third of the training labels, present and absent."""
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "keep-share=0.3", 0))


def training_labels(dataset: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """(what is known, the truth) of the training images, dense."""
    rows = dataset.rows_of("train")
    assert dataset.truth is not None
    return dataset.labels[rows].to_signed(), dataset.truth[rows].to_signed()


# ---- what becomes of unknown labels


def test_records_tell_what_became_of_unknown_labels(one_named: Dataset, quick: Config, tmp_path: Path) -> None:
    config = replace(quick, method="large-loss", settings={"delta": 2.0}, epochs=3)
    run = train(one_named, config, tmp_path / "run")
    known, truth = training_labels(one_named)
    unknown = known == 0
    first, *later = run.history
    assert first.unknown.as_absent == unknown.sum() and first.unknown.left_out == 0
    assert first.unknown.as_absent_right == pytest.approx((truth[unknown] < 0).mean())
    assert not first.highest_loss_in_first_epoch
    for epoch, record in enumerate(later, start=2):
        counts = record.unknown
        assert counts.left_out + counts.as_absent == unknown.sum() and counts.as_present == 0
        assert counts.left_out >= 6 * np.ceil(16 * known.shape[1] * (epoch - 1) * 0.02)
        # Right or wrong, every label is one or the other: those left out are right where absent would be wrong.
        positives = counts.left_out * counts.left_out_right + counts.as_absent * (1 - counts.as_absent_right)
        assert positives == pytest.approx((truth[unknown] > 0).sum())
        for name in ("mean_loss", "highest_loss_in_first_epoch"):
            assert getattr(record, name).keys() == {"known_positives", "true_negatives", "hidden_positives"}
        assert all(0 <= share <= 1 for share in record.highest_loss_in_first_epoch.values())
    assert RunFolder(run.folder).read_history() == run.history


def test_mean_losses_by_kind_add_up_to_the_loss(one_named: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(one_named, replace(quick, method="assume-negative"), tmp_path / "run")
    known, truth = training_labels(one_named)
    kinds = {"known_positives": known > 0, "true_negatives": truth < 0, "hidden_positives": (known == 0) & (truth > 0)}
    for record in run.history:
        total = sum(record.mean_loss[name] * chosen.mean() for name, chosen in kinds.items())
        assert total == pytest.approx(record.loss, rel=1e-5)
        assert record.unknown is None  # nothing was done to them but what the method is known for


def test_without_hidden_labels_nothing_is_compared_and_the_truth_changes_nothing(
    one_named: Dataset, quick: Config, tmp_path: Path
) -> None:
    config = replace(quick, method="large-loss", settings={"delta": 2.0})
    told = train(one_named, config, tmp_path / "told")
    blind = train(replace(one_named, truth=None), config, tmp_path / "blind")
    for record, other in zip(blind.history, told.history, strict=True):
        assert record.unknown == UnknownTargets(other.unknown.as_absent, other.unknown.left_out)
        assert not record.mean_loss and not record.highest_loss_in_first_epoch
        assert record.loss == other.loss
    assert same(tensors_of(blind.folder, "best"), tensors_of(told.folder, "best"))


# ---- weak labels


def as_trained_on(labels: Labels, dataset: Dataset) -> Any:
    """Labels of some images and classes as a matrix of all training images and classes."""
    blank = dataset.labels[dataset.rows_of("train")]
    everything = Labels.from_signed(np.zeros(blank.shape, np.int8), blank.classes, blank.ids).merge(labels)
    return everything.to_signed()


def test_weak_labels_are_those_of_the_best_epoch_and_can_be_read(
    one_named: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trilabel import metrics

    values = iter([0.0, 0.1, 0.2, 0.9, 0.3])  # the first is asked for before training; epoch 3 of 4 is the best
    monkeypatch.setattr(metrics, "evaluate", lambda *a, **k: {"mAP": next(values)})
    config = replace(quick, method="large-loss", settings=FOR_GOOD, epochs=4)
    run = train(one_named, config, tmp_path / "run")
    monkeypatch.undo()
    known, _ = training_labels(one_named)
    best, last = (
        unpacked(tensors_of(run.folder, name)["method.weak"], known.shape[1]).numpy() for name in ("best", "last")
    )
    assert run.best.epoch == 3 and 0 < best.sum() < last.sum()
    assert not best[known != 0].any()
    file = RunFolder(run.folder).weak_labels
    for read in (csv_table.read(file), tl.data.read(file)):
        assert np.array_equal(as_trained_on(read.labels, one_named), best)
    assert len(file.read_text().splitlines()) == 1 + best.sum()  # no word on what was not filled in
    file.unlink()
    train(one_named, config, run.folder, resume=True)  # a run that was killed just before it wrote them
    assert np.array_equal(as_trained_on(csv_table.read(file).labels, one_named), best)


def test_other_methods_write_no_weak_labels(one_named: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(one_named, replace(quick, method="large-loss", epochs=1), tmp_path / "run")
    assert not RunFolder(run.folder).weak_labels.exists()


# ---- killed and resumed


def pulled_plugs(dataset: Dataset, config: Config, stops: dict[int, str], tmp_path: Path) -> Path:
    """Trains once, and resumes what a process leaves that is killed before these batches; gives the first run's folder.

    `stops` says where each batch is: "stage epoch" of the record that comes next, so that a test that hits another
    place than it means to fails.
    """
    copies = {stop_at: tmp_path / f"cut{stop_at}" for stop_at in stops}
    with copied_at_batches(tmp_path / "whole", copies):
        whole = train(dataset, config, tmp_path / "whole")
    before: dict[str, bytes] = {}
    for stop_at, where in stops.items():
        folder = copies[stop_at]
        done = len(RunFolder(folder).read_history())
        assert f"{whole.history[done].stage} {whole.history[done].epoch}" == where, stop_at
        if files_in(folder) == before:
            continue  # nothing was saved since the last stop, so that the same would follow
        before = files_in(folder)
        resumed = train(dataset, config, folder, resume=True)
        names = {file.name for file in whole.folder.iterdir()}
        assert {file.name for file in folder.iterdir()} == names
        for name in (name.removesuffix(".safetensors") for name in names if name.endswith(".safetensors")):
            assert same(tensors_of(folder, name), tensors_of(whole.folder, name)), (stop_at, name)
        assert without_times(resumed.history) == without_times(whole.history), stop_at
        if RunFolder(folder).weak_labels.exists():
            one, two = (RunFolder(each).weak_labels.read_bytes() for each in (folder, whole.folder))
            assert one == two
    return whole.folder


# A checkpoint after every step, or after epochs only: then the rest of the epoch is made again from its start.
EVERY_STEP, EVERY_EPOCH = 0.0, 10.0
saving = pytest.mark.parametrize("save_minutes", [EVERY_STEP, EVERY_EPOCH], ids=["every step", "every epoch"])


@saving
def test_large_loss_resumes_where_it_was_killed(
    one_named: Dataset, quick: Config, tmp_path: Path, save_minutes: float
) -> None:
    config = replace(quick, method="large-loss", settings=FOR_GOOD, epochs=3, save_minutes=save_minutes)
    # Six steps and two batches of validation an epoch.
    stops = {4: "fine-tune 1", 12: "fine-tune 2", 15: "fine-tune 2", 17: "fine-tune 3", 21: "fine-tune 3"}
    folder = pulled_plugs(one_named, config, stops, tmp_path)
    assert tensors_of(folder)["method.weak"].any()


@saving
@pytest.mark.parametrize("estimator", ["table", "factorized"])
def test_role_resumes_where_it_was_killed(
    one_named: Dataset,
    quick: Config,
    tmp_path: Path,
    estimator: str,
    save_minutes: float,
) -> None:
    config = replace(quick, method="role", settings={"estimator": estimator}, stages="linear-then-fine-tune")
    config = replace(config, linear_epochs=2, linear_lr=config.lr, save_minutes=save_minutes)
    # Five batches of features, then epochs of six steps and two of validation; fine-tuning begins with batch 22.
    stops = {8: "linear 1", 16: "linear 2", 22: "fine-tune 1", 25: "fine-tune 1", 33: "fine-tune 2"}
    folder = pulled_plugs(one_named, config, stops, tmp_path)
    last = tensors_of(folder)["method.table.last"]
    assert (
        (last > 6) & (last <= 12)
    ).all()  # all visited in the second epoch of six steps, counted from the stage's start


@saving
def test_selective_resumes_where_it_was_killed(
    some_known: Dataset, quick: Config, tmp_path: Path, save_minutes: float
) -> None:
    config = replace(quick, method="selective", settings={"prior_epochs": 2, "top_k": 1}, save_minutes=save_minutes)
    # Two epochs of eight batches, three in which the training images are scored, two epochs of eight.
    stops = {
        4: "warm-up 1",
        11: "warm-up 2",
        17: "fine-tune 1",  # just after the warm-up
        19: "fine-tune 1",  # while the training images are scored
        20: "fine-tune 1",  # before the first step of training anew
        23: "fine-tune 1",
        31: "fine-tune 2",
    }
    folder = pulled_plugs(some_known, config, stops, tmp_path)
    priors = tensors_of(folder)["method.priors"]
    assert (priors > 0).all() and len(priors.unique()) > 1


def test_selective_with_a_linear_stage_resumes_where_it_was_killed(
    some_known: Dataset, quick: Config, tmp_path: Path
) -> None:
    config = replace(quick, method="selective", settings={"prior_epochs": 1, "top_k": 1}, epochs=1, linear_epochs=1)
    config = replace(config, stages="linear-then-fine-tune", linear_lr=config.lr, ema=0.9, save_minutes=EVERY_STEP)
    # Features (5), a warm-up on them (8), the linear epoch on the same (8), fine-tuning (8).
    stops = {8: "warm-up 1", 15: "linear 1", 18: "linear 1", 20: "linear 1", 28: "fine-tune 1"}
    pulled_plugs(some_known, config, stops, tmp_path)


# ---- the warm-up


def test_training_starts_again_after_the_warm_up(
    some_known: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first: dict[str, Tensor] = {}
    given: list[tuple[int, Tensor]] = []
    original = Selective.step

    def step(self: Any, model: nn.Module, batch: Batch) -> dict[str, Tensor]:
        if not batch.warm_up and not first:
            first.update({name: value.clone() for name, value in model.state_dict().items()})
        parts = original(self, model, batch)
        if batch.warm_up:
            given.append((batch.epoch, parts["logits"]))
        return parts

    monkeypatch.setattr(Selective, "step", step)
    config = replace(quick, method="selective", settings={"prior_epochs": 2}, val="none")
    run = train(some_known, config, tmp_path / "run")
    assert [epoch for epoch, _ in given] == [1] * 6 + [2] * 6
    assert [(record.stage, record.epoch) for record in run.history] == [
        ("warm-up", 1), ("warm-up", 2), ("fine-tune", 1), ("fine-tune", 2)
    ]  # fmt: skip
    assert [record.unknown.as_absent > 0 for record in run.history] == [False, False, True, True]
    torch.manual_seed(config.seed)
    model = create_model(Config(), len(some_known.classes), image_size=32)
    start = tensors_of(run.folder, "start")
    assert same(first, model.state_dict())
    expected = {f"model.{name}": value for name, value in first.items()}
    classes = len(some_known.classes)
    of_method = {"method.priors": torch.zeros(classes), "method.sums": torch.zeros(classes + 1, dtype=torch.float64)}
    assert same(expected | of_method, start)

    # The slow way to the priors: what the warmed-up model gave in its last epoch.
    probabilities = torch.cat([logits for epoch, logits in given if epoch == 2]).double().sigmoid()
    assert len(probabilities) == 96
    priors = probabilities.mean(0).float()
    torch.testing.assert_close(tensors_of(run.folder)["method.priors"], priors)


def test_positives_only_have_no_warm_up(
    one_named: Dataset, quick: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = train(one_named, replace(quick, method="selective", epochs=1), tmp_path / "run")
    assert [record.stage for record in run.history] == ["fine-tune"]
    assert "no class priors are estimated" in caplog.text
    assert not RunFolder(run.folder).start.exists()


# ---- broken images

REMEMBERING: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in METHODS),
    ("large-loss", FOR_GOOD),
    ("role", {"estimator": "factorized"}),
    ("role", {"estimator": "network"}),
]


@pytest.mark.parametrize(("name", "settings"), REMEMBERING)
def test_a_batch_without_images_is_not_remembered(
    name: str, settings: dict[str, Any], some_known: Dataset, tmp_path: Path
) -> None:
    labels, val = (some_known.labels[some_known.rows_of(split)] for split in ("train", "val"))
    model = create_model(Config(), labels.shape[1], image_size=32)
    settings = with_targets(name, settings, labels, tmp_path)
    method = create_method(name, settings, labels, model.backbone.features, val)
    task = ModelAndMethod(model, method)
    before = {key: value.clone() for key, value in method.state_dict().items()}
    black, rows = torch.zeros(1, 3, 32, 32), torch.zeros(0, dtype=torch.int64)
    parts = task(Batch(black, None, labels.rows(rows.numpy()), rows, 2))
    assert parts.keys() == {"loss"} and parts["loss"] == 0
    parts["loss"].backward()
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in task.parameters())
    assert same(dict(method.state_dict()), before)


@pytest.mark.parametrize(("name", "settings"), [("large-loss", {**FOR_GOOD, "delta": 50.0}), ("role", {})])
def test_nothing_is_remembered_of_a_broken_image(
    name: str, settings: dict[str, Any], one_named: Dataset, quick: Config, tmp_path: Path
) -> None:
    assert one_named.images is not None
    paths = []
    for number, image in enumerate(one_named.images[:12]):
        paths.append(str(tmp_path / f"{number}.png"))
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(paths[-1])
    broken = [3, 7]
    for number in broken:
        content = bytearray(Path(paths[number]).read_bytes())
        content[60:-60] = bytes(len(content) - 120)
        Path(paths[number]).write_bytes(content)
    labels = one_named.labels[np.arange(12)]
    dataset = Dataset(labels.ids, paths, labels, {"train": np.arange(12)})
    config = replace(quick, method=name, settings=settings, val="none", batch_size=1, broken="skip", cache="none")
    run = train(dataset, config, tmp_path / "run")
    assert [record.images_left_out for record in run.history] == [2, 2]
    saved = tensors_of(run.folder)
    remembered = saved["method.weak"].any(1) if name == "large-loss" else saved["method.table.last"] > 0
    assert remembered.tolist() == [number not in broken for number in range(12)]


# ---- several processes


@pytest.mark.parametrize(("name", "settings"), [("large-loss", FOR_GOOD), ("role", {"expected_positives": 2})])
def test_what_is_saved_covers_the_images_of_both_processes(
    name: str, settings: dict[str, Any], one_named: Dataset, quick: Config, in_two: two_processes.Run, tmp_path: Path
) -> None:
    config = replace(quick, method=name, settings=settings, devices=2, batch_size=8, device="cpu")
    run = two_processes.trained(in_two, one_named, config, tmp_path / "run")
    known, truth = training_labels(one_named)
    saved, count = tensors_of(run.folder), len(known)
    shares = [np.concatenate(epoch_order(count, 8, [config.seed, 0, 2], rank, 2).batches) for rank in (0, 1)]
    assert sorted(np.concatenate(shares)) == list(range(count))
    for record in run.history:
        assert record.mean_loss.keys() == {"known_positives", "true_negatives", "hidden_positives"}
    assert (saved["diagnosis.first"] >= 0).all() and (saved["diagnosis.later"] >= 0).all()  # −1 where it was not seen
    if name == "large-loss":
        weak = unpacked(saved["method.weak"], known.shape[1]).numpy()
        for rank in (0, 1):
            for rows in epoch_order(count, 8, [config.seed, 0, 2], rank, 2).batches:
                assert weak[rows].sum() >= 3  # 2 % of 8 × 14 labels, rounded up
        counts = run.history[0].unknown
        assert counts.as_absent == (known == 0).sum()
        assert counts.as_absent_right == pytest.approx((truth[known == 0] < 0).mean())
        table = as_trained_on(csv_table.read(RunFolder(run.folder).weak_labels).labels, one_named)
        best = unpacked(tensors_of(run.folder, "best")["method.weak"], known.shape[1]).numpy()
        assert np.array_equal(table, best)
    else:
        assert (saved["method.table.last"] > 6).all()  # in the second epoch of six steps, whoever drew them
        torch.manual_seed(config.seed)
        create_model(Config(), known.shape[1], image_size=32)
        labels = Labels.from_signed(known)
        start = create_method(name, settings, labels).state_dict()
        key = next(key for key, value in start.items() if len(value.shape) > 1)
        moved = (saved[f"method.{key}"] != start[key]).flatten(1).any(1)
        assert moved.all()
