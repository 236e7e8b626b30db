"""Runs are named by what can change their result, and found under the names that earlier versions gave them."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.comparisons import without_time
from trilabel.compare import Comparison, MethodRow, Spec
from trilabel.compare.folders import run_folder
from trilabel.config import Config
from trilabel.locks import try_lock

SCORED = ["all", None, "test", ("mAP", "CF1", "OF1")]
ELSEWHERE = {"workers": 3, "cache": "none", "save_minutes": 1.0, "device": "cpu"}


def old_name(settings):
    """As versions up to 0.1.0 named a run of row "a"."""
    return f"a-all-0-{hashlib.sha256(json.dumps([settings, *SCORED], sort_keys=True).encode()).hexdigest()[:8]}"


def written(parent: Path, settings, finished=True):
    """A run that an earlier version made."""
    folder = parent / old_name(settings)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"config": settings}))
    if finished:
        (folder / "result.json").write_text("{}")
    return folder


def test_where_and_how_fast_a_run_is_made_is_no_part_of_its_name(tmp_path):
    one = run_folder(tmp_path, "a-all-0", Config(), SCORED)
    assert run_folder(tmp_path, "a-all-0", Config(**ELSEWHERE), SCORED) == one
    for change in ({"lr": 0.5}, {"devices": 2}, {"epochs": 3}, {"patience": 3}, {"precision": "bf16"}):
        assert run_folder(tmp_path, "a-all-0", Config(**change), SCORED) != one
    assert run_folder(tmp_path, "a-all-0", Config(), [*SCORED[:2], "val", SCORED[3]]) != one


def test_a_run_of_an_earlier_version_is_found_and_renamed(tmp_path):
    new = run_folder(tmp_path, "a-all-0", Config(lr=0.5), SCORED)
    for settings in (Config(lr=0.5), Config(lr=0.5, **ELSEWHERE)):
        old = written(tmp_path, settings.to_json())
        assert run_folder(tmp_path, "a-all-0", Config(lr=0.25), SCORED) not in (old, new)
        with try_lock(old):
            assert run_folder(tmp_path, "a-all-0", Config(lr=0.5, workers=7), SCORED) == old
        assert run_folder(tmp_path, "a-all-0", Config(lr=0.5, workers=7), SCORED) == new
        assert (new / "result.json").is_file() and not old.exists()
        new.rename(tmp_path / f"done {settings.workers}")


def test_of_several_runs_the_finished_one_counts(tmp_path):
    for workers in range(6):
        old = written(tmp_path, Config(workers=workers).to_json(), finished=workers == 3)
        (old / "which").write_text(str(workers))
    assert (run_folder(tmp_path, "a-all-0", Config(), SCORED) / "which").read_text() == "3"


def test_fields_that_an_earlier_version_did_not_have_were_as_by_default(tmp_path):
    settings = {name: value for name, value in Config(lr=0.5).to_json().items() if name not in ("erase", "compile")}
    old = written(tmp_path, settings)
    assert run_folder(tmp_path, "a-all-0", Config(lr=0.5, erase=0.1), SCORED) != old and old.exists()
    assert (run_folder(tmp_path, "a-all-0", Config(lr=0.5), SCORED) / "result.json").is_file() and not old.exists()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"config": 1}', '{"config": {}}'])
def test_folders_that_are_no_runs_are_left_alone(tmp_path, content):
    old = written(tmp_path, Config().to_json())
    (old / "config.json").write_text(content)
    assert run_folder(tmp_path, "a-all-0", Config(), SCORED) != old and old.exists()


def test_a_comparison_made_elsewhere_or_by_an_earlier_version_is_not_trained_again(
    small_scenes, base, tmp_path, trained
):
    first = Comparison(small_scenes, Spec((MethodRow("a", base),)), tmp_path).run()
    (folder,) = (folder for folder in (tmp_path / "cells").iterdir() if folder.is_dir())
    moved = Spec((MethodRow("a", replace(base, **ELSEWHERE)),))
    assert without_time(Comparison(small_scenes, moved, tmp_path).run()) == without_time(first)
    folder.rename(folder.parent / old_name(base.to_json()))
    assert without_time(Comparison(small_scenes, moved, tmp_path).run()) == without_time(first)
    assert len(trained) == 1
