"""The method in CONTRIBUTING.md is complete: it is registered as written there, trains, and learns."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import trilabel as tl
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.methods import METHODS

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"


@pytest.fixture
def confident(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example as a module, with its line in METHODS."""
    (code,) = re.findall(r"```python\n(.*?)```", CONTRIBUTING.read_text(encoding="utf-8"), re.DOTALL)
    module = ModuleType("confident")
    monkeypatch.setitem(sys.modules, "confident", module)
    exec(compile(code, str(CONTRIBUTING), "exec"), vars(module))
    monkeypatch.setitem(METHODS.own, "confident", module.Confident)
    return module


def test_the_example_trains_and_learns(
    confident: ModuleType, small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    hidden = small_scenes.with_labels(
        tl.simulate.apply_to_rows(small_scenes.labels, small_scenes.rows_of("train"), "keep-share=0.5", 0)
    )
    config = replace(quick, method="confident", settings={"threshold": "0.8"}, lr=4e-3)
    tl.train(hidden, config, tmp_path / "run")

    first, last = map(json.loads, (tmp_path / "run" / "metrics.jsonl").read_text().splitlines())
    assert last["loss"] < 0.9 * first["loss"]
    by_chance = (small_scenes.labels[small_scenes.rows_of("val")].to_signed() > 0).mean()
    assert tl.load(tmp_path / "run").evaluate(hidden, split="val")["mAP"] > 1.5 * by_chance


def test_the_example_refuses_what_it_cannot_learn_from(
    confident: ModuleType, small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    unlabeled = replace(small_scenes, labels=tl.Labels.from_signed(0 * small_scenes.labels.to_signed()))
    with pytest.raises(tl.TrilabelError, match="confident: no label here is known to be present"):
        tl.train(unlabeled, replace(quick, method="confident", val="none"), tmp_path / "run")
    with pytest.raises(tl.TrilabelError, match="no setting 'treshold'"):
        tl.train(small_scenes, replace(quick, method="confident", settings={"treshold": 0.8}), tmp_path / "run")
