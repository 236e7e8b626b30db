"""Runs in two processes: stopped and resumed they are the same, and each image is used once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.support import two_processes
from tests.support.fixed_targets import with_targets
from tests.support.runs import killed_at_batch, same, tensors_of, without_times
from tests.support.two_processes import Run, Training
from trilabel import load, train
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS
from trilabel.methods.base import PureLoss
from trilabel.training.batches import epoch_order
from trilabel.training.run_folder import RunFolder
from trilabel.training.strategies import STRATEGIES

IMAGES = 21  # with 2 × 4 in a step: 3 steps, and in the last one 3 images and 2


@pytest.fixture(scope="module")
def holes(small_scenes: Dataset) -> Dataset:
    """Few images, half of their labels hidden; the truth is known."""
    assert small_scenes.images is not None
    rows = np.concatenate((small_scenes.rows_of("train")[:IMAGES], small_scenes.rows_of("val")[:5]))
    truth = small_scenes.labels[rows]
    hidden = np.random.default_rng(0).random(truth.shape) < 0.5
    hidden[IMAGES:] = False
    labels = Labels.from_signed(np.where(hidden, 0, truth.to_signed()), classes=truth.classes, ids=truth.ids)
    splits = {"train": np.arange(IMAGES), "val": np.arange(IMAGES, len(rows))}
    return Dataset(truth.ids, None, labels, splits, images=small_scenes.images[rows], truth=truth)


@pytest.fixture
def config() -> Config:
    return Config("known-only", image_size=32, epochs=2, batch_size=4, lr=3e-3, workers=0, device="cpu", devices=2)


def method(name: str, head: str = "gap", **settings: Any) -> dict[str, Any]:
    return {"method": name, "head": head, "settings": settings}


def relabel(strategy: str, **settings: Any) -> dict[str, Any]:
    return {"relabel": strategy, "relabel_settings": {"epochs": "1,2", **settings}}


SMALL_HEAD: dict[str, Any] = {"head_settings": {"channels": 8, "size": 4, "pool": 1}}
# What is changed in the configuration, and in which step it is stopped (three make an epoch).
CASES: dict[str, tuple[dict[str, Any], int]] = {
    "known-only": (method("known-only"), 2),
    "posterior": (method("posterior", positives_known=0.5, negatives_known=0.2), 4),
    "posterior, fit": (method("posterior", rates="fit", fit_epochs=2) | {"epochs": 1}, 5),  # in the fit's last epoch
    "expected-positive": (method("expected-positive"), 5),
    "role": (method("role"), 5),
    "role factorized": (
        method("role", estimator="factorized", rank=3) | {"stages": "linear-then-fine-tune", "linear_epochs": 1},
        5,
    ),
    "role network": (method("role", estimator="network", hidden=4), 4),
    "large-loss": (method("large-loss", delta=5), 5),
    "large-loss for good": (method("large-loss", mode="correct-for-good", delta=5), 5),
    "splc": (method("splc"), 5),
    "selective": (method("selective", prior_epochs=2) | {"epochs": 1}, 5),  # in the warm-up's last epoch
    "selective, after its warm-up": (method("selective", prior_epochs=1) | {"epochs": 1}, 3),
    "self-training": (method("self-training", "saliency"), 4),
    "imcl": (method("imcl", memory=6, warm_up=0), 2),  # before its ratios and images are combined
    "imcl without memory": (method("imcl", warm_up=1) | {"ema": 0.9}, 5),  # after its warm-up
    "imcl, similar images fixed": (method("imcl", memory=6, warm_up=1, similarity="fixed"), 5),
    "latent-noise": (method("latent-noise", "latent-noise"), 4),
    "label-rnn": (method("label-rnn", "label-rnn"), 4),
    "semantic-transfer": (method("semantic-transfer", "semantic", start=0, memory=6) | SMALL_HEAD, 5),
    "heterogeneous-transfer": (
        method("heterogeneous-transfer", "semantic", start=0, every=1, prototypes=2) | SMALL_HEAD,
        5,
    ),
    "semantic-blending": (method("semantic-blending", "semantic", start=0, every=1, prototypes=2) | SMALL_HEAD, 4),
    **{f"relabel {name}": (relabel(name), 5) for name in STRATEGIES if name != "ensemble"},
    "relabel proportion, linear": (relabel("proportion") | {"stages": "linear"}, 4),
    "taught": (method("taught"), 4),
    "two rounds, stopped in the first": (method("assume-negative") | {"rounds": 2}, 2),
    "two rounds, stopped in the second": (method("assume-negative") | {"rounds": 2, "teacher_views": "crops"}, 9),
    "accumulated": ({"accumulate": 2}, 2),
}


def test_every_method_and_strategy_is_among_the_cases() -> None:
    """A pure loss is a function of logits and labels, with nothing to resume: known-only stands for all."""
    methods = {changes["method"] for changes, _ in CASES.values() if "method" in changes}
    assert all(METHODS[name].step is PureLoss.step for name in METHODS.keys() - methods)
    strategies = {changes["relabel"] for changes, _ in CASES.values() if "relabel" in changes}
    assert strategies == STRATEGIES.keys() - {"ensemble"}  # which needs other runs, see below


@pytest.mark.parametrize("name", CASES)
def test_stopped_and_resumed_it_is_the_run_that_was_not_stopped(
    name: str, in_two: Run, holes: Dataset, config: Config, tmp_path: Path
) -> None:
    changes, stop_at = CASES[name]
    changes = with_files(changes, holes, tmp_path)
    check_resumed(in_two, holes, replace(config, **changes), tmp_path, stop_at)


def with_files(changes: dict[str, Any], dataset: Dataset, folder: Path) -> dict[str, Any]:
    """With the files that the method cannot do without."""
    labels = dataset.labels[dataset.rows_of("train")]
    name, settings = changes.get("method", ""), changes.get("settings", {})
    return changes | {"settings": with_targets(name, settings, labels, folder)}


def test_an_ensemble_resumes_too(in_two: Run, holes: Dataset, config: Config, tmp_path: Path) -> None:
    member = train(holes, replace(config, devices=1, epochs=1), tmp_path / "member")
    check_resumed(in_two, holes, replace(config, **relabel("ensemble", runs=str(member.folder))), tmp_path, 5)


def test_one_that_is_stopped_while_relabelling_stops_both(
    in_two: Run, holes: Dataset, config: Config, tmp_path: Path
) -> None:
    stopped = Training(holes, replace(config, batch_size=2, **relabel("score")), tmp_path / "run")
    assert in_two(two_processes.train_stopped_while_relabelling, stopped) == [("stopped", 2), ("stopped", 2)]


# ---- with another number of processes


def labels_counted(run: Any) -> list[int]:
    """In each epoch; hidden labels are among the unknown ones."""
    kinds = ("known_positives", "known_negatives", "unknown")
    return [sum(sum(record.probabilities[kind]) for kind in kinds) for record in run.history]


def seen_once(run: Any, dataset: Dataset) -> bool:
    """Whether the labels of all training images were counted once in each epoch, and all were noted."""
    counts = labels_counted(run)
    noted = tensors_of(run.folder)["diagnosis.first"]
    followed = [each.image for record in run.history for each in record.examples]
    same = len(set(followed)) * len(run.history) == len(followed) > 0
    return counts == [IMAGES * len(dataset.classes)] * len(counts) and bool((noted >= 0).all()) and same


@pytest.mark.parametrize("name", ["role", "large-loss for good", "selective", "imcl", "accumulated"])
def test_one_process_takes_over_from_two(
    name: str, in_two: Run, holes: Dataset, config: Config, tmp_path: Path
) -> None:
    changes, stop_at = CASES[name]
    config = replace(config, **changes)
    stopped = Training(holes, config, tmp_path / "run", stop_at=stop_at)
    assert in_two(two_processes.train, stopped) == ["stopped", "stopped"]
    run = train(holes, replace(config, devices=1), tmp_path / "run", resume=True)
    assert seen_once(run, holes)
    if name == "selective":  # the sums of the warm-up are over all images, whoever summed
        whole = two_processes.trained(in_two, holes, config, tmp_path / "whole")
        near = [tensors_of(folder)["method.priors"] for folder in (run.folder, whole.folder)]
        assert near[0].numpy() == pytest.approx(near[1].numpy(), abs=0.05) and near[0].any()


def test_two_processes_take_over_from_one(in_two: Run, holes: Dataset, config: Config, tmp_path: Path) -> None:
    config = replace(config, method="role", save_minutes=0.0)
    with killed_at_batch(4):  # of six that one process makes
        train(holes, replace(config, devices=1), tmp_path / "run")
    assert seen_once(two_processes.trained(in_two, holes, config, tmp_path / "run", resume=True), holes)


# ---- as one process with batches of the same size


def linear(config: Config, **changes: Any) -> Config:
    """Nothing at random, and no batch norm: only the loss can differ."""
    return replace(config, stages="linear", optimizer="sgd", linear_lr=0.1, **changes)


# The loss is a mean over images, so that two processes with half of the batch each come to the same.
EQUAL = {
    "known-only": method("known-only", normalize="all"),
    "known-only per image": method("known-only", normalize="image"),
    "known-only by share": method("known-only", normalize="share"),
    "assume-negative": method("assume-negative"),
    "posterior": method("posterior", positives_known=0.5, negatives_known=0.2),
    "posterior, one of k": method("posterior", rates="one-of-k"),
    "focal": method("focal"),
    "asymmetric": method("asymmetric"),
    "hill": method("hill"),
    "splc": method("splc"),
    "self-training": method("self-training"),
    "ranking": method("ranking"),
    "latent-noise": method("latent-noise", "latent-noise"),
    "taught": method("taught"),
    "two rounds": method("assume-negative") | {"rounds": 2},
}
# The loss compares or counts within a batch, which is that of a process.
BY_BATCH = {
    "known-only per batch": method("known-only", normalize="batch"),
    "expected-positive": method("expected-positive", strength=1000.0),
    "role": method("role"),
    "large-loss": method("large-loss", delta=20),
    "selective": method("selective", prior_epochs=0, top_k=1),
    "imcl": method("imcl", warm_up=0),
    "label-rnn": method("label-rnn", "label-rnn"),
    "semantic-transfer": method("semantic-transfer", "semantic", start=0) | SMALL_HEAD,
    "heterogeneous-transfer": method("heterogeneous-transfer", "semantic", start=0) | SMALL_HEAD,
    "semantic-blending": method("semantic-blending", "semantic", start=0) | SMALL_HEAD,
}


def test_each_method_is_either_equal_or_by_batch() -> None:
    assert {changes["method"] for changes in (EQUAL | BY_BATCH).values()} == METHODS.keys()


@pytest.mark.parametrize("name", [*EQUAL, *BY_BATCH])
def test_two_processes_learn_as_one_with_the_same_batches(
    name: str, in_two: Run, holes: Dataset, config: Config, tmp_path: Path
) -> None:
    """Equal where the arithmetic allows it, also where the last batch is shared out unevenly; else nearly."""
    changes = with_files((EQUAL | BY_BATCH)[name], holes, tmp_path)
    config = replace(config, epochs=1 if name in EQUAL else 2)  # some differ in the second epoch only
    two = two_processes.trained(in_two, holes, linear(config, **changes), tmp_path / "two")
    one = train(holes, replace(two.config, devices=1, batch_size=2 * config.batch_size), tmp_path / "one")
    apart = [
        (tensor - tensors_of(one.folder)[key]).abs().max().item()
        for key, tensor in tensors_of(two.folder).items()
        if key.startswith("model.head.") and tensor.is_floating_point()
    ]
    losses = [[record.loss for record in run.history] for run in (one, two)]
    assert (max(apart) < 1e-5) == (name in EQUAL)
    assert losses[1] == pytest.approx(losses[0], rel=1e-5 if name in EQUAL else 0.3)
    if name in EQUAL:
        assert two.metrics["mAP"] == pytest.approx(one.metrics["mAP"], abs=1e-5)
    assert two.metrics["images"] == one.metrics["images"] == 5


# ---- broken images, and how many are scored


def in_files(dataset: Dataset, folder: Path, broken: list[int]) -> Dataset:
    """The same images as files, some of which seem whole until they are decoded."""
    assert dataset.images is not None
    paths = [str(folder / f"{number}.png") for number in range(len(dataset.ids))]
    for number, (path, image) in enumerate(zip(paths, dataset.images, strict=True)):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
        if number in broken:
            content = Path(path).read_bytes()
            Path(path).write_bytes(content[:60] + bytes(len(content) - 120) + content[-60:])
    return replace(dataset, images=None, paths=paths)


def test_a_process_may_have_nothing_but_broken_images(
    in_two: Run, holes: Dataset, config: Config, tmp_path: Path
) -> None:
    """It waits for nobody and nobody for it, also while the other saves after each step; all are counted."""
    config = replace(
        config, method="self-training", epochs=2, batch_size=2, cache="none", broken="skip", save_minutes=0.0
    )
    of_second = np.concatenate(epoch_order(IMAGES, 2, (config.seed, 0, 1), 1, 2).batches)
    dataset = in_files(holes, tmp_path, of_second.tolist())
    run = two_processes.trained(in_two, dataset, config, tmp_path / "run")
    assert [record.images_left_out for record in run.history] == [len(of_second)] * 2
    counts = labels_counted(run)
    assert counts == [(IMAGES - len(of_second)) * len(holes.classes)] * 2
    assert run.history[0].parts.keys() == {"known", "pseudo"}
    stopped = Training(dataset, config, tmp_path / "parts", stop_at=3)
    assert in_two(two_processes.train, stopped) == ["stopped", "stopped"]
    resumed = two_processes.trained(in_two, dataset, config, tmp_path / "parts", resume=True)
    assert same(tensors_of(resumed.folder), tensors_of(run.folder))
    assert without_times(resumed.history) == without_times(run.history)


@pytest.mark.parametrize("head", ["gap", "saliency"])
def test_a_process_may_have_no_feature_left(
    in_two: Run, holes: Dataset, config: Config, tmp_path: Path, head: str
) -> None:
    """Of 17 images in steps of 2 × 4 the last step has one, in the first process."""
    fewer = replace(holes, splits={"train": np.arange(17), "val": holes.splits["val"]})
    run = two_processes.trained(in_two, fewer, replace(config, stages="linear", head=head), tmp_path / "run")
    assert len(run.history) == 2 and all(np.isfinite(record.loss) for record in run.history)


def test_if_all_are_broken_both_say_so(in_two: Run, holes: Dataset, config: Config, tmp_path: Path) -> None:
    dataset = in_files(holes, tmp_path, list(range(IMAGES)))
    config = replace(config, cache="none", broken="skip")
    with pytest.raises(TrilabelError, match="none of the training images could be read"):
        in_two(two_processes.train, Training(dataset, config, tmp_path / "run"))


@pytest.mark.slow
def test_three_processes_score_every_image_once(holes: Dataset, config: Config, tmp_path: Path) -> None:
    run = train(holes, replace(config, devices=3, batch_size=1), tmp_path / "three")
    assert run.metrics["images"] == 5 and seen_once(run, holes)
    assert load(run).evaluate(holes, "val")["mAP"] == pytest.approx(run.metrics["mAP"], abs=1e-9)


def check_resumed(in_two: Run, dataset: Dataset, config: Config, folder: Path, stop_at: int) -> None:
    whole, parts = folder / "whole", folder / "parts"
    assert in_two(two_processes.train, Training(dataset, config, whole)) == ["done", "done"]
    assert in_two(two_processes.train, Training(dataset, config, parts, stop_at=stop_at)) == ["stopped", "stopped"]
    # Every step saves: being saved must not change a run either.
    saving = replace(config, save_minutes=0.0)
    assert in_two(two_processes.train, Training(dataset, saving, parts, resume=True)) == ["done", "done"]
    for name in ("last", "best"):
        assert same(tensors_of(parts, name), tensors_of(whole, name)), name
    assert without_times(RunFolder(parts).read_history()) == without_times(RunFolder(whole).read_history())
