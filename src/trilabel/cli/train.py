"""Commands that train."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from trilabel.cli.common import Source, UsageError, absolute, from_anywhere, name_and_value, read_source
from trilabel.cli.render import percent, print_json, print_metrics, print_table
from trilabel.config import SETTINGS_OF, Config
from trilabel.errors import TrilabelError
from trilabel.recipes import resolve


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Shows what missing labels cost, and what methods win back, on scenes drawn by code. About three minutes.

    Example: trilabel demo --out demo-run
    """

    out: Path = Path("demo-run")
    """Folder for run folders, numbers and plot. A demo that is there already is replaced."""
    seed: int = 0
    """Of scenes, hidden labels and training."""
    json: bool = False
    """Print the results as JSON."""

    def __call__(self) -> None:
        from trilabel.cli.demo import run_demo

        cells = run_demo(self.out, self.seed)
        if self.json:
            return print_json([vars(cell) for cell in cells])
        rows = [
            [
                cell.labels,
                f"{cell.known:,}",
                cell.method,
                *map(percent, (cell.mAP, cell.CF1, cell.found)),
                cell.run or "—",
            ]
            for cell in cells
        ]
        print_table(["labels", "known", "method", "test mAP %", "test CF1 %", "hidden found %", "run folder"], rows)
        for cell in cells:
            if cell.reason:
                print(f"— {cell.labels}: {cell.reason}")
        print("hidden found: of H hidden positives, the share among the H hidden training labels scored highest")
        print(f"\nplot: {self.out / 'demo.png'}   numbers: {self.out / 'demo.json'}")
        return print(f"try next: trilabel evaluate {cells[0].run} scenes")


FILE_SETTINGS = ("vectors", "graph", "side", "runs")  # may name files


@dataclass(frozen=True, kw_only=True)
class Train(Config, Source):
    """Trains a classifier on labels with holes and writes a run folder.

    Example: trilabel train labels.csv --images photos --out runs/first

    On photographs: trilabel train labels.csv --recipe fine-tune --weights resnet50.safetensors

    After a stop: trilabel train --resume runs/first
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")] = ""
    """A file or folder in any format that trilabel reads, or "scenes" (drawn by code)."""
    out: Path | None = None
    """The run folder; none: runs/DATA-RECIPE."""
    recipe: str = "small"
    """Where the settings below start from (see `trilabel recipes`)."""
    set: tuple[str, ...] = ()
    """Settings of the method (see `trilabel methods`): NAME=VALUE …; of other parts (see `trilabel parts`):
    head.NAME=VALUE, graph.NAME=VALUE, relabel.NAME=VALUE."""
    hide: str | None = None
    """Hide training labels first, to see what it costs: keep-share=0.1, single-positive, … (see `data simulate`)."""
    hide_seed: int | None = None
    """Of the draw of hidden labels; none: the setting's own."""
    resume: Path | None = None
    """Go on with the run in this folder; it remembers its data and settings."""
    overwrite: bool = False
    """Replace the run folder if it exists."""
    json: bool = False
    """Print the result as JSON."""
    settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    head_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    graph_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    relabel_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)

    def __call__(self) -> None:
        from trilabel.training.api import train
        from trilabel.training.run_folder import RunFolder

        if bool(self.data) == (self.resume is not None):
            raise UsageError("give either data to train on, or --resume and a run folder")
        if self.resume is not None:
            about = RunFolder(self.resume).read()
            source, out = about["source"], self.resume
            config = self._resumed(about["config"])
            if not source:
                raise TrilabelError(
                    f"{self.resume}: this run was started from Python; resume it with trilabel.train(…, resume=True)"
                )
        else:
            chosen = {f.name: getattr(self, f.name) for f in fields(Config)} | self._settings()
            source = {"data": self.data, **self.options()}
            source = from_anywhere(source)
            chosen["weights"] = absolute(self.weights)
            source |= {"hide": self.hide, "hide_seed": self.hide_seed} if self.hide else {}
            config, out = Config(**chosen), self.out or Path("runs") / f"{Path(self.data).stem}-{self.recipe}"
        dataset = read_source(source, config)
        run = train(dataset, config, out, resume=self.resume is not None, overwrite=self.overwrite, source=source)
        if self.json:
            return print_json({"run": str(run.folder), "best": run.best, "epochs": len(run.history)})
        if run.metrics:
            how = ", unknown counted as absent" if run.best.get("val_unknown_as_absent") else ""
            epochs = sum(record["stage"] == run.best["stage"] for record in run.history)
            print_metrics(run.metrics, f"best epoch: {run.best['epoch']} of {epochs}, on validation{how}")
        else:
            print(f"{len(run.history)} epochs done; no validation, so the last one is kept")
        return print(f"run folder: {run.folder}\ntry next: trilabel predict {run.folder} IMAGES --out predictions.csv")

    def _settings(self) -> dict[str, dict[str, Any]]:
        """The settings of each part: those of the recipe, where the part is the recipe's, and over them those given."""
        began, found = resolve(self.recipe), dict[str, dict[str, Any]]()
        for part, field_name in SETTINGS_OF.items():
            same = getattr(self, part) == getattr(began, part)
            found[field_name] = dict(getattr(self, field_name)) if same else {}
        for text in self.set:
            name, value = name_and_value("--set", text)
            part, dot, own = name.partition(".")
            if dot and SETTINGS_OF.get(part, "settings") == "settings":
                raise UsageError(f"--set {text}: settings of other parts begin with head., graph. or relabel.")
            setting = own if dot else name
            if setting in FILE_SETTINGS:
                value = ",".join(absolute(item) or "" for item in value.split(","))
            found[SETTINGS_OF[part] if dot else "settings"][setting] = value
        return found

    def _resumed(self, began: Config) -> Config:
        """The settings to go on with; what may not change, or means nothing on the way, is refused."""
        from trilabel.training.resume import MAY_CHANGE

        settings = {f.name for f in fields(Config)}
        changed = [name for name in settings if getattr(self, name) != getattr(began, name)]
        others = [f.name for f in fields(self) if f.name not in settings and getattr(self, f.name) != f.default]
        refused = sorted({*changed, *others} - MAY_CHANGE - {"resume", "json"})
        if refused:
            options, allowed = (
                " ".join(f"--{n.replace('_', '-')}" for n in names) for names in (refused, sorted(MAY_CHANGE))
            )
            raise UsageError(f"{options}: a run goes on as it began; only these may be given with --resume: {allowed}")
        return replace(began, **{name: getattr(self, name) for name in changed})
