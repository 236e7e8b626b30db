"""Run folders as targets: a stranger's, or one that lay on a bad disk."""

import io
import shutil
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from reliability.material import SIZE, write_project
from reliability.processes import hide_gpus
from reliability.target import Target, command_line, read_data


def write_run(folder: Path) -> None:
    """A small data set and a run trained on it, in `folder`."""
    from trilabel.cli.main import main

    hide_gpus()
    data, run = write_project(folder / "data"), folder / "run"
    words = ["--image-size", str(SIZE), "--epochs", "2", "--workers", "0", "--batch-size", "8", "--relabel", "score"]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        assert main(["train", str(data / "labels.csv"), "--out", str(run), *words]) == 0
        table = ["predict", str(run), str(data / "photos"), "--workers", "0", "--out"]
        assert main([*table, str(folder / "predictions.csv")]) == 0
        assert main([*table, str(folder / "predictions.json")]) == 0


def run_targets(root: Path) -> Iterator[Target]:
    import trilabel as tl
    from trilabel.labels import Labels
    from trilabel.training.run_folder import RunFolder

    run, image = root / "run", next((root / "data/photos").iterdir())
    folder = RunFolder(run)
    config, history, best = run / "config.json", run / "metrics.jsonl", folder.best
    yield Target("run: config.json", (config,), folder.read, 20)
    yield Target("run: metrics.jsonl", (history,), folder.read_history, 20)
    yield Target("run: labels.npz", (folder.labels,), lambda: Labels.load(folder.labels), 20)
    yield Target("run: best.safetensors", (best,), folder.best_record, 15)
    yield Target("run: load", (config, best), lambda: tl.load(run), 8)
    yield Target("run: predict", (config, best), lambda: command_line("predict", run, image, "--workers", 0), 4)
    everything = (history, folder.labels, folder.last, best)
    resume = ("train", "--resume", run, "--workers", 0)
    yield Target("run: resume", everything, lambda: _restoring(run, lambda: command_line(*resume)), 3)
    yield Target("run: report", (config, history, best), lambda: command_line("report", run, "--json"), 1)
    evaluated = ("evaluate", run, "--workers", 0)
    yield Target("run: evaluate", (config, best), lambda: command_line(*evaluated), 2)
    weights = ("train", root / "data/labels.csv", "--out", root / "new", "--weights", run, "--epochs", 1, "--overwrite",
               "--image-size", SIZE, "--workers", 0)  # fmt: skip
    # Not named: of weights that are only too large one hears by the loss.
    yield Target("run: as weights", (best,), lambda: command_line(*weights), 1, named=False)
    for name in ("predictions.csv", "predictions.json"):
        yield Target(f"table of predictions, {name[-4:]}", (root / name,), partial(read_data, root / name), 6)


def _restoring(run: Path, work: Callable[[], None]) -> None:
    """What a run that resumes writes is put back."""
    kept = {file: file.read_bytes() for file in run.iterdir() if file.is_file()}
    try:
        work()
    finally:
        for file in run.iterdir():
            if file not in kept:
                file.unlink() if file.is_file() else shutil.rmtree(file)
        for file, content in kept.items():
            if file.read_bytes() != content if file.is_file() else True:
                file.write_bytes(content)
