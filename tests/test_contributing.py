"""CONTRIBUTING.md is followed as it is written: its method, from a file of its own to predictions, and among ours."""

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

import trilabel as tl
from tests.support.command_line import QUICK, call
from tests.support.outside import new_process
from tests.support.project import write_images_and_table
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.methods import METHODS
from trilabel.training.run_folder import RunFolder

CONTRIBUTING = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = CONTRIBUTING.partition("## A method of your own\n")[2].partition("\n## ")[0]
CODE, CHECK = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


@pytest.fixture
def confident(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example as a module."""
    module = ModuleType("confident")
    monkeypatch.setitem(sys.modules, "confident", module)
    exec(compile(CODE, "confident.py", "exec"), vars(module))
    with new_process():
        yield module


def test_a_method_in_a_file_follows_the_whole_section(
    small_scenes: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_images_and_table(tmp_path, small_scenes)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (name,) = re.findall(r"save\s+it as `([^`]+)`", SECTION)
    Path(name).write_text(CODE, encoding="utf-8")
    exec(CHECK, {})
    sys.modules.pop("confident")

    (commands,) = re.findall(r"\n\n```\n(.*?)```", SECTION, re.DOTALL)
    for line in commands.splitlines():
        program, *words = shlex.split(line)
        assert program == "trilabel"
        more = [*QUICK, "--epochs", "1"] if "--method" in words else ["--epochs", "2"] if "--resume" in words else []
        with new_process():
            assert call(*words, *more) == 0, line
    run = RunFolder(Path("runs/confident"))
    assert len(run.read_history()) == 2  # one of them after it was resumed
    assert run.read().config.settings == {"threshold": "0.8"}
    assert len(Path("predictions.csv").read_text().splitlines()) == 1 + len(small_scenes)


def test_the_example_trains_and_learns(
    confident: ModuleType, small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its line in BUILT_IN."""
    monkeypatch.setitem(METHODS.own, "confident", confident.Confident)
    hidden = small_scenes.with_labels(
        tl.simulate.apply_to_rows(small_scenes.labels, small_scenes.rows_of("train"), "keep-share=0.5", 0)
    )
    config = replace(quick, method="confident", settings={"threshold": "0.8"}, lr=4e-3)
    first, last = tl.train(hidden, config, tmp_path / "run").history

    assert last.loss < 0.9 * first.loss
    by_chance = (small_scenes.labels[small_scenes.rows_of("val")].to_signed() > 0).mean()
    assert tl.load(tmp_path / "run").evaluate(hidden, split="val")["mAP"] > 1.5 * by_chance


def test_the_example_refuses_what_it_cannot_learn_from(
    confident: ModuleType, small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    tl.register_method("confident", confident.Confident)
    unlabeled = replace(small_scenes, labels=tl.Labels.from_signed(0 * small_scenes.labels.to_signed()))
    with pytest.raises(tl.TrilabelError, match="confident: no label here is known to be present"):
        tl.train(unlabeled, replace(quick, method="confident", val="none"), tmp_path / "run")
    with pytest.raises(tl.TrilabelError, match="no setting 'treshold'"):
        tl.train(small_scenes, replace(quick, method="confident", settings={"treshold": 0.8}), tmp_path / "run")
