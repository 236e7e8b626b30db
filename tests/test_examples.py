"""The examples of trilabel in other loops are complete, short, and learn; where their package is missing, they wait."""

import json
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from trilabel.data import scenes

EXAMPLES = Path(__file__).parents[1] / "examples"
NEEDED: dict[str, tuple[str, ...]] = {
    "plain_pytorch": (),
    "with_lightning": ("pytorch_lightning", "torchmetrics"),
    "with_trainer": ("transformers", "accelerate"),
}
QUIET: dict[str, dict[str, Any]] = {
    "with_lightning": {"enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"},
    "with_trainer": {"disable_tqdm": True, "use_cpu": True},
}


@pytest.fixture(scope="module")
def by_chance() -> float:
    drawn = scenes(train=200, val=50, test=1, size=32)
    return float((drawn.labels[drawn.rows_of("val")].to_signed() > 0).mean())


@pytest.mark.interop  # which has all of them
@pytest.mark.parametrize("name", NEEDED)
def test_an_example_learns(name: str, by_chance: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for package in NEEDED[name]:
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    assert import_module(name).main(images=200, epochs=5, **QUIET.get(name, {})) > 1.7 * by_chance


def test_all_examples_are_here_and_short() -> None:
    assert {file.stem for file in EXAMPLES.glob("*.py")} == {*NEEDED, "label_loop"}
    for file in EXAMPLES.glob("*.py"):
        assert len(file.read_text().splitlines()) < (60 if file.stem in NEEDED else 90), file


def test_the_loop_of_labels_turns(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr("trilabel.data.scenes", partial(scenes, size=32))
    found = import_module("label_loop").main(str(tmp_path), images=120, turns=2, budget=100, epochs=1)
    assert [turn[0] for turn in found] == [0, 100]
    assert found[1][1] > found[0][1]  # what was answered is right
    assert (tmp_path / "loop.png").stat().st_size > 10_000


def test_the_notebook_runs_and_says_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """Without Jupyter: its cells, one after the other."""
    names: dict[str, Any] = {}
    cells = json.loads((EXAMPLES / "unknown_labels.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    for cell in code:
        exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
        assert capsys.readouterr().out and cell["outputs"], cell["id"]
    assert names["right"] > 0.85
    scored = {
        name: names["known_map_scorer"](names[name], names["data"][1200:], names["truth"][1200:])
        for name in ("absent", "single", "ours", "everything")
    }
    assert scored["absent"] + 0.04 < scored["single"] and 0.9 < scored["ours"] < scored["everything"], scored
