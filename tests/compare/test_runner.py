"""Comparisons on small scenes: numbers, stopping and going on, searching, failing, and what is written."""

import csv
import json
import shlex
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import trilabel as tl
from trilabel.compare import Comparison, Plan, Row, row_of, runner
from trilabel.compare.published import figures
from trilabel.compare.references import references
from trilabel.compare.store import open_comparison, taken
from trilabel.data import images
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate
from trilabel.training import loop


@pytest.fixture
def base(quick):
    return replace(quick, epochs=1)


@pytest.fixture
def trained(monkeypatch):
    """The folders in which runs were started, in order."""
    folders = []

    def noted(dataset, config, folder, **options):
        folders.append(folder)
        return tl.train(dataset, config, folder, **options)

    monkeypatch.setattr(runner, "train", noted)
    return folders


def without_time(cells):
    """Cells but for how long they took and where they are."""
    return [{**asdict(cell), "seconds": None, "command": None} for cell in cells]


def kinds(folders):
    return [folder.parent.name for folder in folders]


def flipped(dataset, split):
    """The data set with every label of a split turned round."""
    signed = dataset.labels.to_signed()
    signed[dataset.rows_of(split)] *= -1
    return replace(dataset, labels=Labels.from_signed(signed, classes=dataset.classes, ids=dataset.ids))


# ---- numbers


def test_a_cell_is_what_training_and_scoring_give(small_scenes, base, tmp_path):
    rows = (Row("AN", replace(base, method="assume-negative", val="0.25", epochs=2)),)
    plan = Plan(rows, ("all", "single-positive", "keep-share=0.3"), 5, seeds=(1, 2))
    compared = Comparison(small_scenes, plan, tmp_path / "compared")
    cells = compared.run()
    assert compared.cells == cells and not compared.failed and compared.running is None
    places = [(cell.row, cell.labels, cell.seed) for cell in cells]
    assert places == [("AN", labels, seed) for labels in plan.labels for seed in (1, 2)]
    for cell in cells[2:]:
        config = replace(rows[0].config, seed=cell.seed)
        held_out = small_scenes.with_split_off("held-out", 0.25)
        learned_from = held_out.rows_of("train")
        hidden = simulate.apply_to_rows(small_scenes.labels, learned_from, cell.labels, 5)
        run = tl.train(small_scenes.with_labels(hidden), config, tmp_path / f"{cell.labels}-{cell.seed}")
        scored = tl.load(run).evaluate(small_scenes)
        assert cell.metrics == {name: scored[name] for name in ("mAP", "CF1", "OF1")}
        assert (cell.validation, cell.epoch, cell.epochs) == (run.metrics["mAP"], run.best["epoch"], 2)
        assert cell.known == np.count_nonzero(hidden.to_signed()[learned_from])
        assert cell.known_share == pytest.approx(cell.known / (len(learned_from) * 14))
    assert cells[0].known == 72 * 14 and cells[2].known == 72
    assert len({cell.metrics["mAP"] for cell in cells}) == 6


def test_seeds_change_the_training_and_not_what_is_known(small_scenes, base, tmp_path):
    Comparison(small_scenes, Plan((Row("a", base),), ("keep-share=0.5",), seeds=(0, 1)), tmp_path).run()
    first, second = (Labels.load(file) for file in (tmp_path / "cells").glob("*/labels.npz"))
    assert first == second


def test_settings_of_a_row_with_a_long_name_are_kept_apart(small_scenes, base, tmp_path):
    plan = Plan((Row("a" * 100, base),), ("all", "keep-share=0.5"))
    assert [cell.known_share < 1 for cell in Comparison(small_scenes, plan, tmp_path).run()] == [False, True]


def test_the_pointing_game(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Plan((Row("a", base),)), tmp_path / "compared", pointing=True).run()
    run = tl.train(small_scenes, base, tmp_path / "run")
    scored = tl.load(run).evaluate(small_scenes, pointing=True)
    assert cell.metrics["pointing_game"] == scored["pointing_game"]
    assert cell.metrics["pointing_game_by_class"] == scored["pointing_game_by_class"]
    assert "--pointing" in cell.command
    without = replace(small_scenes, boxes=None)
    with pytest.raises(TrilabelError, match="no boxes"):  # at once, and not after hours of training
        Comparison(without, Plan((Row("a", base),)), tmp_path / "x", pointing=True)


