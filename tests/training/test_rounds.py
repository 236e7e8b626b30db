"""Two rounds: the first is a run of its own, its scores become targets, and the last learns from these."""

import html
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.support.fixed_targets import dense
from tests.support.runs import copied_at_batches, same, tensors_of, without_times
from trilabel import metrics
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.loading import load
from trilabel.labels import Labels, simulate
from trilabel.labels.targets import Targets
from trilabel.report.page import write_report
from trilabel.training import rounds
from trilabel.training.api import train
from trilabel.training.run_folder import Run, RunFolder
from trilabel.training.splits import split_for_training
from trilabel.training.teacher_scores import Scored, teacher_scores

TWICE = Config(method="assume-negative", image_size=32, epochs=2, batch_size=16, lr=3e-3, workers=0, rounds=2)
SAVING = replace(TWICE, save_minutes=0.0)  # after every step
# Batches that ImageSource gives: 6 of training and 2 of validation an epoch, 3 of scoring with TWICE as many images.
KILLED_AT = (12, 18, 34)


@pytest.fixture(scope="module")
def one_named(small_scenes: Dataset) -> Dataset:
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "single-positive", 0))


@pytest.fixture(scope="module")
def whole(one_named: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two rounds that nobody stopped; beside it, what would be left if it had been killed before these batches."""
    folder = tmp_path_factory.mktemp("whole")
    with copied_at_batches(folder / "run", {batch: folder / str(batch) for batch in KILLED_AT}):
        return train(one_named, SAVING, folder / "run")


def targets_in(folder: Path, dataset: Dataset) -> np.ndarray:
    """Images × classes."""
    labels = dataset.labels[dataset.rows_of("train")]
    return dense(Targets.load_for(folder / "targets.npz", labels))


def test_rates_may_come_from_validation_images_in_full(small_scenes: Dataset, tmp_path: Path) -> None:
    rows = small_scenes.rows_of("train")
    tags = small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "tags=0.3", 0))
    config = replace(TWICE, method="posterior")
    rounds.check_rounds(split_for_training(tags, config), config, RunFolder(tmp_path))
    with pytest.raises(TrilabelError, match="positives alone"):
        config = replace(config, val="none")
        rounds.check_rounds(split_for_training(tags, config), config, RunFolder(tmp_path))


def test_the_first_round_is_the_run_without_a_second(one_named: Dataset, whole: Run, tmp_path: Path) -> None:
    run = whole
    alone = train(one_named, replace(SAVING, rounds=1), tmp_path / "alone")
    first = RunFolder(run.folder / "round-1").run()
    assert first.config == alone.config and run.config == SAVING
    assert without_times(first.history) == without_times(alone.history)
    assert same(tensors_of(first.folder, "best"), tensors_of(alone.folder, "best"))
    assert "unknown_target" not in first.history[0].parts and "unknown_target" in run.history[0].parts
    assert run.history[0].unknown is not None and run.history[0].unknown.left_out == 0


def test_targets_are_the_posterior_of_the_first_models_scores(one_named: Dataset, tmp_path: Path) -> None:
    """Its scores are those of image and mirror image; a class has one number for rate and calibration."""
    config = replace(TWICE, method="posterior", settings={"rates": "given", "positives_known": 0.4})
    run = train(one_named, config, tmp_path / "run")
    model, rows = load(run.folder / "round-1"), one_named.rows_of("train")
    model.decisions = None  # teachers teach what they believe, not what they would decide
    assert one_named.images is not None
    images = one_named.images[torch.from_numpy(rows)].permute(0, 2, 3, 1).numpy()
    views = [model.predict(view).scores for view in (images, np.ascontiguousarray(images[:, :, ::-1]))]
    logits = np.mean([np.log(view) - np.log1p(-view) for view in views], axis=0)
    unknown = one_named.labels[rows].to_signed() == 0
    found = targets_in(run.folder, one_named)
    odds = np.log(found.clip(1e-6)) - np.log1p(-found.clip(max=1 - 1e-4))
    moved = np.where(unknown & (found > 0), odds - logits, np.nan)  # log factor, and the bias of each class
    assert np.nanmax(moved, axis=0) == pytest.approx(np.nanmin(moved, axis=0), abs=0.02)
    named = one_named.labels[rows].counts_per_class()[0]
    often = named >= 10
    assert found.sum(0)[often] == pytest.approx(named[often] * (1 / 0.4 - 1), rel=0.35)  # as its labels say
    assert not found[~unknown].any()


def test_the_summary_says_what_the_targets_are_worth(one_named: Dataset, whole: Run) -> None:
    summary = json.loads((whole.folder / "targets.json").read_text())
    found, rows = targets_in(whole.folder, one_named), one_named.rows_of("train")
    assert one_named.truth is not None
    hidden = np.where(one_named.labels[rows].to_signed() == 0, one_named.truth[rows].to_signed(), 0)
    assert summary["images"] == 96 and summary["targets"] == (found > 0).sum()
    assert summary["above_half"] == (found > 0.5).sum()
    assert summary["hidden_positives"] == (hidden > 0).sum()
    assert summary["average_precision"] == pytest.approx(np.nanmean(metrics.average_precision(found, hidden)), abs=0.01)
    together = metrics.average_precision(found.reshape(-1, 1), hidden.reshape(-1, 1))[0]
    assert summary["average_precision_of_all"] == pytest.approx(together, abs=0.01)
    if summary["above_half"]:
        assert summary["precision_above_half"] == pytest.approx((hidden[found > 0.5] > 0).mean())
    gaps = []
    for low in np.arange(20) / 20:
        inside = (found >= max(low, 0.01)) & (found < low + 0.05)
        gaps.append(abs((found[inside] - (hidden[inside] > 0)).sum()))
    assert summary["calibration_error"] == pytest.approx(sum(gaps) / summary["targets"], abs=0.01)


def test_no_target_at_all_is_a_result_too(one_named: Dataset, tmp_path: Path) -> None:
    """Where every present label is known, an unknown one is absent."""
    config = replace(TWICE, method="posterior", settings={"rates": "given", "positives_known": 1.0}, epochs=1)
    run = train(one_named, config, tmp_path / "run")
    summary = json.loads((run.folder / "targets.json").read_text())
    assert summary["targets"] == summary["above_half"] == summary["expected_per_image"] == 0
    assert "calibration_error" not in summary and not targets_in(run.folder, one_named).any()
    assert len(run.history) == 1


@contextmanager
def no_first_round() -> Iterator[None]:
    """Whoever trains a first round or makes targets inside fails."""

    def fails(*arguments: Any) -> None:
        raise AssertionError("made again")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rounds, "make_targets", fails)
        yield


@pytest.mark.parametrize("batch", KILLED_AT)
def test_killed_anywhere_and_resumed_is_the_run_that_was_not(
    one_named: Dataset, whole: Run, tmp_path: Path, batch: int
) -> None:
    shutil.copytree(whole.folder.parent / str(batch), tmp_path / "parts")
    made = (tmp_path / "parts" / "targets.npz").is_file()
    with no_first_round() if made else nullcontext():
        resumed = train(one_named, TWICE, tmp_path / "parts", resume=True)
    assert without_times(resumed.history) == without_times(whole.history)
    assert same(tensors_of(resumed.folder, "best"), tensors_of(whole.folder, "best"))
    assert (tmp_path / "parts" / "targets.npz").read_bytes() == (whole.folder / "targets.npz").read_bytes()


def test_a_finished_run_may_be_moved_and_trained_longer_without_making_anything_again(
    one_named: Dataset, whole: Run, tmp_path: Path
) -> None:
    shutil.copytree(whole.folder, tmp_path / "moved")
    with no_first_round():
        longer = train(one_named, replace(TWICE, epochs=3), tmp_path / "moved", resume=True)
    assert len(longer.history) == 3 and longer.config.rounds == 2
    assert len(RunFolder(longer.folder / "round-1").read_history()) == 2


def test_it_is_overwritten_whole_and_not_by_accident(one_named: Dataset, tmp_path: Path) -> None:
    train(one_named, replace(TWICE, folds=2, epochs=1), tmp_path / "run")
    assert (tmp_path / "run" / "round-1" / "fold-2").is_dir()
    with pytest.raises(TrilabelError, match="this folder exists"):
        train(one_named, TWICE, tmp_path / "run")
    with pytest.raises(TrilabelError, match=r"started with other settings \(folds\)"):
        train(one_named, replace(TWICE, epochs=1), tmp_path / "run", resume=True)
    train(one_named, replace(TWICE, epochs=1), tmp_path / "run", overwrite=True)
    assert not (tmp_path / "run" / "round-1" / "fold-2").exists()


def test_what_cannot_work_is_refused_before_a_run_is_replaced(one_named: Dataset, whole: Run, tmp_path: Path) -> None:
    train(one_named, replace(TWICE, rounds=1, epochs=1), tmp_path / "run")
    before = (tmp_path / "run" / "config.json").read_bytes()
    taught = {"rounds": 1, "teachers": (str(whole.folder),)}
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"method": "known-only"}, "known-only learns from known labels alone"),
        ({"teachers": (str(tmp_path / "none"),)}, "none: not a run folder"),
        ({"folds": 97}, "--folds 97, but there are 96 training images"),
        ({"rounds": 1, "folds": 2}, "--folds 2 is for a first round; pass --rounds 2"),
        ({"head": "nothing"}, "no head named"),
        (taught | {"method": "auto", "head": "nothing"}, "no head named"),
        (taught | {"method": "posterior", "settings": {"nonsense": 3}}, "no setting 'nonsense'"),
        (taught | {"method": "auto", "settings": {"nonsense": 3}}, "no setting 'nonsense'"),
        (taught, "assume-negative: with --teachers alone only taught is trained. Pass --method auto"),
    ]
    for changes, message in wrong:
        with pytest.raises(TrilabelError, match=message):
            train(one_named, replace(TWICE, **changes), tmp_path / "run", overwrite=True)
    missing = replace(one_named, images=None, paths=[f"{name}.png" for name in one_named.ids])
    with pytest.raises(TrilabelError, match="can be read"):
        train(missing, TWICE, tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / "config.json").read_bytes() == before
    with pytest.raises(TrilabelError, match="rounds must be at most 2"):
        replace(TWICE, rounds=3)


def test_any_runs_teach_alone_and_beside_a_first_round(
    one_named: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    once = replace(TWICE, rounds=1, epochs=1)
    kinds: dict[str, dict[str, Any]] = {"posterior": {}, "role": {"image_size": 24}, "hill": {}, "large-loss": {}}
    runs = [train(one_named, replace(once, method=name, **other), tmp_path / name) for name, other in kinds.items()]
    teachers = tuple(str(run.folder) for run in runs)
    caplog.set_level("INFO")
    caplog.clear()
    alone = train(one_named, replace(once, method="auto", teachers=teachers), tmp_path / "alone")
    assert not (alone.folder / "round-1").exists() and len(alone.history) == 1
    assert [line for line in caplog.messages if line.startswith("method:")] == [
        "method: taught, by the runs of --teachers; rates of known labels as posterior finds them"
    ]
    beside = train(one_named, replace(once, rounds=2, teachers=teachers), tmp_path / "beside")
    assert (beside.folder / "round-1").is_dir()
    assert not np.array_equal(targets_in(alone.folder, one_named), targets_in(beside.folder, one_named))
    assert "average precision of hidden positives" in caplog.text and "round 1 of 2: assume-negative" in caplog.text


def test_runs_that_teach_need_no_rates_and_take_given_ones(
    one_named: Dataset, whole: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of positives alone, several in an image; and what is advised then works."""
    tags = one_named.with_labels(simulate.apply_to_rows(one_named.truth, one_named.rows_of("train"), "tags=0.3", 0))
    tags = replace(tags, splits={"train": tags.rows_of("train")})
    config = replace(TWICE, method="auto", rounds=1, epochs=1, val="none", teachers=(str(whole.folder),))
    caplog.set_level("INFO")
    run = train(tags, config, tmp_path / "open")
    found = json.loads((run.folder / "targets.json").read_text())
    assert "is taken to say nothing" in found["note"] and "rates" not in found
    assert "Use --method posterior --set rates=given positives_known=0.3" in found["note"]
    settings = {"rates": "given", "positives_known": 0.3}
    for method in ("auto", "posterior"):
        run = train(tags, replace(config, method=method, settings=settings), tmp_path / method)
        assert (run.config.method, run.config.settings) == ("posterior", settings)
        found = json.loads((run.folder / "targets.json").read_text())
        assert found["rates"] == {"positives": [0.3] * 14, "negatives": [0.0] * 14}
        assert "present labels are known 0.30 of the time" in found["note"]
    resumed = train(tags, replace(config, settings=settings, epochs=2), tmp_path / "auto", resume=True)
    assert len(resumed.history) == 2 and resumed.config.method == "posterior"
    page = made_page(resumed.folder)
    assert "Method taught on" in page and "taught scored unknown labels like this" in page


def made_page(run: Path) -> str:
    write_report([run])
    return (run / "report.html").read_text(encoding="utf-8")


def test_rates_that_a_first_round_fitted_are_told(small_scenes: Dataset, tmp_path: Path) -> None:
    rows = small_scenes.rows_of("train")
    half = small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "keep-share=0.5", 0))
    config = replace(TWICE, method="posterior", settings={"rates": "fit", "fit_epochs": 1}, epochs=1, val="none")
    run = train(half, config, tmp_path / "run")
    found = json.loads((run.folder / "targets.json").read_text())
    assert all(0 < rate < 1 for rates in found["rates"].values() for rate in rates)
    low, high = min(found["rates"]["positives"]), max(found["rates"]["positives"])
    assert f"as the first round fitted them: present labels are known {low:.2f} to {high:.2f} (mean" in found["note"]
    assert found["note"][1:] in html.unescape(made_page(run.folder))


