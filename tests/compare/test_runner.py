"""Comparisons on small scenes: numbers, stopping and resuming, several processes, failures."""

import json
import shlex
import signal
from dataclasses import replace

import numpy as np
import pytest

import trilabel as tl
from tests.support.comparisons import Stop, kinds, without_time
from tests.support.runs import killed_at_batch
from tests.support.stopped import forked_script
from trilabel.compare import Comparison, MethodRow, Spec, recipe_row, runner
from trilabel.compare.runs import RunExecutor, Scoring
from trilabel.compare.store import open_comparison
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate
from trilabel.locks import try_lock
from trilabel.methods import METHODS
from trilabel.training.run_folder import RunFolder

GROUPS = ("mAP_G1", "mAP_G2", "mAP_G3", "mAP_G4", "mAP_G5")


def test_a_cell_is_what_training_and_scoring_give(small_scenes, base, tmp_path):
    rows = (MethodRow("AN", replace(base, method="assume-negative", val="0.25", epochs=2)),)
    spec = Spec(rows, ("all", "single-positive", "keep-share=0.3"), 5, seeds=(1, 2))
    compared = Comparison(small_scenes, spec, tmp_path / "compared")
    cells = compared.run()
    assert compared.cells == cells and not compared.failed and compared.running is None
    places = [(cell.row, cell.labels, cell.seed) for cell in cells]
    assert places == [("AN", labels, seed) for labels in spec.labels for seed in (1, 2)]
    for cell in cells[2:]:
        config = replace(rows[0].config, seed=cell.seed)
        held_out = small_scenes.with_split_off("held-out", 0.25)
        learned_from = held_out.rows_of("train")
        hidden = simulate.apply_to_rows(small_scenes.labels, learned_from, cell.labels, 5)
        run = tl.train(small_scenes.with_labels(hidden), config, tmp_path / f"{cell.labels}-{cell.seed}")
        scored = tl.load(run).evaluate(small_scenes, threshold=0.5, calibrated=False)
        assert cell.metrics == {name: scored[name] for name in ("mAP", "CF1", "OF1", *GROUPS)}
        assert (cell.validation, cell.epoch, cell.epochs) == (run.metrics["mAP"], run.best.epoch, 2)
        assert cell.known == np.count_nonzero(hidden.to_signed()[learned_from])
        assert cell.known_share == pytest.approx(cell.known / (len(learned_from) * 14))
    assert cells[0].known == 72 * 14 and cells[2].known == 72
    assert len({cell.metrics["mAP"] for cell in cells}) == 6


def test_a_cell_of_two_rounds_is_stopped_and_resumed_and_its_time_counts_all(small_scenes, base, tmp_path):
    row = MethodRow("twice", replace(base, method="assume-negative", rounds=2, folds=2))
    spec = Spec((row,), ("single-positive",))
    executor = RunExecutor(small_scenes, spec, tmp_path / "compared", Scoring(), {"data": "DATA"})
    folder = executor.folder("cells", row, "single-positive", row.config)
    open_comparison(tmp_path / "compared", small_scenes, {"data": "DATA"})
    with killed_at_batch(14):
        executor.train(folder, "single-positive", row.config)
    (cell,) = Comparison(small_scenes, spec, tmp_path / "compared").run()
    histories = [RunFolder(folder / place).read_history() for place in (".", "round-1/fold-1", "round-1/fold-2")]
    trained = sum(record.seconds + record.val_seconds for history in histories for record in history)
    scored = json.loads((folder / "targets.json").read_text())["seconds"]
    assert [len(history) for history in histories] == [1, 1, 1] and scored > 0
    assert cell.seconds == pytest.approx(trained + scored)
    assert not list(folder.rglob("*.safetensors"))  # of no round, as without --keep
    assert "--rounds 2" in cell.command and "--folds 2" in cell.command


