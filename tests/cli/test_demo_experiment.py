"""The demo on small scenes: every result, the files, and the share of hidden positives found."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trilabel.cli import demo_experiment
from trilabel.cli.demo_experiment import LABEL_SETTINGS, OURS, VARIANTS, hidden_positives_found, run_demo
from trilabel.data.dataset import Dataset
from trilabel.data.scenes import scenes


def test_every_result_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_experiment, "scenes", lambda seed: scenes(train=96, val=48, test=48, size=32, seed=seed))
    results = run_demo(tmp_path, epochs=1)
    assert [(result.labels, result.way) for result in results] == [
        ("all labels", OURS),
        *[(labels, way) for labels in list(LABEL_SETTINGS)[1:] for way in VARIANTS],
    ]
    for result in results:
        assert 0 <= result.mAP <= 1 and (Path(result.run) / "best.safetensors").exists()
    assert [result.known for result in results[:3]] == [96 * 14, 96, 96]
    assert json.loads((tmp_path / "demo.json").read_text())[0]["mAP"] == results[0].mAP
    assert (tmp_path / "demo.png").stat().st_size > 10_000


def test_hidden_positives_found_by_a_plain_loop(small_scenes: Dataset) -> None:
    rows = small_scenes.rows_of("train")
    draw = np.random.default_rng(0)
    hidden = draw.random(small_scenes.labels.shape) < 0.7
    signed = np.where(hidden, 0, small_scenes.labels.to_signed())
    labels = type(small_scenes.labels).from_signed(signed, small_scenes.classes, small_scenes.ids)
    scores = draw.random((len(rows), labels.shape[1]))
    truth = small_scenes.labels.to_signed()
    entries = [(scores[i, c], truth[row, c] > 0) for i, row in enumerate(rows) for c in range(14) if hidden[row, c]]
    entries.sort(key=lambda entry: -entry[0])
    count = sum(present for _, present in entries)
    expected = sum(present for _, present in entries[:count]) / count
    assert hidden_positives_found(small_scenes, replace(small_scenes, labels=labels), scores) == pytest.approx(expected)