def test_crops_have_the_level_of_whole_images(one_named: Dataset, whole: Run, tmp_path: Path) -> None:
    crops = train(one_named, replace(TWICE, teacher_views="crops"), tmp_path / "crops")
    sums = [targets_in(run.folder, one_named).sum(0) for run in (whole, crops)]
    assert not np.array_equal(*sums)
    assert sums[1].sum() == pytest.approx(sums[0].sum(), rel=0.1)


def test_with_folds_no_image_is_scored_by_a_run_that_learned_from_it(
    one_named: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def noted(fabric: Any, split: Any, config: Config, parts: Any) -> Iterator[Scored]:
        asked.extend(parts)
        return teacher_scores(fabric, split, config, parts)

    monkeypatch.setattr("trilabel.training.teaching.teacher_scores", noted)
    run = train(one_named, replace(TWICE, epochs=1, folds=3), tmp_path / "run")
    assert sorted(row for part in asked for row in part.rows) == one_named.rows_of("train").tolist()
    for number, part in enumerate(asked, 1):
        assert part.runs == [run.folder / "round-1" / f"fold-{number}"]
        learned = Labels.load(part.runs[0] / "labels.npz").ids
        scored = {one_named.ids[row] for row in part.rows}
        assert len(learned) + len(scored) == 96 and not scored & set(learned)
    assert len(Labels.load(run.folder / "labels.npz")) == 96


@pytest.mark.parametrize("stages", ["linear", "linear-then-fine-tune"])
def test_a_linear_stage_has_rounds_too(one_named: Dataset, tmp_path: Path, stages: Any) -> None:
    run = train(one_named, replace(TWICE, stages=stages, linear_epochs=1, epochs=1), tmp_path / "run")
    first = RunFolder(run.folder / "round-1").read_history()
    assert [record.stage for record in run.history] == [record.stage for record in first]


def test_the_last_round_decides_by_the_rates_of_its_targets(small_scenes: Dataset, tmp_path: Path) -> None:
    signs = small_scenes.labels.to_signed()
    known = np.random.default_rng(0).random(signs.shape) < np.where(signs > 0, 0.75, 0.25)
    labels = Labels.from_signed(np.where(known, signs, 0), small_scenes.labels.classes, small_scenes.labels.ids)
    settings = {"positives_known": 0.75, "negatives_known": 0.25}
    config = replace(TWICE, method="posterior", settings=settings, stages="linear", epochs=1)
    run = train(small_scenes.with_labels(labels), config, tmp_path / "run")
    rates = Targets.load_for(run.folder / "targets.npz", Labels.load(run.folder / "labels.npz")).rates
    assert rates is not None and (rates.positives == 0.75).all() and (rates.negatives == 0.25).all()
    assert "weigh the more" in load(run).decisions.basis


@pytest.mark.parametrize("cache", ["none", "memory"])
def test_images_that_cannot_be_read_are_left_out_of_all_rounds(one_named: Dataset, tmp_path: Path, cache: Any) -> None:
    """One that is missing, and one that seems whole until it is decoded."""
    assert one_named.images is not None
    paths = [str(tmp_path / f"{number}.png") for number in range(24)]
    for path, image in zip(paths, one_named.images, strict=False):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(path)
    content = Path(paths[5]).read_bytes()
    Path(paths[5]).write_bytes(content[:60] + bytes(len(content) - 120) + content[-60:])
    Path(paths[9]).unlink()
    labels = one_named.labels[np.arange(24)]
    dataset = Dataset(labels.ids, paths, labels, {"train": np.arange(24)})
    config = replace(TWICE, val="none", broken="skip", cache=cache)
    run = train(dataset, config, tmp_path / "run")
    left = len(Labels.load(run.folder / "labels.npz"))
    assert left == (23 if cache == "none" else 22)
    resumed = train(dataset, replace(config, epochs=3), tmp_path / "run", resume=True)
    assert len(resumed.history) == 3
    with pytest.raises(TrilabelError, match="leave such images out with --broken skip"):
        train(dataset, replace(config, broken="stop"), tmp_path / "stop")


def test_where_it_stops_it_names_the_folder_to_resume(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    assert run.to_resume == run.first_round().to_resume == run.first_round(2).to_resume == tmp_path / "run"
