"""What the scripts on the embedded scenes share: methods × seeds, several at a time, as a table with spreads."""

import argparse
import json
import multiprocessing
import statistics
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

COLUMNS = ("test mAP", "test CF1", "hidden found")


@dataclass(frozen=True)
class Cell:
    """One row of a table: what differs from the recipe `small`, which labels are hidden, and which runs it needs."""

    changes: Mapping[str, Any]
    hide: str | None
    needs: tuple[str, ...] = ()  # rows of the same seed that must be there first:
    needed_for: Literal["weights", "ensemble"] = "weights"  # to start from the first of them, or to relabel with them
    training_seed: int = 0  # added to the seed, for a second run on the same data


@dataclass(frozen=True)
class Grid:
    """All rows of a table."""

    about: str
    out: str
    rows: Mapping[str, Cell]
    train: int
    epochs: int
    hide_seed: int = 0
    shown: tuple[str, ...] = field(default=COLUMNS)


def run_cell(
    name: str, row: Cell, seed: int, train_images: int, epochs: int, hide_seed: int, out: Path
) -> dict[str, Any]:
    """One row, one seed. Scenes, hidden labels and training follow the seed."""
    import torch

    from trilabel.cli.demo_experiment import hidden_positives_found
    from trilabel.data import scenes
    from trilabel.inference.predictor import load
    from trilabel.labels import simulate
    from trilabel.log import quiet
    from trilabel.recipes import small
    from trilabel.training.loop import train

    torch.set_num_threads(1)
    full = scenes(train=train_images, seed=seed)
    rows, partial = full.rows_of("train"), full
    if row.hide is not None:
        hide = row.hide.replace("CLASSES", str(len(full.classes)))
        partial = full.with_labels(simulate.apply_to_rows(full.labels, rows, hide, hide_seed + seed))
    changes = {"epochs": epochs, "seed": seed + row.training_seed, "workers": 0, **row.changes}
    if row.needs:
        runs = [str(folder_of(out, other, seed)) for other in row.needs]
        changes |= {"weights": runs[0]} if row.needed_for == "weights" else {"relabel_settings": {"runs": runs}}
    with quiet():
        run = train(partial, replace(small(), **changes), folder_of(out, name, seed), overwrite=True)
    model = load(run)
    scored = model.evaluate(full, "test")
    found = None
    if row.hide is not None:
        found = hidden_positives_found(full, partial, model.score_rows(full, rows)[0].numpy())
    return {
        "method": name,
        "seed": seed,
        "test mAP": scored["mAP"],
        "test CF1": scored["CF1"],
        "hidden found": found,
        "val mAP": run.metrics["mAP"],
        "epoch": run.best["epoch"],
        "relabelled": [record["relabelled"] for record in run.history if "relabelled" in record],
    }


def folder_of(out: Path, name: str, seed: int) -> Path:
    """Where a cell's run is; relabelling names runs in a list with commas."""
    return out / f"{name}-{seed}".replace(",", "").replace(" ", "-")


def main(grid: Grid) -> None:
    """Runs the rows and seeds that are asked for, writes results.json as they come, prints the table."""
    parser = argparse.ArgumentParser(description=grid.about.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(grid.out))
    parser.add_argument("--train", type=int, default=grid.train)
    parser.add_argument("--epochs", type=int, default=grid.epochs)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=list(grid.rows), metavar="METHOD")
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    if strangers := [name for name in chosen.methods if name not in grid.rows]:
        parser.error(f"no row {strangers[0]!r}; there are: {', '.join(grid.rows)}")
    wanted = {name for name in grid.rows if name in chosen.methods}
    wanted |= {other for name in wanted for other in grid.rows[name].needs}
    # Those that start from the runs of others come last.
    rounds = [
        [name for name in grid.rows if name in wanted and bool(grid.rows[name].needs) is late] for late in (False, True)
    ]
    results: list[dict[str, Any]] = []
    chosen.out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(chosen.jobs, multiprocessing.get_context("spawn")) as pool:
        for names in rounds:
            tasks = [
                pool.submit(
                    run_cell, name, grid.rows[name], seed, chosen.train, chosen.epochs, grid.hide_seed, chosen.out
                )
                for seed in chosen.seeds
                for name in names
            ]
            for task in tasks:
                results.append(task.result())
                print(json.dumps(results[-1]), flush=True)
                (chosen.out / "results.json").write_text(json.dumps(results, indent=1))
    print(f"\n| method | {' | '.join(f'{column} %' for column in grid.shown)} |\n| --- {'| --- ' * len(grid.shown)}|")
    for name in [name for names in rounds for name in names]:
        of_name = [result for result in results if result["method"] == name]
        print(f"| {name} | {' | '.join(spread([result[column] for result in of_name]) for column in grid.shown)} |")


def spread(values: list[float | None]) -> str:
    """Mean ± deviation in %."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return "—"
    return f"{statistics.mean(known):.1f}" + (f" ± {statistics.stdev(known):.1f}" if len(known) > 1 else "")
