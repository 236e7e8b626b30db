"""What the scripts on the embedded scenes share: methods × seeds, several at a time, as a table of mean ± deviation."""

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
class SceneRow:
    """One row of a table: its changes to the recipe `small`, the hidden labels, and the runs that it needs."""

    changes: Mapping[str, Any]
    hide: str | None
    needs: tuple[str, ...] = ()  # rows of the same seed that must be trained first:
    needed_for: Literal["weights", "ensemble"] = "weights"  # to start from the first, or to relabel with all
    training_seed: int = 0  # added to the seed, for a second run on the same data


@dataclass(frozen=True)
class SceneTable:
    """All rows of a table."""

    about: str
    out: str
    rows: Mapping[str, SceneRow]
    train: int
    epochs: int
    hide_seed: int = 0
    shown: tuple[str, ...] = field(default=COLUMNS)


def run_cell(
    name: str, row: SceneRow, seed: int, train_images: int, epochs: int, hide_seed: int, out: Path
) -> dict[str, Any]:
    """Trains and scores one row with one seed, which also draws the scenes and the hidden labels."""
    import torch

    from trilabel.cli.demo_experiment import hidden_positives_found
    from trilabel.data import scenes
    from trilabel.inference.loading import load
    from trilabel.labels import simulate
    from trilabel.log import quiet
    from trilabel.recipes import small
    from trilabel.training.api import train

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
    """The run folder of a cell; no commas, because relabelling takes a list of runs with commas."""
    return out / f"{name}-{seed}".replace(",", "").replace(" ", "-")


def main(table: SceneTable) -> None:
    """Runs the chosen rows and seeds, writes results.json after each, prints the table."""
    parser = argparse.ArgumentParser(description=table.about.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(table.out))
    parser.add_argument("--train", type=int, default=table.train)
    parser.add_argument("--epochs", type=int, default=table.epochs)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=list(table.rows), metavar="METHOD")
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.methods if name not in table.rows]:
        parser.error(f"no row {unknown[0]!r}; there are: {', '.join(table.rows)}")
    wanted = {name for name in table.rows if name in chosen.methods}
    wanted |= {other for name in wanted for other in table.rows[name].needs}
    # Rows that need the runs of others come last.
    rounds = [
        [name for name in table.rows if name in wanted and bool(table.rows[name].needs) is late]
        for late in (False, True)
    ]
    results: list[dict[str, Any]] = []
    chosen.out.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(chosen.jobs, multiprocessing.get_context("spawn")) as pool:
        for names in rounds:
            tasks = [
                pool.submit(
                    run_cell, name, table.rows[name], seed, chosen.train, chosen.epochs, table.hide_seed, chosen.out
                )
                for seed in chosen.seeds
                for name in names
            ]
            for task in tasks:
                results.append(task.result())
                print(json.dumps(results[-1]), flush=True)
                (chosen.out / "results.json").write_text(json.dumps(results, indent=1))
    print(f"\n| method | {' | '.join(f'{column} %' for column in table.shown)} |\n| --- {'| --- ' * len(table.shown)}|")
    for name in [name for names in rounds for name in names]:
        of_name = [result for result in results if result["method"] == name]
        print(f"| {name} | {' | '.join(spread([result[column] for result in of_name]) for column in table.shown)} |")


def spread(values: list[float | None]) -> str:
    """Mean ± deviation in %."""
    known = [100 * value for value in values if value is not None]
    if not known:
        return "—"
    return f"{statistics.mean(known):.1f}" + (f" ± {statistics.stdev(known):.1f}" if len(known) > 1 else "")
