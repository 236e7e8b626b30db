"""`trilabel demo` on small scenes."""

from pathlib import Path

import pytest

from tests.support.command_line import Capture, call, result
from trilabel.cli import demo_experiment
from trilabel.cli.demo_experiment import DemoResult

RESULTS = [
    DemoResult("all labels", "trilabel", 100, 0.75, 0.5, None, "runs/a"),
    DemoResult("one positive per image", "unknown = absent", 10, 0.5, 0.25, 0.125, "runs/b"),
]


@pytest.fixture(autouse=True)
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_experiment, "run_demo", lambda out, seed: RESULTS)


def test_the_table_and_what_to_try_next(tmp_path: Path, capsys: Capture) -> None:
    assert call("demo", "--out", tmp_path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["all", "labels", "100", "trilabel", "75.0", "50.0", "—", "runs/a"]
    assert lines[2].split()[-4:] == ["50.0", "25.0", "12.5", "runs/b"]
    assert {"unknown = absent", "trilabel", "mAP", "hidden found"} <= {line.partition(":")[0] for line in lines}
    assert f"plot: {tmp_path}/demo.png   numbers: {tmp_path}/demo.json" in lines
    assert lines[-1] == "try next: trilabel evaluate runs/a scenes"


def test_json_has_everything(tmp_path: Path, capsys: Capture) -> None:
    assert result(capsys, "demo", "--out", tmp_path) == [vars(each) for each in RESULTS]