def test_the_commands_of_a_cell_make_it_again(base, tmp_path, monkeypatch, capsys):
    from trilabel.cli.main import parse
    from trilabel.data import scenes

    few = scenes(train=48, val=24, test=24, size=32)
    monkeypatch.setattr("trilabel.data.scenes", lambda: few)
    plan = Plan((Row("a", replace(base, method="large-loss", settings={"delta": 1.0})),), ("single-positive",), 7)
    (cell,) = Comparison(few, plan, tmp_path / "compared", keep=True, source={"data": "scenes"}).run()
    trained, scored = (shlex.split(line)[1:] for line in cell.command.splitlines())
    monkeypatch.chdir(tmp_path)
    parse(trained[0], trained[1:])()
    capsys.readouterr()
    parse(scored[0], [*scored[1:], "--json"])()
    again = json.loads(capsys.readouterr().out)
    assert cell.metrics == {name: again[name] for name in cell.metrics}


# ---- stopping and going on


class Stop:
    """Stops a comparison as Ctrl-C would, after so many runs."""

    def __init__(self, after):
        self.left = after

    def __call__(self):
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def results(out):
    return {file: file.stat().st_mtime_ns for file in out.glob("*/*/result.json")}


def test_a_stopped_comparison_goes_on(small_scenes, base, tmp_path, trained):
    rows = tuple(Row(name, replace(base, method=name), grid={"lr": (1e-3, 1e-2)}) for name in ("known-only", "role"))
    plan = Plan(rows, seeds=(0, 1), search={"epochs": 1})
    whole = Comparison(small_scenes, plan, tmp_path / "whole").run()
    assert kinds(trained) == ["search"] * 4 + ["cells"] * 4
    for after, done in ((1, 1), (3, 3), (5, 5)):
        trained.clear()
        with pytest.raises(KeyboardInterrupt):
            Comparison(small_scenes, plan, tmp_path / "stopped").run(Stop(after))
        finished = results(tmp_path / "stopped")
        assert len(finished) == done
    trained.clear()
    again = Comparison(small_scenes, plan, tmp_path / "stopped")
    assert without_time(again.run()) == without_time(whole)
    assert kinds(trained) == ["cells"] * 3
    now = results(tmp_path / "stopped")
    assert {file: now[file] for file in finished} == finished, "what was finished is left alone"
    trained.clear()
    assert Comparison(small_scenes, plan, tmp_path / "stopped").run() == again.cells and not trained
    assert results(tmp_path / "stopped") == now


def test_more_seeds_and_rows_are_added_to_what_is_there(small_scenes, base, tmp_path, trained):
    plan = Plan((Row("a", base),))
    first = Comparison(small_scenes, plan, tmp_path).run()
    more = Plan((Row("b", replace(base, method="role")), Row("a", base)), seeds=(0, 3))
    cells = Comparison(small_scenes, more, tmp_path).run()
    assert len(trained) == 1 + 3 and cells[2] == first[0]
    Comparison(small_scenes, Plan((Row("a", replace(base, lr=1e-3)),)), tmp_path).run()
    assert len(trained) == 5, "another configuration under the same name is another run"
    Comparison(small_scenes, plan, tmp_path, pointing=True).run()
    assert len(trained) == 6, "what was not scored is"


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from trilabel.compare import Comparison, Plan, Row
from trilabel.config import Config
from trilabel.data.scenes import scenes
from trilabel.training.loop import Training

torch.set_num_threads(1)
closed = Training.close_epoch

def close_and_die(self, *arguments):
    closed(self, *arguments)
    if self.state.progress.epoch == 2:
        os.kill(os.getpid(), signal.SIGKILL)

