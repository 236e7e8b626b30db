"""Methods for positives on the embedded scenes, one positive an image: mean ± deviation over seeds.

    python benchmarks/scenes_one_positive.py --out runs/scenes --jobs 12

8,000 training scenes (--train), the recipe `small` with 24 epochs (--epochs), the epoch chosen on 500 fully labelled
scenes, scored on 1,000 more. Scenes, hidden labels and training follow the seed. "+ LinearInit" starts from the
backbone of a 12-epoch assume-negative run: ten epochs of the head alone, then all. Writes the runs and results.json
under --out. On a GPU about half an hour with one job, a fraction of it with several; on two cores several hours.
"""

import argparse
import json
import multiprocessing
import statistics
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

INIT = {"plan": "linear-then-fine-tune", "linear_epochs": 10, "linear_lr": 4e-3}
AN: dict[str, Any] = {"method": "assume-negative"}
LL_R = {"method": "large-loss", "settings": {"mode": "reject", "delta": 0.5}}
LL_CT = {"method": "large-loss", "settings": {"mode": "correct", "delta": 0.3}}
LL_CP = {"method": "large-loss", "settings": {"mode": "correct-for-good", "delta": 0.1}}
START = "AN, 12 epochs"
ALL, IUN = "all labels", "IUN (oracle)"
METHODS: dict[str, dict[str, Any]] = {
    START: AN | {"epochs": 12},
    ALL: {"method": "known-only", "settings": {"normalise": "all"}},
    IUN: {"method": "known-only", "settings": {"normalise": "all"}},
    "AN": AN,
    "AN-LS": AN | {"settings": {"smoothing": 0.1}},
    "WAN": AN | {"settings": {"weight": None}},
    "EPR": {"method": "expected-positive"},
    "ROLE": {"method": "role"},
    "LL-R": LL_R,
    "LL-Ct": LL_CT,
    "LL-Cp": LL_CP,
    "ASL": {"method": "asymmetric"},
    "Hill": {"method": "hill"},
    "SPLC": {"method": "splc"},
    "CSL": {"method": "selective", "settings": {"top_k": 1}},
    "AN + LinearInit": AN | INIT,
    "ROLE + LinearInit": {"method": "role"} | INIT,
    "LL-R + LinearInit": LL_R | INIT,
    "LL-Ct + LinearInit": LL_CT | INIT,
}


def cell(name: str, seed: int, train_images: int, epochs: int, out: Path) -> dict[str, Any]:
    """One method, one seed."""
    import torch

    from trilabel import simulate
    from trilabel.console import muted
    from trilabel.data import scenes
    from trilabel.demo import hidden_presents_found
    from trilabel.engine import train
    from trilabel.predict import load
    from trilabel.recipes import small

    torch.set_num_threads(1)
    full = scenes(train=train_images, seed=seed)
    rows = full.rows_of("train")
    hide = {ALL: None, IUN: f"single-positive=1,{len(full.classes)}"}.get(name, "single-positive")
    partial = full
    if hide is not None:
        partial = full.with_labels(simulate.apply_to_rows(full.labels, rows, hide, 1200 + seed))
    config = replace(small(), **({"epochs": epochs, "seed": seed, "workers": 0} | METHODS[name]))
    if config.plan != "fine-tune":
        config = replace(config, weights=str(out / f"{START}-{seed}"))
    with muted():
        run = train(partial, config, out / f"{name}-{seed}", overwrite=True)
    model = load(run)
    scored = model.evaluate(full, "test")
    found = None
    if hide == "single-positive":
        found = hidden_presents_found(full, partial, model.score_rows(full, rows)[0].numpy())
    return {
        "method": name,
        "seed": seed,
        "test mAP": scored["mAP"],
        "test CF1": scored["CF1"],
        "hidden found": found,
        "val mAP": run.metrics["mAP"],
        "epoch": run.best["epoch"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/scenes-one-positive"))
    parser.add_argument("--train", type=int, default=8000)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), metavar="METHOD")
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    # Those that start from the weights of others come last.
    first = [name for name in METHODS if name in chosen.methods and "plan" not in METHODS[name]]
    second = [name for name in METHODS if name in chosen.methods and "plan" in METHODS[name]]
    results: list[dict[str, Any]] = []
    with ProcessPoolExecutor(chosen.jobs, multiprocessing.get_context("spawn")) as pool:
        for names in (first, second):
            tasks = [
                pool.submit(cell, name, seed, chosen.train, chosen.epochs, chosen.out)
                for name in names
                for seed in chosen.seeds
            ]
            for task in tasks:
                results.append(task.result())
                print(json.dumps(results[-1]), flush=True)
                chosen.out.mkdir(parents=True, exist_ok=True)
                (chosen.out / "results.json").write_text(json.dumps(results, indent=1))
    columns = ("test mAP", "test CF1", "hidden found")
    print(f"\n| method | {' | '.join(f'{column} %' for column in columns)} |\n| --- {'| --- ' * len(columns)}|")
    for name in [*first, *second]:
        of_name = [result for result in results if result["method"] == name]
        print(f"| {name} | {' | '.join(spread([result[column] for result in of_name]) for column in columns)} |")


def spread(values: list[float | None]) -> str:
    known = [100 * value for value in values if value is not None]
    if not known:
        return "—"
    return f"{statistics.mean(known):.1f}" + (f" ± {statistics.stdev(known):.1f}" if len(known) > 1 else "")


if __name__ == "__main__":
    main()
