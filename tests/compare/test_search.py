"""The search: what validation chooses, and that the test split has no influence on it."""

from dataclasses import replace

import pytest

import trilabel as tl
from tests.support.comparisons import Stop, flipped, kinds, without_time
from trilabel.compare import Comparison, MethodRow, Spec, runs


def test_the_best_on_validation_is_chosen(small_scenes, base, tmp_path):
    rates = (1e-6, 1e-2, 1e-5)
    spec = Spec((MethodRow("a", replace(base, epochs=2), grid={"lr": rates}),), seeds=(0, 4), search={"epochs": 1})
    compared = Comparison(small_scenes, spec, tmp_path / "compared")
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


def test_the_test_split_does_not_influence_the_search(small_scenes, base, tmp_path, monkeypatch):
    spec = Spec((MethodRow("a", base, grid={"lr": (1e-6, 1e-4, 1e-2)}),), ("keep-share=0.5",))
    good, bad = small_scenes, flipped(small_scenes, "test")
    first, second = (Comparison(data, spec, tmp_path / f"{n}") for n, data in enumerate((good, bad)))
    first.run(), second.run()
    assert [trial.validation for trial in first.trials] == [trial.validation for trial in second.trials]
    assert first.cells[0].chosen == second.cells[0].chosen
    assert first.cells[0].metrics != second.cells[0].metrics
    scored = []
    monkeypatch.setattr(runs, "load", lambda run, device: scored.append(run.folder) or tl.load(run, device))
    third = Comparison(good, spec, tmp_path / "third")
    with pytest.raises(KeyboardInterrupt):
        third.run(Stop(3))
    assert len(third.trials) == 3 and scored == []
    assert without_time(Comparison(good, spec, tmp_path / "third").run()) == without_time(first.cells)
    assert kinds(scored) == ["cells"]


def test_validation_does(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a", base, grid={"lr": (1e-6, 1e-2)}),))
    chosen = [
        Comparison(data, spec, tmp_path / f"{n}").run()[0].chosen
        for n, data in enumerate((small_scenes, flipped(small_scenes, "val")))
    ]
    assert chosen == [{"lr": 1e-2}, {"lr": 1e-6}]


def test_points_that_fail_are_skipped(small_scenes, base, tmp_path, caplog):
    grid = {"lr": (1e30, 1e-3)}
    wrong = {"lr": (1e30, 1e29)}
    spec = Spec((MethodRow("a", base, grid=grid), MethodRow("b", base, grid=wrong), MethodRow("c", base)), seeds=(0, 1))
    compared = Comparison(small_scenes, spec, tmp_path)
    cells = compared.run()
    assert [(cell.row, cell.chosen) for cell in cells] == [("a", {"lr": 1e-3})] * 2 + [("c", {})] * 2
    assert [trial.validation is None for trial in compared.trials] == [True, False, True, True]
    assert set(compared.failed) == {("b", "all", 0), ("b", "all", 1)}
    (row, labels, error), *others = compared.failures()
    assert (row, labels) == ("b", "all") and not others
    assert "every run of the search failed" in error and "not finite" in error
    assert caplog.text.count("{'lr': 1e+30}: ") == 2 and "b, all, seed 1: every run" in caplog.text


def test_a_search_that_failed_is_repeated(small_scenes, base, tmp_path):
    weights = tmp_path / "later.safetensors"
    spec = Spec((MethodRow("a", replace(base, weights=str(weights)), grid={"lr": (1e-3, 1e-2)}),))
    compared = Comparison(small_scenes, spec, tmp_path / "compared")
    assert compared.run() == [] and "later.safetensors" in compared.failures()[0][2]
    run = tl.train(small_scenes, base, tmp_path / "run")
    weights.write_bytes((run.folder / "best.safetensors").read_bytes())
    other = replace(spec, rows=(replace(spec.rows[0], config=replace(base, weights=str(run.folder))),))
    assert len(Comparison(small_scenes, other, tmp_path / "compared").run()) == 1
    weights.unlink()
    weights.mkdir()
    for file in run.folder.iterdir():
        (weights / file.name).write_bytes(file.read_bytes())
    assert len(Comparison(small_scenes, spec, tmp_path / "compared").run()) == 1


def test_a_grid_without_a_choice_is_trained_without_a_search(small_scenes, base, tmp_path, trained):
    spec = Spec((MethodRow("a", base, grid={"lr": (1e-4,), "settings.normalize": ("all",)}),))
    (cell,) = Comparison(small_scenes, spec, tmp_path / "compared").run()
    assert kinds(trained) == ["cells"] and cell.chosen == {"lr": 1e-4, "settings.normalize": "all"}
    run = tl.train(small_scenes, replace(base, lr=1e-4, settings={"normalize": "all"}), tmp_path / "run")
    assert cell.validation == run.metrics["mAP"]


def test_the_first_of_equals_is_chosen(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a", base, grid={"momentum": (0.5, 0.1, 0.9)}),))  # which this optimizer does not have
    assert Comparison(small_scenes, spec, tmp_path).run()[0].chosen == {"momentum": 0.5}


def test_searching_in_one_label_setting_for_all(small_scenes, base, tmp_path, trained):
    spec = Spec(
        (MethodRow("a", base, grid={"lr": (1e-6, 1e-2)}),), ("all", "keep-share=0.5"), search_labels="keep-share=0.9"
    )
    compared = Comparison(small_scenes, spec, tmp_path)
    assert [cell.chosen for cell in compared.run()] == [{"lr": 1e-2}] * 2
    assert kinds(trained) == ["search"] * 2 + ["cells"] * 2
    assert {trial.labels for trial in compared.trials} == {"keep-share=0.9"}


def test_a_trial_that_failed_here_may_have_succeeded_in_another_process(small_scenes, base, tmp_path):
    """Then both choose from the same trials."""
    row = MethodRow("a", replace(base, epochs=1), grid={"lr": (1e-6, 1e-3)})
    done = Comparison(small_scenes, Spec((row,)), tmp_path)
    done.run()
    other = Comparison(small_scenes, Spec((row,)), tmp_path)
    other.search.trials = [replace(trial, validation=None, error="memory") for trial in done.trials]
    assert other.search.choose(row, "all") == done.search.choose(row, "all") == done.cells[0].chosen