Training.close_epoch = close_and_die
config = Config(method="known-only", image_size=32, epochs=3, batch_size=16, lr=3e-3, workers=0)
Comparison(scenes(train=96, val=48, test=48, size=32), Plan((Row("a", config),)), Path(sys.argv[1])).run()
"""


def test_a_cell_that_was_killed_goes_on_inside(small_scenes, base, tmp_path, monkeypatch):
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "killed")], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (folder,) = (folder for folder in (tmp_path / "killed" / "cells").iterdir() if folder.is_dir())
    assert (folder / "last.safetensors").is_file() and not (folder / "result.json").exists()
    plan = Plan((Row("a", replace(base, epochs=3)),))
    whole = Comparison(small_scenes, plan, tmp_path / "whole").run()
    epochs = []
    run_epoch = loop.Training.run_epoch

    def counted(self, *arguments):
        epochs.append(self.state.progress.epoch)
        run_epoch(self, *arguments)

    monkeypatch.setattr(loop.Training, "run_epoch", counted)
    cells = Comparison(small_scenes, plan, tmp_path / "killed").run()
    assert epochs == [2, 3]
    assert without_time(cells) == without_time(whole)


@pytest.mark.parametrize("left", [["versions.json"], ["versions.json", "labels.npz"], []])
def test_a_folder_that_was_hardly_begun_is_made_anew(small_scenes, base, tmp_path, left):
    plan = Plan((Row("a", base),))
    whole = Comparison(small_scenes, plan, tmp_path).run()
    (folder,) = (folder for folder in (tmp_path / "cells").iterdir() if folder.is_dir())
    for file in folder.iterdir():
        if file.name not in left:
            file.unlink()
    (folder / ".config.1.tmp.json").write_text("{")
    assert without_time(Comparison(small_scenes, plan, tmp_path).run()) == without_time(whole)


def test_a_damaged_result_is_reported(small_scenes, base, tmp_path):
    plan = Plan((Row("a", base), Row("b", replace(base, method="role"))))
    Comparison(small_scenes, plan, tmp_path).run()
    (file,) = (tmp_path / "cells").glob("a-*/result.json")
    file.write_text("{")
    again = Comparison(small_scenes, plan, tmp_path)
    assert [cell.row for cell in again.run()] == ["b"]
    assert "result.json: damaged" in again.failed["a", "all", 0]


def test_what_another_process_is_at_is_left_to_it(small_scenes, base, tmp_path, monkeypatch, trained):
    monkeypatch.setattr(runner, "_SECONDS_TO_WAIT", 0.01)
    plan = Plan((Row("a", base), Row("b", replace(base, method="role"))))
    compared = Comparison(small_scenes, plan, tmp_path)
    open_comparison(tmp_path, small_scenes, compared.source)
    with taken(compared._folder("cells", plan.rows[0], "all", base)) as mine:
        assert mine
        with pytest.raises(KeyboardInterrupt):
            compared.run(Stop(1))
        assert [cell.row for cell in compared.cells] == ["b"]
    assert [cell.row for cell in Comparison(small_scenes, plan, tmp_path).run()] == ["a", "b"]
    assert [folder.name[0] for folder in trained] == ["b", "a"]


# ---- the search


def test_the_best_on_validation_is_taken(small_scenes, base, tmp_path):
    rates = (1e-6, 1e-2, 1e-5)
    plan = Plan((Row("a", replace(base, epochs=2), grid={"lr": rates}),), seeds=(0, 4), search={"epochs": 1})
    compared = Comparison(small_scenes, plan, tmp_path / "compared")
    cells = compared.run()
    found = {}
    for lr in rates:
        run = tl.train(small_scenes, replace(base, lr=lr), tmp_path / f"{lr}")
        found[lr] = run.metrics["mAP"]
    assert {trial.tried["lr"]: trial.validation for trial in compared.trials} == found
    best = max(found, key=found.__getitem__)
    assert [cell.chosen for cell in cells] == [{"lr": best}] * 2
    run = tl.train(small_scenes, replace(base, epochs=2, seed=4, lr=best), tmp_path / "run")
    assert cells[1].metrics["mAP"] == tl.load(run).evaluate(small_scenes)["mAP"] and cells[1].epochs == 2


def test_the_test_split_has_no_say_in_the_search(small_scenes, base, tmp_path, monkeypatch):
    plan = Plan((Row("a", base, grid={"lr": (1e-6, 1e-4, 1e-2)}),), ("keep-share=0.5",))
    good, bad = small_scenes, flipped(small_scenes, "test")
    first, second = (Comparison(data, plan, tmp_path / f"{n}") for n, data in enumerate((good, bad)))
    first.run(), second.run()
    assert [trial.validation for trial in first.trials] == [trial.validation for trial in second.trials]
    assert first.cells[0].chosen == second.cells[0].chosen
    assert first.cells[0].metrics != second.cells[0].metrics
    scored = []
    monkeypatch.setattr(runner, "load", lambda run, device: scored.append(run.folder) or tl.load(run, device))
    third = Comparison(good, plan, tmp_path / "third")
    with pytest.raises(KeyboardInterrupt):
        third.run(Stop(3))
    assert len(third.trials) == 3 and scored == []
    assert without_time(Comparison(good, plan, tmp_path / "third").run()) == without_time(first.cells)
    assert kinds(scored) == ["cells"]


def test_validation_does_have_a_say(small_scenes, base, tmp_path):
    plan = Plan((Row("a", base, grid={"lr": (1e-6, 1e-2)}),))
    chosen = [
        Comparison(data, plan, tmp_path / f"{n}").run()[0].chosen
        for n, data in enumerate((small_scenes, flipped(small_scenes, "val")))
    ]
    assert chosen == [{"lr": 1e-2}, {"lr": 1e-6}]


def test_search_points_that_fail_are_passed_over(small_scenes, base, tmp_path, caplog):
    grid = {"lr": (1e30, 1e-3)}
    wrong = {"lr": (1e30, 1e29)}
    plan = Plan((Row("a", base, grid=grid), Row("b", base, grid=wrong), Row("c", base)), seeds=(0, 1))
    compared = Comparison(small_scenes, plan, tmp_path)
    cells = compared.run()
    assert [(cell.row, cell.chosen) for cell in cells] == [("a", {"lr": 1e-3})] * 2 + [("c", {})] * 2
    assert [trial.validation is None for trial in compared.trials] == [True, False, True, True]
    assert set(compared.failed) == {("b", "all", 0), ("b", "all", 1)}
    (row, labels, why), *others = compared.failures()
    assert (row, labels) == ("b", "all") and not others
    assert "every run of its search failed" in why and "not finite" in why
    warned = caplog.text
    assert warned.count("{'lr': 1e+30}: ") == 2 and "b, all, seed 1: every run" in warned
    assert "b, all failed: every run" in (tmp_path / "table.md").read_text()


def test_a_search_that_failed_is_made_again(small_scenes, base, tmp_path):
    weights = tmp_path / "later.safetensors"
    plan = Plan((Row("a", replace(base, weights=str(weights)), grid={"lr": (1e-3, 1e-2)}),))
    compared = Comparison(small_scenes, plan, tmp_path / "compared")
    assert compared.run() == [] and "later.safetensors" in compared.failures()[0][2]
    run = tl.train(small_scenes, base, tmp_path / "run")
    weights.write_bytes((run.folder / "best.safetensors").read_bytes())
    other = replace(plan, rows=(replace(plan.rows[0], config=replace(base, weights=str(run.folder))),))
    assert len(Comparison(small_scenes, other, tmp_path / "compared").run()) == 1
    weights.unlink()
    weights.mkdir()
    for file in run.folder.iterdir():
        (weights / file.name).write_bytes(file.read_bytes())
    assert len(Comparison(small_scenes, plan, tmp_path / "compared").run()) == 1


def test_a_grid_without_a_choice_is_what_is_trained(small_scenes, base, tmp_path, trained):
    plan = Plan((Row("a", base, grid={"lr": (1e-4,), "settings.normalize": ("all",)}),))
    (cell,) = Comparison(small_scenes, plan, tmp_path / "compared").run()
    assert kinds(trained) == ["cells"] and cell.chosen == {"lr": 1e-4, "settings.normalize": "all"}
    run = tl.train(small_scenes, replace(base, lr=1e-4, settings={"normalize": "all"}), tmp_path / "run")
    assert cell.validation == run.metrics["mAP"]


def test_equals_are_decided_by_the_plan(small_scenes, base, tmp_path):
    plan = Plan((Row("a", base, grid={"momentum": (0.5, 0.1, 0.9)}),))  # which this optimizer does not have
    assert Comparison(small_scenes, plan, tmp_path).run()[0].chosen == {"momentum": 0.5}


def test_searching_in_one_label_setting_for_all(small_scenes, base, tmp_path, trained):
    plan = Plan((Row("a", base, grid={"lr": (1e-6, 1e-2)}),), ("all", "keep-share=0.5"), search_labels="keep-share=0.9")
    compared = Comparison(small_scenes, plan, tmp_path)
    assert [cell.chosen for cell in compared.run()] == [{"lr": 1e-2}] * 2
    assert kinds(trained) == ["search"] * 2 + ["cells"] * 2
    assert {trial.labels for trial in compared.trials} == {"keep-share=0.9"}


# ---- what cannot be done


def test_a_row_that_cannot_learn_from_such_labels_is_reported(small_scenes, base, tmp_path, caplog):
    rows = (Row("a", base), Row("b", replace(base, method="assume-negative")))
    compared = Comparison(small_scenes, Plan(rows, ("single-positive", "keep-share=0.5"), seeds=(0, 1)), tmp_path)
    places = [(cell.row, cell.labels, cell.seed) for cell in compared.run()]
    settings = ("single-positive", "keep-share=0.5")
    assert places == [(row, labels, seed) for row in "ab" for labels in settings for seed in (0, 1)][2:]
    assert set(compared.failed) == {("a", "single-positive", 0), ("a", "single-positive", 1)}
    assert len(compared.failures()) == 1
    assert caplog.text.count("a, single-positive, seed") == 2
    assert "a, single-positive failed: " in (tmp_path / "table.md").read_text()


def test_where_all_fails_the_tables_say_so(small_scenes, base, tmp_path):
    assert Comparison(small_scenes, Plan((Row("a", base),), ("single-positive",)), tmp_path).run() == []
    assert "a, single-positive failed" in (tmp_path / "table.md").read_text()


def test_other_data_in_the_same_folder_is_refused(small_scenes, base, tmp_path):
    plan = Plan((Row("a", base),))
    Comparison(small_scenes, plan, tmp_path / "out").run()
    rows = np.arange(len(small_scenes))
    renamed = Labels.from_signed(small_scenes.labels.to_signed(), ids=small_scenes.ids)
    reread = Labels.from_signed(small_scenes.labels.to_signed(), small_scenes.classes, list(small_scenes.ids)[::-1])
    others = {
        "fewer images": small_scenes.take(rows[:-1]),
        "other classes": replace(small_scenes, labels=renamed),
        "other labels": flipped(small_scenes, "train"),
        "another order": replace(small_scenes, labels=reread, ids=reread.ids),
        "other splits": replace(small_scenes, splits={**small_scenes.splits, "test": small_scenes.splits["test"][1:]}),
    }
    for other in others.values():
        with pytest.raises(TrilabelError, match="compares other data already"):
            Comparison(other, plan, tmp_path / "out").run()
    with pytest.raises(TrilabelError, match="compares other data already"):
        Comparison(small_scenes, plan, tmp_path / "out", source={"data": "scenes"}).run()
    assert len(Comparison(small_scenes, plan, tmp_path / "out").run()) == 1
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / ".data.1.tmp.json").write_text("")  # by a process that was killed, or that begins as well
    assert len(Comparison(small_scenes, plan, tmp_path / "begun").run()) == 1
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "today.txt").write_text("")
    with pytest.raises(TrilabelError, match="holds something else"):
        Comparison(small_scenes, plan, tmp_path / "diary").run()
    assert [file.name for file in (tmp_path / "diary").iterdir()] == ["today.txt"]


@pytest.mark.parametrize(
    ("changes", "options", "says"),
    [
        ({}, {"test": "tset"}, "no split named 'tset'"),
        ({}, {"test": "empty"}, "'empty' has no images to score"),
        ({}, {"test": "val"}, "a: images of split 'val' are also learned from or choose the epoch"),
        ({}, {"test": "train"}, "images of split 'train' are also learned from"),
        ({}, {"published": ["voc2021"]}, "'voc2021'.*did you mean 'voc20"),
        ({"labels": ("single",)}, {}, "no label setting named 'single'"),
        ({"labels": ("keep-share=much",)}, {}, "cannot be read"),
        ({"search_labels": "single"}, {}, "no label setting named 'single'"),
        ({"seeds": (0, -1)}, {}, "a: seed must be 0 or more"),
        ({"rows": "aa"}, {}, "two rows are called 'a'"),
        ({"rows": "n"}, {}, "n: a search needs validation images"),
        ({"rows": "x"}, {}, "x: no setting of a run named 'lrr'"),
    ],
)
def test_what_would_fail_in_the_end_is_refused_before(small_scenes, base, tmp_path, changes, options, says):
    data = replace(small_scenes, splits={**small_scenes.splits, "empty": np.zeros(0, np.int64)})
    rows = {
        "a": Row("a", base),
        "n": Row("n", replace(base, val="none"), grid={"lr": (1e-3, 1e-2)}),
        "x": Row("x", base, grid={"lrr": (1e-3, 1e-2)}),
    }
    plan = replace(Plan(()), **{**changes, "rows": tuple(rows[name] for name in changes.get("rows", "a"))})
    with pytest.raises(TrilabelError, match=says):
        Comparison(data, plan, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_split_may_be_scored_where_others_choose_the_epoch(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Plan((Row("a", replace(base, val="0.2")),)), tmp_path, test="val").run()
    assert "--split val" in cell.command and "Scored on split val." in (tmp_path / "table.md").read_text()


def test_without_validation(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Plan((Row("a", replace(base, val="none")),)), tmp_path).run()
    assert np.isnan(cell.validation) and cell.metrics["mAP"] > 0
    told = (tmp_path / "table.md").read_text()
    assert "The last epoch is kept, for want of validation images: a." in told and "is chosen" not in told
    (again,) = Comparison(small_scenes, Plan((Row("a", replace(base, val="none")),)), tmp_path).run()
    assert np.isnan(again.validation)


# ---- published figures


def test_published_figures_of_the_recipe_and_of_the_very_same_method(base):
    labels = ("single-positive", "all")
    plan = Plan((row_of("cole2021-an", base, "ours"), Row("LL", replace(base, method="large-loss"))), labels)
    found = references(plan, ["voc2012"], ["mAP"])
    expected = [
        (figure.labels, figure.value, f"{figure.source}, voc2012")
        for figure in figures()
        if figure.data == "voc2012" and figure.recipe in ("cole2021-an", "kim2022-an") and figure.metric == "mAP"
    ]
    ours = [(each.labels, each.value, each.source) for each in found if each.row == "ours"]
    assert ours == expected and {source.split(",")[0] for *_, source in ours} == {"Cole 2021", "Kim 2022"}
    assert all(each.row == "ours" for each in found), "LL-R says its mode, and has as many settings as the recipe"
    large = row_of("kim2022-ll-r", base, "other delta")
    large = replace(large, config=replace(large.config, settings={"mode": "reject", "delta": 0.4}))
    theirs = references(Plan((large,), labels), ["voc2012"], ["mAP"])
    assert {(each.row, each.source) for each in theirs} == {("other delta", "Kim 2022, table 2, voc2012")}
    assert references(plan, ["voc2012"], ["exact_match"]) == references(plan, [], ["mAP"]) == []
    assert references(replace(plan, labels=("keep-share=0.5",)), ["voc2012"], ["mAP"]) == []


def test_figures_stand_in_the_tables(small_scenes, base, tmp_path):
    plan = Plan((row_of("cole2021-an", replace(base, epochs=1), "AN"),), ("single-positive",))
    Comparison(small_scenes, plan, tmp_path, published=["voc2012"]).run()
    text = (tmp_path / "table.md").read_text()
    values = [each.value for each in references(plan, ["voc2012"], ["mAP"])]
    assert values and all(f"{value:.1f} [" in text for value in values)
    assert "Cole 2021, table 1, voc2012" in text and "Kim 2022, table 2, voc2012" in text


# ---- files


def test_what_is_written(small_scenes, base, tmp_path):
    plan = Plan((Row("a b/c", base, grid={"lr": (1e-3, 1e-2)}),), ("keep-share=0.5",), seeds=(0, 1))
    compared = Comparison(small_scenes, plan, tmp_path / "out", keep=False)
    cells = compared.run()
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "cells.csv", "table.csv", "table.md", "table.tex", "plot.png", "data.json", "cells", "search",
    }  # fmt: skip
    assert (tmp_path / "out" / "table.md").read_text().startswith("# Methods compared on DATA\n")
    with (tmp_path / "out" / "cells.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["test mAP"]) for line in lines] == pytest.approx([cell.metrics["mAP"] for cell in cells])
    assert [json.loads(line["chosen"]) for line in lines] == [cell.chosen for cell in cells]
    with (tmp_path / "out" / "table.csv").open(newline="") as file:
        (line,) = (line for line in csv.DictReader(file) if line["metric"] == "mAP")
    mean = 100 * np.mean([cell.metrics["mAP"] for cell in cells])
    assert float(line["mean %"]) == pytest.approx(mean) and line["seeds"] == "2"
    text = (tmp_path / "out" / "table.md").read_text()
    assert f"{mean:.1f}" in text and all(cell.command in text for cell in cells)
    assert "2 runs each of lr: 0.001, 0.01" in text and "a b/c" in text
    with Image.open(tmp_path / "out" / "plot.png") as plot:
        plot.verify()
    assert not list((tmp_path / "out").rglob("*.safetensors"))


def test_models_are_kept_where_asked(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Plan((Row("a", base),)), tmp_path, keep=True).run()
    (file,) = tmp_path.rglob("*.safetensors")
    assert file.name == "best.safetensors"
    assert tl.load(file.parent).evaluate(small_scenes)["mAP"] == cell.metrics["mAP"]


# ---- images in files


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
    rows = (Row("a", base, grid={"lr": (1e-3, 1e-2)}), Row("b", replace(base, method="role")))
    plan = Plan(rows, ("all", "keep-share=0.5"), seeds=(0, 1), search={"image_size": 16})
    cells = Comparison(in_files, plan, tmp_path / "out").run()
    assert len(cells) == 8
    assert sorted(decoded) == sorted((path, size) for path in in_files.paths for size in (16, 32))
    config = replace(base, method="role", seed=1)
    run = tl.train(in_files, config, tmp_path / "run")
    assert cells[5].metrics["mAP"] == tl.load(run).evaluate(in_files)["mAP"]


def test_nothing_is_kept_where_nothing_is_to_be(in_files, base, tmp_path, decoded):
    Comparison(in_files, Plan((Row("a", replace(base, cache="none")),)), tmp_path / "out").run()
    assert len(decoded) == len(in_files)  # each is used once, in training, choosing or scoring
    decoded.clear()
    Comparison(in_files, Plan((Row("a", replace(base, cache="none", epochs=2)),)), tmp_path / "out").run()
    assert len(decoded) == 2 * (24 + 12) + 12


@pytest.mark.parametrize("cache", ["auto", "none"])
@pytest.mark.parametrize("split", ["train", "test"])
def test_broken_images_are_left_out_as_by_the_commands(in_files, base, tmp_path, split, cache):
    broken = Path(in_files.paths[int(in_files.rows_of(split)[3])])
    broken.write_bytes(broken.read_bytes()[:100])
    config = replace(base, broken="skip", val="0.25", cache=cache)
    plan = Plan((Row("a", config),), ("keep-share=0.5",))
    (cell,) = Comparison(in_files, plan, tmp_path / "out").run()
    rows = in_files.with_split_off("held-out", 0.25).rows_of("train")
    hidden = in_files.with_labels(simulate.apply_to_rows(in_files.labels, rows, "keep-share=0.5"))
    run = tl.train(hidden, config, tmp_path / "run")
    assert (cell.validation, cell.known) == (run.metrics["mAP"], Labels.load(run.folder / "labels.npz").known)
    assert cell.metrics["mAP"] == tl.load(run).evaluate(in_files, broken="skip")["mAP"]
    assert "--broken skip" in cell.command.splitlines()[1]
    stopped = Comparison(in_files, Plan((Row("a", base),)), tmp_path / "stopped")
    assert stopped.run() == [] and broken.name in stopped.failures()[0][2]


def test_images_that_change_their_split_are_noticed(small_scenes, base, tmp_path):
    """Row numbers one after the other are the same before and after."""
    plan = Plan((Row("a", replace(base, epochs=1)),))
    Comparison(small_scenes, plan, tmp_path).run()
    train, val = small_scenes.splits["train"], small_scenes.splits["val"]
    moved = {**small_scenes.splits, "train": train[:-4], "val": np.concatenate((train[-4:], val))}
    renamed = {("chosen" if name == "val" else name): rows for name, rows in small_scenes.splits.items()}
    for splits in (moved, renamed):
        with pytest.raises(TrilabelError, match="compares other data already"):
            Comparison(replace(small_scenes, splits=splits), plan, tmp_path).run()


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (
            lambda base: Plan((Row("a", base, grid={"lr": (1e-3, 1e-2)}),), search={"val": "test"}),
            "val cannot be searched",
        ),
        (lambda base: Plan((Row("a", base, grid={"val": ("test", "val")}),)), "a: val cannot be searched"),
        (lambda base: Plan((Row("a", base, grid={"seed": (1, 2)}),)), "a: seed cannot be searched"),
        (lambda base: Plan((Row("a", replace(base, settings={"dleta": 1})),)), "a: method 'known-only' has no setting"),
        (lambda base: Plan((Row("a", replace(base, head="gapp")),)), "a: no head named 'gapp'"),
        (lambda base: Plan((Row("a", base, grid={"settings.gamma": (1, "x")}),)), "a: setting 'gamma' of method"),
    ],
)
def test_what_a_run_would_refuse_by_name_is_refused_before(small_scenes, base, tmp_path, plan, says):
    with pytest.raises(TrilabelError, match=says):
        Comparison(small_scenes, plan(base), tmp_path)


def test_no_published_figure_of_another_head_or_plan(base):
    rows = [row_of("kim2022-ll-r", base, "as it is")]
    for name, changes in (("head", {"head": "saliency"}), ("plan", {"stages": "linear"}), ("graph", {"graph": "gnn"})):
        rows.append(replace(rows[0], name=name, config=replace(rows[0].config, **changes)))
    settings = {"mode": "reject", "delta": 0.4}
    rows.append(replace(rows[0], name="settings", config=replace(rows[0].config, settings=settings)))
    found = references(Plan(tuple(rows), ("single-positive",)), ["voc2012"], ["mAP"])
    assert [(each.row, each.value, bool(each.note)) for each in found] == [
        ("as it is", 89.2, False),
        ("settings", 89.2, True),
    ]


def test_another_process_may_have_done_what_failed_here(small_scenes, base, tmp_path):
    """Then both choose from the same."""
    row = Row("a", replace(base, epochs=1), grid={"lr": (1e-6, 1e-3)})
    done = Comparison(small_scenes, Plan((row,)), tmp_path)
    done.run()
    other = Comparison(small_scenes, Plan((row,)), tmp_path)
    other.trials = [replace(trial, validation=None, why="memory") for trial in done.trials]
    assert other._chosen(row, "all") == done._chosen(row, "all") == done.cells[0].chosen