def test_seeds_change_the_training_and_not_which_labels_are_known(small_scenes, base, tmp_path):
    Comparison(small_scenes, Spec((MethodRow("a", base),), ("keep-share=0.5",), seeds=(0, 1)), tmp_path).run()
    first, second = (Labels.load(file) for file in (tmp_path / "cells").glob("*/labels.npz"))
    assert first == second


def test_labels_may_be_hidden_anew_with_each_seed(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a", base),), ("keep-share=0.5",), hide_seed="each", seeds=(0, 1))
    Comparison(small_scenes, spec, tmp_path).run()
    first, second = (Labels.load(file) for file in sorted((tmp_path / "cells").glob("*/labels.npz")))
    truth = small_scenes.labels[small_scenes.rows_of("train")]
    assert first == simulate.keep_share(truth, 0.5, seed=0) and second == simulate.keep_share(truth, 0.5, seed=1)


def test_settings_of_a_row_with_a_long_name_are_kept_apart(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a" * 100, base),), ("all", "keep-share=0.5"))
    assert [cell.known_share < 1 for cell in Comparison(small_scenes, spec, tmp_path).run()] == [False, True]


def test_the_pointing_game(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Spec((MethodRow("a", base),)), tmp_path / "compared", pointing=True).run()
    run = tl.train(small_scenes, base, tmp_path / "run")
    scored = tl.load(run).evaluate(small_scenes, pointing=True)
    assert cell.metrics["pointing_game"] == scored["pointing_game"]
    assert cell.metrics["pointing_game_by_class"] == scored["pointing_game_by_class"]
    assert "--pointing" in cell.command
    without = replace(small_scenes, boxes=None)
    with pytest.raises(TrilabelError, match="no boxes"):  # at once, and not after hours of training
        Comparison(without, Spec((MethodRow("a", base),)), tmp_path / "x", pointing=True)


def test_the_commands_of_a_cell_make_it_again(base, tmp_path, monkeypatch, capsys):
    from trilabel.cli.main import parse
    from trilabel.data import scenes

    few = scenes(train=48, val=24, test=24, size=32)
    monkeypatch.setattr("trilabel.data.scenes", lambda: few)
    spec = Spec((MethodRow("a", replace(base, method="large-loss", settings={"delta": 1.0})),), ("single-positive",), 7)
    (cell,) = Comparison(few, spec, tmp_path / "compared", keep=True, source={"data": "scenes"}).run()
    trained, scored = (shlex.split(line)[1:] for line in cell.command.splitlines())
    monkeypatch.chdir(tmp_path)
    parse(trained[0], trained[1:])()
    capsys.readouterr()
    parse(scored[0], [*scored[1:], "--json"])()
    again = json.loads(capsys.readouterr().out)
    assert cell.metrics == {name: again[name] for name in cell.metrics}


def with_four_times_the_classes(dataset):
    """56 classes: enough for mAP by groups."""
    classes = [f"{name} {number}" for number in range(4) for name in dataset.classes]
    labels = Labels.from_signed(np.tile(dataset.labels.to_signed(), 4), classes=classes, ids=dataset.ids)
    return replace(dataset, labels=labels, boxes=None)


def test_map_by_groups_of_classes_beside_published_figures_and_in_cells_of_before(
    small_scenes, base, tmp_path, trained, caplog
):
    from trilabel.report.comparison import run_and_report

    many = with_four_times_the_classes(small_scenes)
    spec = Spec((recipe_row("huynh2020-openimages-logistic", base),), ("all",))
    assert Comparison(small_scenes, spec, tmp_path / "few").metrics == ("mAP", "CF1", "OF1")

    def compared(out="compared", keep=True):
        return Comparison(many, spec, tmp_path / out, published=["openimages-v3"], keep=keep)

    (cell,) = run_and_report(compared())
    (folder,) = (tmp_path / "compared/cells").glob("*-????????")
    scored = tl.load(folder).evaluate(many)
    assert [cell.metrics[name] for name in GROUPS] == [scored[name] for name in GROUPS]
    text = (tmp_path / "compared/table.md").read_text()
    assert "all mAP\\_G1, published" in text and "69.47 \\[1\\]".replace("\\", "") in text
    assert f"{100 * scored['mAP_G5']:.1f}" in text and "G1 to G5" in text

    about = json.loads((folder / "result.json").read_text())
    of_before = json.dumps({**about, "metrics": {name: about["metrics"][name] for name in ("mAP", "CF1", "OF1")}})
    (folder / "result.json").write_text(of_before)
    assert compared().run() == [cell] and len(trained) == 1, "scored again, not trained again"
    assert json.loads((folder / "result.json").read_text()) == about
    (folder / "result.json").write_text(of_before)
    (folder / "best.safetensors").unlink()
    (without,) = run_and_report(compared(keep=False))
    assert without.metrics.keys() == {"mAP", "CF1", "OF1"} and len(trained) == 1
    assert "finished before mAP by groups of classes was recorded" in caplog.text
    text = (tmp_path / "compared/table.md").read_text()
    assert "mAP by groups of classes (G1 to G5) is missing in 1 of 1 runs" in text


def test_groups_without_a_value_are_scored_once_and_a_cell_that_cannot_be_scored_again_stays(
    small_scenes, base, tmp_path, trained, monkeypatch, caplog
):
    many = with_four_times_the_classes(small_scenes)
    signs = many.labels.to_signed()
    rare = np.arange(12)  # fewest known in training, and none is present in the test split
    signs[np.ix_(many.rows_of("test"), rare)] = -1
    signs[np.ix_(many.rows_of("train")[5:], rare)] = 0
    many = replace(many, labels=Labels.from_signed(signs, many.classes, many.ids))
    scored, score = [], RunExecutor.score
    monkeypatch.setattr(RunExecutor, "score", lambda *given: scored.append(1) or score(*given))

    def compared():
        comparison = Comparison(many, Spec((MethodRow("a", base),)), tmp_path, keep=True)
        (cell,) = comparison.run()
        assert not comparison.failed and len(trained) == 1
        return cell

    cell = compared()
    assert cell.metrics["mAP_G1"] is None and cell.metrics["mAP_G5"] is not None
    assert compared() == cell and len(scored) == 1

    (folder,) = (tmp_path / "cells").glob("*-????????")
    about = json.loads((folder / "result.json").read_text())
    without_none = {name: value for name, value in about["metrics"].items() if value is not None}
    (folder / "result.json").write_text(json.dumps({**about, "metrics": without_none}))
    assert compared().metrics == without_none and len(scored) == 1, "as undefined groups were once recorded"

    of_before = json.dumps({**about, "metrics": {name: about["metrics"][name] for name in ("mAP", "CF1", "OF1")}})
    (folder / "result.json").write_text(of_before)
    weights = (folder / "best.safetensors").read_bytes()
    (folder / "best.safetensors").write_bytes(weights[:100])
    assert compared().metrics.keys() == {"mAP", "CF1", "OF1"} and "cannot be scored by groups of classes" in caplog.text
    assert (folder / "result.json").read_text() == of_before

    (folder / "best.safetensors").write_bytes(weights)
    (folder / "labels.npz").unlink()
    again = compared()
    assert all(again.metrics[name] is None for name in GROUPS) and again.metrics["mAP"] == cell.metrics["mAP"]
    count = len(scored)
    assert compared() == again and len(scored) == count, "without known training labels there are no groups"


def test_without_validation(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Spec((MethodRow("a", replace(base, val="none")),)), tmp_path).run()
    assert np.isnan(cell.validation) and cell.metrics["mAP"] > 0
    (again,) = Comparison(small_scenes, Spec((MethodRow("a", replace(base, val="none")),)), tmp_path).run()
    assert np.isnan(again.validation)


def results(out):
    return {file: file.stat().st_mtime_ns for file in out.glob("*/*/result.json")}


def test_a_stopped_comparison_resumes(small_scenes, base, tmp_path, trained):
    rows = tuple(
        MethodRow(name, replace(base, method=name), grid={"lr": (1e-3, 1e-2)}) for name in ("known-only", "role")
    )
    spec = Spec(rows, seeds=(0, 1), search={"epochs": 1})
    whole = Comparison(small_scenes, spec, tmp_path / "whole").run()
    assert kinds(trained) == ["search"] * 4 + ["cells"] * 4
    for after, done in ((1, 1), (3, 3), (5, 5)):
        trained.clear()
        with pytest.raises(KeyboardInterrupt):
            Comparison(small_scenes, spec, tmp_path / "stopped").run(Stop(after))
        finished = results(tmp_path / "stopped")
        assert len(finished) == done
    trained.clear()
    again = Comparison(small_scenes, spec, tmp_path / "stopped")
    assert without_time(again.run()) == without_time(whole)
    assert kinds(trained) == ["cells"] * 3
    now = results(tmp_path / "stopped")
    assert {file: now[file] for file in finished} == finished, "finished runs are left alone"
    trained.clear()
    assert Comparison(small_scenes, spec, tmp_path / "stopped").run() == again.cells and not trained
    assert results(tmp_path / "stopped") == now


def test_seeds_and_rows_can_be_added(small_scenes, base, tmp_path, trained):
    spec = Spec((MethodRow("a", base),))
    first = Comparison(small_scenes, spec, tmp_path).run()
    more = Spec((MethodRow("b", replace(base, method="role")), MethodRow("a", base)), seeds=(0, 3))
    cells = Comparison(small_scenes, more, tmp_path).run()
    assert len(trained) == 1 + 3 and cells[2] == first[0]
    Comparison(small_scenes, Spec((MethodRow("a", replace(base, lr=1e-3)),)), tmp_path).run()
    assert len(trained) == 5, "another configuration under the same name is another run"
    Comparison(small_scenes, spec, tmp_path, pointing=True).run()
    assert len(trained) == 6, "with another metric it is scored again"


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
from trilabel.compare import Comparison, MethodRow, Spec
from trilabel.config import Config
from trilabel.data.scenes import scenes
from trilabel.training.run_folder import RunFolder

torch.set_num_threads(1)
append_record = RunFolder.append_record

def append_or_die(self, record, number):
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    append_record(self, record, number)

RunFolder.append_record = append_or_die
config = Config(method="known-only", image_size=32, epochs=3, batch_size=16, lr=3e-3, workers=0)
Comparison(scenes(train=96, val=48, test=48, size=32), Spec((MethodRow("a", config),)), Path(sys.argv[1])).run()
"""


def test_a_killed_cell_resumes(small_scenes, base, tmp_path):
    done = forked_script(KILLED, [tmp_path / "killed"])
    assert done.returncode == -signal.SIGKILL, done.stderr
    (folder,) = (folder for folder in (tmp_path / "killed" / "cells").iterdir() if folder.is_dir())
    assert (folder / "last.safetensors").is_file() and not (folder / "result.json").exists()
    started = (folder / "labels.npz").stat().st_mtime_ns
    (first,) = (folder / "metrics.jsonl").read_text().splitlines()
    spec = Spec((MethodRow("a", replace(base, epochs=3)),))
    whole = Comparison(small_scenes, spec, tmp_path / "whole").run()
    cells = Comparison(small_scenes, spec, tmp_path / "killed").run()
    assert (folder / "labels.npz").stat().st_mtime_ns == started, "a run that starts again writes its labels again"
    history = (folder / "metrics.jsonl").read_text().splitlines()
    assert len(history) == 3 and history[0] == first, "with the seconds that its first epoch took"
    assert without_time(cells) == without_time(whole)


@pytest.mark.parametrize("left", [["versions.json"], ["versions.json", "labels.npz"], []])
def test_a_folder_without_a_whole_run_is_started_again(small_scenes, base, tmp_path, left):
    spec = Spec((MethodRow("a", base),))
    whole = Comparison(small_scenes, spec, tmp_path).run()
    (folder,) = (folder for folder in (tmp_path / "cells").iterdir() if folder.is_dir())
    for file in folder.iterdir():
        if file.name not in left:
            file.unlink()
    (folder / ".config.1.tmp.json").write_text("{")
    assert without_time(Comparison(small_scenes, spec, tmp_path).run()) == without_time(whole)


def test_a_damaged_result_is_reported(small_scenes, base, tmp_path):
    spec = Spec((MethodRow("a", base), MethodRow("b", replace(base, method="role"))))
    Comparison(small_scenes, spec, tmp_path).run()
    (file,) = (tmp_path / "cells").glob("a-*/result.json")
    file.write_text("{")
    again = Comparison(small_scenes, spec, tmp_path)
    assert [cell.row for cell in again.run()] == ["b"]
    assert "result.json: damaged" in again.failed["a", "all", 0]


def test_a_run_that_another_process_is_working_on_is_left_to_it(small_scenes, base, tmp_path, monkeypatch, trained):
    monkeypatch.setattr(runner, "POLL_SECONDS", 0.01)
    spec = Spec((MethodRow("a", base), MethodRow("b", replace(base, method="role"))))
    compared = Comparison(small_scenes, spec, tmp_path)
    open_comparison(tmp_path, small_scenes, compared.source)
    with try_lock(compared.executor.folder("cells", spec.rows[0], "all", base)) as locked:
        assert locked
        with pytest.raises(KeyboardInterrupt):
            compared.run(Stop(1))
        assert [cell.row for cell in compared.cells] == ["b"]
    assert [cell.row for cell in Comparison(small_scenes, spec, tmp_path).run()] == ["a", "b"]
    assert [folder.name[0] for folder in trained] == ["b", "a"]


def test_a_row_that_cannot_learn_from_such_labels_is_reported(small_scenes, base, tmp_path, caplog):
    rows = (MethodRow("a", base), MethodRow("b", replace(base, method="assume-negative")))
    compared = Comparison(small_scenes, Spec(rows, ("single-positive", "keep-share=0.5"), seeds=(0, 1)), tmp_path)
    places = [(cell.row, cell.labels, cell.seed) for cell in compared.run()]
    settings = ("single-positive", "keep-share=0.5")
    assert places == [(row, labels, seed) for row in "ab" for labels in settings for seed in (0, 1)][2:]
    assert set(compared.failed) == {("a", "single-positive", 0), ("a", "single-positive", 1)}
    assert len(compared.failures()) == 1
    assert caplog.text.count("a, single-positive, seed") == 2


def test_whatever_ends_a_run_the_others_are_made(small_scenes, base, tmp_path, monkeypatch, caplog):
    def failing(self, model, batch):
        raise RuntimeError("CUDA error: something\nlong")

    monkeypatch.setattr(METHODS["known-only"], "step", failing)
    rows = (MethodRow("a", base, grid={"lr": (1e-3, 1e-2)}), MethodRow("b", replace(base, method="role")))
    compared = Comparison(small_scenes, Spec(rows), tmp_path)
    assert [cell.row for cell in compared.run()] == ["b"]
    why = "every run of the search failed; the first error: RuntimeError: CUDA error: something"
    assert compared.failures() == [("a", "all", why)]
    monkeypatch.undo()
    assert [cell.row for cell in Comparison(small_scenes, Spec(rows), tmp_path).run()] == ["a", "b"]


def test_models_are_kept_where_asked(small_scenes, base, tmp_path):
    (cell,) = Comparison(small_scenes, Spec((MethodRow("a", base),)), tmp_path, keep=True).run()
    (file,) = tmp_path.rglob("*.safetensors")
    assert file.name == "best.safetensors"
    assert tl.load(file.parent).evaluate(small_scenes)["mAP"] == cell.metrics["mAP"]
