"""Images in files are decoded once for many runs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import trilabel as tl
from tests.support.comparisons import without_time
from trilabel.compare import Comparison, MethodRow, Spec
from trilabel.compare.image_cache import DecodedImageCache
from trilabel.compare.splits import TrainingSplits
from trilabel.data import images
from trilabel.data.dataset import Dataset
from trilabel.labels import Labels, simulate


@pytest.fixture
def in_files(small_scenes, tmp_path):
    """Some of the scenes as PNG files of 40 pixels."""
    rows = np.concatenate(
        [small_scenes.rows_of(name)[:count] for name, count in (("train", 24), ("val", 12), ("test", 12))]
    )
    few = small_scenes.take(rows)
    paths = [str(tmp_path / f"{name}.png") for name in few.ids]
    for path, image in zip(paths, few.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).resize((40, 40)).save(path)
    return Dataset(few.ids, paths, few.labels, few.splits)


@pytest.fixture
def decoded(monkeypatch):
    paths, decode = [], images.decode
    monkeypatch.setattr(images, "decode", lambda path, size: paths.append((str(path), size)) or decode(path, size))
    return paths


def test_files_are_decoded_once_for_each_size(in_files, base, tmp_path, decoded):
    rows = (MethodRow("a", base, grid={"lr": (1e-3, 1e-2)}), MethodRow("b", replace(base, method="role")))
    spec = Spec(rows, ("all", "keep-share=0.5"), seeds=(0, 1), search={"image_size": 16})
    cells = Comparison(in_files, spec, tmp_path / "out").run()
    assert len(cells) == 8
    assert sorted(decoded) == sorted((path, size) for path in in_files.paths for size in (16, 32))
    config = replace(base, method="role", seed=1)
    run = tl.train(in_files, config, tmp_path / "run")
    assert cells[5].metrics["mAP"] == tl.load(run).evaluate(in_files)["mAP"]


def test_nothing_is_kept_without_a_cache(in_files, base, tmp_path, decoded):
    Comparison(in_files, Spec((MethodRow("a", replace(base, cache="none")),)), tmp_path / "out").run()
    assert len(decoded) == len(in_files)  # each is used once, in training, choosing or scoring
    decoded.clear()
    Comparison(in_files, Spec((MethodRow("a", replace(base, cache="none", epochs=2)),)), tmp_path / "out").run()
    assert len(decoded) == 2 * (24 + 12) + 12


def test_a_run_of_images_that_are_not_kept_reads_its_own(in_files, base):
    splits = TrainingSplits(in_files)
    kept = DecodedImageCache(in_files, [in_files.rows_of("train"), in_files.rows_of("val")])
    ours, another = splits.of(base), splits.of(replace(base, val="test"))
    assert kept.for_training(ours, base).dataset.images is not None
    assert kept.for_training(another, base) is another


@pytest.mark.parametrize("cache", ["auto", "none"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_broken_images_are_left_out_as_in_single_runs(in_files, base, tmp_path, split, cache):
    broken = Path(in_files.paths[int(in_files.rows_of(split)[3])])
    broken.write_bytes(broken.read_bytes()[:100])
    config = replace(base, broken="skip", val="0.25", cache=cache)
    spec = Spec((MethodRow("a", config),), ("keep-share=0.5",))
    (cell,) = Comparison(in_files, spec, tmp_path / "out").run()
    rows = in_files.with_split_off("held-out", 0.25).rows_of("train")
    hidden = in_files.with_labels(simulate.apply_to_rows(in_files.labels, rows, "keep-share=0.5"))
    run = tl.train(hidden, config, tmp_path / "run")
    assert (cell.validation, cell.known) == (run.metrics["mAP"], Labels.load(run.folder / "labels.npz").known)
    assert cell.metrics["mAP"] == tl.load(run).evaluate(in_files, broken="skip")["mAP"]
    assert "--broken skip" in cell.command.splitlines()[1]
    stopped = Comparison(in_files, Spec((MethodRow("a", base),)), tmp_path / "stopped")
    assert stopped.run() == [] and broken.name in stopped.failures()[0][2]


@pytest.mark.parametrize("cache", ["auto", "none"])
def test_images_of_splits_that_are_not_used_may_be_missing(in_files, base, tmp_path, decoded, cache):
    """One of a split that no run uses, and one that only the second row uses."""
    rows = in_files.rows_of("train")
    splits = {**in_files.splits, "train": rows[:16], "other": rows[16:20], "unused": rows[20:]}
    data = replace(in_files, splits=splits)
    spec = Spec((MethodRow("a", replace(base, cache=cache)),), ("keep-share=0.5",))
    whole = Comparison(data, spec, tmp_path / "whole").run()
    decoded.clear()
    Path(data.paths[int(splits["unused"][0])]).unlink()
    cells = Comparison(data, spec, tmp_path / "out").run()
    assert without_time(cells) == without_time(whole)
    assert {path for path, _ in decoded} == {
        data.paths[row] for name in ("train", "val", "test") for row in splits[name]
    }
    missing = Path(data.paths[int(splits["other"][0])])
    missing.unlink()
    both = Comparison(
        data,
        replace(spec, rows=(*spec.rows, MethodRow("b", replace(base, cache=cache, val="other")))),
        tmp_path / "both",
    )
    assert without_time(both.run()) == without_time(whole) and missing.name in both.failures()[0][2]
