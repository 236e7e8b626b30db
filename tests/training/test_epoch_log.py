"""The numbers of epochs for other programs."""

import csv
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.training.api import train


def test_a_table_with_a_row_per_epoch_also_when_resumed(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    train(small_scenes, replace(quick, epochs=1, log="csv"), tmp_path / "run")
    run = train(small_scenes, replace(quick, epochs=2, log="csv"), tmp_path / "run", resume=True)
    with (run.folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["stage"], row["epoch"]) for row in rows] == [("fine-tune", "1"), ("fine-tune", "2")]
    assert float(rows[1]["val/mAP"]) == run.history[1].val["mAP"]


def test_tensorboard_reads_what_is_written(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = train(small_scenes, replace(quick, epochs=2, log="tensorboard"), tmp_path / "run")
    events = EventAccumulator(str(run.folder / "tensorboard"))
    events.Reload()
    found = [(event.step, event.value) for event in events.Scalars("fine-tune/val/mAP")]
    assert [step for step, _ in found] == [1, 2]
    assert [value for _, value in found] == pytest.approx([record.val["mAP"] for record in run.history])


def test_weights_and_biases_gets_the_same_numbers(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its package sends them to a server, so that something else stands in for it."""
    told: list[tuple[dict[str, float], int]] = []
    run_of_theirs = SimpleNamespace(log=lambda numbers, step: told.append((numbers, step)))
    asked: dict[str, Any] = {}
    monkeypatch.setitem(
        sys.modules, "wandb", SimpleNamespace(init=lambda **options: asked.update(options) or run_of_theirs)
    )
    run = train(small_scenes, replace(quick, epochs=1, log="wandb"), tmp_path / "run")
    assert asked["config"]["epochs"] == 1 and asked["resume"] == "allow"
    assert told[0][1] == 1 and told[0][0]["fine-tune/loss"] == run.history[0].loss


def test_a_missing_package_is_refused_before_anything_is_made(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(TrilabelError, match="pip install wandb"):
        train(small_scenes, replace(quick, log="wandb"), tmp_path / "run")
    assert not (tmp_path / "run").exists()
