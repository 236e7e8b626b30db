"""`trilabel compare` as a person uses it."""

import json
import shlex
import signal

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.support import command_line
from tests.support.command_line import options_in_help
from tests.support.stopped import COMMAND_LINE, Forked, stopped_command
from trilabel.cli.main import main, parse

QUICK = ("--image-size", "32", "--epochs", "1", "--workers", "0", "--batch-size", "16")
FIRST, SECOND = "cole2021-an", "kim2022-ll-r"


@pytest.fixture(scope="module")
def project(tmp_path_factory, small_scenes):
    """A table and some images beside it."""
    folder = tmp_path_factory.mktemp("a project")
    counts = {"train": 32, "val": 16, "test": 16}
    rows = np.concatenate([small_scenes.rows_of(name)[:count] for name, count in counts.items()])
    few = small_scenes.take(rows)
    table = pd.DataFrame((few.labels.to_signed() > 0).astype(int), columns=list(few.classes))
    table.insert(0, "image", [f"{name}.png" for name in few.ids])
    table["split"] = np.repeat(list(counts), list(counts.values()))
    table.to_csv(folder / "labels.csv", index=False)
    for name, image in zip(table["image"], few.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(folder / name)
    return folder


def call(project, *arguments):
    return command_line.call("compare", project / "labels.csv", *QUICK, *arguments)


def complaint(capsys, project, *arguments, code=1):
    return command_line.complaint(capsys, "compare", project / "labels.csv", *QUICK, *arguments, code=code)


def plan_file(tmp_path, text):
    (tmp_path / "plan.toml").write_text(text)
    return tmp_path / "plan.toml"


# ---- the way through


def test_methods_side_by_side(project, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ("--recipes", FIRST, SECOND, FIRST, "--labels", "single-positive", "--seeds", "0", "1", "--out", out)
    assert call(project, *arguments) == 0
    printed = capsys.readouterr()
    lines = [line for line in printed.err.splitlines() if " of 4: " in line]
    assert [line.split(":")[0] for line in lines] == [f"{number} of 4" for number in (1, 2, 3, 4)]
    assert f"3 of 4: {SECOND}, single-positive, seed 0: test mAP " in lines[2] and "(epoch 1 of 1, " in lines[2]
    assert FIRST in printed.out and "±" in printed.out and f"tables and plot: {out}/table.md" in printed.out
    assert "%" in lines[0] and "warning" not in printed.err
    assert call(project, *arguments, "--json") == 0
    cells = json.loads(capsys.readouterr().out)
    assert [(cell["row"], cell["seed"]) for cell in cells] == [(FIRST, 0), (FIRST, 1), (SECOND, 0), (SECOND, 1)]
    assert all(cell["known"] == 32 and 0 < cell["metrics"]["mAP"] <= 1 for cell in cells)
    table = pd.read_csv(out / "cells.csv")
    assert table["test mAP"].tolist() == pytest.approx([cell["metrics"]["mAP"] for cell in cells])
    assert str(project / "labels.csv") in cells[0]["command"] and "--hide single-positive" in cells[0]["command"]


def test_the_commands_beside_the_numbers_make_them_again(project, tmp_path, capsys, monkeypatch):
    out = tmp_path / "an out"
    assert (
        call(project, "--recipes", SECOND, "--labels", "keep-share=0.5", "--hide-seed", 3, "--out", out, "--json") == 0
    )
    (cell,) = json.loads(capsys.readouterr().out)
    trained, scored = (shlex.split(line)[1:] for line in cell["command"].splitlines())
    monkeypatch.chdir(tmp_path)
    assert main(trained) == 0
    capsys.readouterr()
    assert main([*scored, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: found[name] for name in cell["metrics"]} == cell["metrics"]


def test_a_search_by_options(project, tmp_path, capsys):
    out = tmp_path / "out"
    search = ("--search", "lr=1e-6,1e-2", "settings.delta=0.5", "--out", out)
    assert call(project, "--recipes", SECOND, *search, "--json") == 0
    printed = capsys.readouterr()
    (cell,) = json.loads(printed.out)
    assert cell["chosen"] == {"lr": "1e-2", "settings.delta": "0.5"} and "--lr 0.01" in cell["command"]
    lines = [line for line in printed.err.splitlines() if line.startswith("search: ")]
    assert len(lines) == 2 and f"search: {SECOND}, all, lr=1e-6, settings.delta=0.5: validation " in lines[0]
    assert (
        call(project, "--recipes", "wang2023-cr", "--search", "published", "--budget", 2, "--out", out, "--json") == 0
    )
    (cell,) = json.loads(capsys.readouterr().out)
    assert cell["chosen"]["settings.threshold"] in (0.5, 0.6, 0.7, 0.8, 0.9)
    assert len(list((out / "search").glob("wang2023-cr-*"))) == 2


def test_rows_in_a_file(project, tmp_path, capsys):
    file = plan_file(
        tmp_path,
        f"""
        labels = ["all", "keep-share=0.5"]
        [train]
        epochs = 3
        lr = 1e-3
        [rows."as it is"]
        recipe = "{FIRST}"
        [rows.longer]
        method = "role"
        seeds = [1]
        labels = ["all"]
        """,
    )
    assert call(project, "--rows", file, "--lr", 3e-3, "--out", tmp_path / "out", "--json") == 0
    cells = json.loads(capsys.readouterr().out)
    assert [(cell["row"], cell["labels"], cell["seed"]) for cell in cells] == [
        ("as it is", "all", 0), ("as it is", "keep-share=0.5", 0), ("longer", "all", 1),
    ]  # fmt: skip
    assert all(cell["epochs"] == 1 for cell in cells), "what the command line says counts more"
    assert all("--lr 0.003" in cell["command"] for cell in cells)
    assert cells[0]["recipe"] == FIRST and cells[2]["recipe"] == ""


def test_without_validation_json_has_no_number(project, tmp_path, capsys):
    assert call(project, "--recipes", FIRST, "--val", "none", "--out", tmp_path / "out", "--json") == 0
    (cell,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert cell["validation"] is None and cell["metrics"]["mAP"] > 0


# ---- wrong usage and bad input


def test_methods_by_name(project, tmp_path):
    out = ("--out", str(tmp_path / "out"))
    command = parse("compare", ["scenes", "--methods", "hill,role", "label-rnn", "hill", "--recipes", FIRST, *out])
    rows = {row.name: row.config for row in command.spec().rows}
    assert list(rows) == ["hill", "role", "label-rnn", FIRST]
    assert (rows["role"].method, rows["role"].settings, rows["role"].head) == ("role", {}, "gap")
    assert rows["label-rnn"].head == "label-rnn", "the only one that it works with"
    assert rows["hill"].epochs == rows[FIRST].epochs, "all are trained alike"


def test_wrong_usage(project, tmp_path, capsys):
    file = plan_file(tmp_path, f'[rows.a]\nrecipe = "{FIRST}"')
    out = ("--out", tmp_path / "out")
    either = "either --methods or --recipes to compare, or --rows"
    assert either in complaint(capsys, project, *out, code=2)
    assert either in complaint(capsys, project, "--recipes", FIRST, "--rows", file, *out, code=2)
    for option, value in (
        ("--labels", "single-positive"), ("--seeds", 1), ("--search", "lr=1,2"), ("--hide-seed", 0), ("--budget", 3),
    ):  # fmt: skip
        line = complaint(capsys, project, "--rows", file, option, value, *out, code=2)
        assert f"{option}: set this in the --rows file" in line
    assert "did you mean 'hill'" in complaint(capsys, project, "--methods", "hil", *out)
    assert "NAME=VALUE" in complaint(capsys, project, "--recipes", FIRST, "--search", "lr", *out, code=2)
    assert "--budget 0" in complaint(capsys, project, "--recipes", FIRST, "--budget", 0, *out, code=2)
    assert "at least one" in complaint(capsys, project, "--recipes", FIRST, "--labels", *out, code=2)
    rows_have_methods = complaint(capsys, project, "--recipes", FIRST, "--method", "role", *out, code=2)
    assert "no option --method; did you mean --methods?" in rows_have_methods
    assert "--out PATH is missing" in complaint(capsys, project, "--recipes", FIRST, code=2)
    assert not (tmp_path / "out").exists()


def test_bad_input_is_answered_in_one_line(project, tmp_path, capsys):
    one = ("--recipes", FIRST, "--out", tmp_path / "out")
    assert "no recipe named 'cole'" in complaint(capsys, project, "--recipes", "cole", "--out", tmp_path / "out")
    assert "no split named 'tset'" in complaint(capsys, project, *one, "--test", "tset")
    assert "choose the epoch" in complaint(capsys, project, *one, "--test", "val")
    assert "no boxes" in complaint(capsys, project, *one, "--pointing")
    assert "'voc'" in complaint(capsys, project, *one, "--published", "voc")
    assert "no label setting named 'single'" in complaint(capsys, project, *one, "--labels", "single")
    assert "'lrr'" in complaint(capsys, project, *one, "--search", "lrr=1,2")
    assert "lr must be a finite number, not 'fast'" in complaint(capsys, project, *one, "--search", "lr=fast")
    assert "epochs must be a whole number, not 'b'" in complaint(capsys, project, *one, "--search", "epochs=1,b")
    file = plan_file(tmp_path, "[rows.a]\nlrr = 1")
    assert f"{file}, rows.a: " in complaint(capsys, project, "--rows", file, *one[2:])
    assert "no such file" in complaint(capsys, project, "--rows", tmp_path / "none.toml", *one[2:])
    assert main(["compare", str(tmp_path / "none.csv"), *map(str, one)]) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_where_nothing_could_be_finished(project, tmp_path, capsys, options):
    one = ("--recipes", "cole2021-bce", "--labels", "single-positive", "--out", tmp_path / "out")
    assert "no run finished" in complaint(capsys, project, *one, *options)
    both = ("--recipes", "cole2021-bce", FIRST, *one[2:], *options)
    assert call(project, *both) == 0
    printed = capsys.readouterr()
    assert "warning: cole2021-bce, single-positive, seed 0: " in printed.err and "2 of 2: " in printed.err
    if options:
        assert [cell["row"] for cell in json.loads(printed.out)] == [FIRST]
    else:
        assert "— cole2021-bce, single-positive: " in printed.out


# ---- help and stopping


def test_help_leaves_out_what_rows_have_of_their_own(capsys):
    options = set(options_in_help(capsys, "compare"))
    assert {"epochs", "recipes", "images", "recipe"} <= options
    assert not {"method", "head", "head-settings", "graph", "relabel", "stages", "seed", "written"} & options


def test_ctrl_c_exits_130_and_the_same_command_resumes(project, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--recipes", FIRST, "--out", str(out), "--epochs", "50"]
    command = ["compare", project / "labels.csv", *QUICK, *arguments]
    stopped = stopped_command(command, signal.SIGINT, "last.safetensors")
    assert stopped.returncode == 130 and stopped.stdout == "" and "Traceback" not in stopped.stderr
    assert "stopped with 0 of 1 cell finished; the same command resumes" in stopped.stderr
    (folder,) = (folder for folder in (out / "cells").iterdir() if folder.is_dir())
    before = len((folder / "metrics.jsonl").read_text().splitlines())
    assert before < 50 and (folder / "last.safetensors").is_file() and not (folder / "result.json").exists()
    begun = (folder / "labels.npz").stat().st_mtime_ns
    assert call(project, *arguments, "--json") == 0
    assert [cell["epochs"] for cell in json.loads(capsys.readouterr().out)] == [50]
    assert (folder / "labels.npz").stat().st_mtime_ns == begun, "it was resumed, not started again"


def test_an_option_that_is_written_counts_more_than_the_file_even_where_the_recipe_says_the_same(project, tmp_path):
    """The recipe has 12 epochs, the file 1."""
    rows = plan_file(tmp_path, f'[train]\nepochs = 1\n[rows.a]\nrecipe = "{FIRST}"\n')
    words = [str(project / "labels.csv"), "--rows", str(rows), "--out", str(tmp_path / "out")]
    for options, epochs in (([], 1), (["--epochs", "12"], 12), (["--epochs=12", "--no-flip"], 12)):
        command = parse("compare", [*words, *options])
        config = command.spec().rows[0].config
        assert (config.epochs, config.flip) == (epochs, "--no-flip" not in options)


def test_several_processes_share_the_work(project, tmp_path):
    """Both end with the whole table, and each run was made once."""
    words = ["--recipes", FIRST, SECOND, "--seeds", "0", "1", "2", "--epochs", "1", "--image-size", "16"]
    line = ["compare", project / "labels.csv", *words, "--json", "--out", tmp_path / "out"]
    both = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        both.append(Forked(COMMAND_LINE, line, tmp_path / name))
    printed = [process.wait() for process in both]
    assert [done.returncode for done in printed] == [0, 0], printed
    one, other = (json.loads(done.stdout) for done in printed)
    assert one == other and len(one) == 6
    assert len(list((tmp_path / "out" / "cells").glob("*/result.json"))) == 6
