"""Kills at chosen calls and inside writes: 20 and more of those that `make reliability` does by the hundred."""

import json
import sys

import pytest
from reliability.cases import CASES
from reliability.kills import Workshop, run_trials
from reliability.outcome import differences, leftovers, visible_faults

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL, and limits of file sizes, are of Unix")


# One of each kind of command and plan; the memory of each method is resumed in tests/training/test_memory.py.
NAMES = (
    "linear-then-fine-tune", "relabelling", "warm-up (CSL)", "EMA, accumulate", "overwriting a run",
    "convert to a file", "convert to a folder", "merge", "predict", "compare",
)  # fmt: skip


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    cases = {case.name: case for case in CASES}
    return Workshop(tmp_path_factory.mktemp("kills"), [cases[name] for name in NAMES], seed=0)


def test_killed_commands_lose_nothing(workshop):
    trials = run_trials(workshop, [("chosen", number) for number in range(24)], workers=1)
    assert not [(trial.case, trial.number, trial.kills, trial.faults) for trial in trials if trial.faults]
    assert sum(len(trial.kills) for trial in trials) >= 20
    assert {call.split()[0] for trial in trials for call in trial.calls} == {"before", "after", "in-write"}


def test_full_disks_lose_nothing_and_say_so(workshop):
    wanted = [("full", NAMES.index(name)) for name in ("EMA, accumulate", "convert to a folder", "predict")]
    trials = run_trials(workshop, wanted, workers=1)
    assert len(trials) == 3
    assert not [(trial.case, trial.kills, trial.faults) for trial in trials if trial.faults]


def test_what_is_lost_is_seen(tmp_path):
    for folder in ("is", "should"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.json").write_text(json.dumps({"value": 1, "seconds": len(folder)}))
        (tmp_path / folder / "t.csv").write_text("image,cat\n1.jpg,1\n")
    out, should = tmp_path / "is", tmp_path / "should"
    assert differences(out, should) == leftovers(out) == visible_faults(out, should, changes=False) == []
    (out / "a.json").write_text('{"value": 1')
    assert "half-written: a.json" in visible_faults(out, should, changes=True)[0]
    (out / "a.json").write_text('{"value": 2}')
    assert "half-written: a.json" in visible_faults(out, should, changes=False)[0]
    (out / "t.csv").rename(out / ".t.tmp.csv")
    (out / "b.txt").touch()
    assert differences(out, should) == ["lost: t.csv", "too many: b.txt", "differs: a.json"]
    assert leftovers(out) == ["left: .t.tmp.csv"]
