"""metrics.jsonl: appended to, never behind the checkpoint, and as cheap after many epochs as after few."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.runs import without_times
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.training import history
from trilabel.training.api import train
from trilabel.training.record import EpochRecord, Relabelled, UnknownTargets
from trilabel.training.run_folder import RunFolder

RECORDS = [
    EpochRecord("linear", 1, 0.5, {"a": 0.25}, val={"mAP": 0.5, "per_class_ap": [0.25, None]}),
    EpochRecord("linear", 2, 0.25, unknown=UnknownTargets(1, 2, 3), relabelled=Relabelled(1, 2, 0.5)),
    EpochRecord("grüße", 1, 0.125),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for number, record in enumerate(RECORDS):
        history.append(tmp_path / "metrics.jsonl", record, number)
    return tmp_path / "metrics.jsonl"


def test_records_come_back_and_half_a_line_does_not_count(file: Path) -> None:
    assert history.read(file) == RECORDS
    whole = file.read_bytes()
    for half in (b"{", b'{"stage": "linear", "ep', whole[:-1].splitlines()[-1]):
        file.write_bytes(whole + half)
        assert history.read(file) == RECORDS
    assert history.read(file.with_name("none")) == []


def test_a_line_is_on_disk_when_it_was_appended(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    history.append(file, RECORDS[0], 3)
    assert synced == [file.stat().st_size]


def test_what_a_checkpoint_does_not_count_is_cut_off(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    with file.open("ab") as more:
        more.write(b'{"stage": ')
    for number in (3, 2, 1, 0):
        history.check(file, number)
        history.cut(file, number)
        assert file.read_bytes() == b"".join(lines[:number])
    history.cut(file.with_name("none"), 0)
    with pytest.raises(TrilabelError, match=r"metrics\.jsonl: 0 epochs, but the checkpoint is from after epoch 2"):
        history.check(file, 2)


def test_a_file_that_is_gone_is_not_begun_in_the_middle(file: Path) -> None:
    file.unlink()
    with pytest.raises(FileNotFoundError):
        history.append(file, RECORDS[0], 3)
    assert not file.exists()


@pytest.mark.parametrize(
    "line",
    [
        *(b"", b"null", b"[]", b"{}", b'"text"', b"[" * 100_000, b"\xff\xfe", b"\0" * 9, b'{"stage": "a", "epoch": 1}'),
        b'{"stage": "a", "epoch": "one", "loss": 1}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "parts": {"x": "y"}}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "unknown": [1]}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "val": {"mAP": "x"}}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "probabilities": {"unknown": [1, -1]}}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "val_probabilities": {"others": [1]}}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "relabelled": {"positives": 1}}',
        b'{"stage": "a", "epoch": 1, "loss": 1, "from_the_future": 1}',
    ],
)
def test_damage_is_named_by_line(file: Path, line: bytes) -> None:
    lines = file.read_bytes().splitlines()
    file.write_bytes(b"\n".join([lines[0], line, lines[2], b""]))
    with pytest.raises(TrilabelError, match=rf"^{re.escape(str(file))}: line 2 is damaged, or .*restore") as refused:
        history.read(file)
    assert "\n" not in str(refused.value)


def many_classes() -> Dataset:
    draw = np.random.default_rng(0)
    labels = Labels.from_signed(draw.choice(np.array([-1, 1], np.int8), (24, 300)))
    images = torch.from_numpy(draw.integers(0, 256, (24, 3, 8, 8), np.uint8))
    splits = {"train": np.arange(16), "val": np.arange(16, 24)}
    return Dataset(labels.ids, None, labels, splits, images=images)


def test_files_grow_by_a_line_an_epoch_and_resuming_cuts_what_came_after(quick: Config, tmp_path: Path) -> None:
    dataset, folder = many_classes(), RunFolder(tmp_path / "run")
    config = replace(quick, image_size=8, stages="linear", device="cpu")
    three = train(dataset, replace(config, epochs=3), folder.path)
    size, line = folder.last.stat().st_size, max(map(len, folder.metrics.read_bytes().splitlines()))
    with folder.metrics.open("ab") as more:  # as if killed between a line and its checkpoint, and in the next line
        more.write(folder.metrics.read_bytes().splitlines(keepends=True)[0] + b'{"stage": "li')
    sixty = train(dataset, replace(config, epochs=60), folder.path, resume=True)
    assert without_times(sixty.history[:3]) == without_times(three.history)
    assert [record.epoch for record in sixty.history] == list(range(1, 61))
    assert line > 3000
    assert abs(folder.last.stat().st_size - size) < 300, "some numbers have more digits than others, nothing else"
    assert abs(folder.best.stat().st_size - size) < size


def test_a_run_without_its_lines_or_its_checkpoint_does_not_resume(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    folder = RunFolder(train(small_scenes, quick, tmp_path / "run").folder)
    whole = folder.metrics.read_bytes()
    for left in (whole.splitlines(keepends=True)[0], whole[:-1], None):
        folder.metrics.unlink() if left is None else folder.metrics.write_bytes(left)
        with pytest.raises(TrilabelError, match=r"\.jsonl: [01] epochs, but the checkpoint is from after epoch 2"):
            train(small_scenes, quick, folder.path, resume=True)
    folder.last.unlink()
    folder.metrics.write_bytes(2 * whole)  # four epochs, more than can have been without a checkpoint
    with pytest.raises(TrilabelError, match=r"last\.safetensors: missing, though epochs are done; restore it"):
        train(small_scenes, quick, folder.path, resume=True)
    assert folder.metrics.read_bytes() == 2 * whole
    folder.metrics.write_bytes(whole.splitlines(keepends=True)[0])  # killed before the first checkpoint was written
    assert len(train(small_scenes, quick, folder.path, resume=True).history) == 2
