"""The command that compares methods."""

import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from trilabel.cli.common import (
    Source,
    UsageError,
    absolute,
    at_least_one,
    from_anywhere,
    name_and_value,
    read_data,
)
from trilabel.cli.render import print_json
from trilabel.config import Config
from trilabel.errors import TrilabelError

if TYPE_CHECKING:
    from trilabel.compare import CellResult, Comparison, Spec

_OF_THE_FILE = ("labels", "hide_seed", "seeds", "search", "budget")


@dataclass(frozen=True, kw_only=True)
class Compare(Config, Source):
    """Trains methods × label settings × seeds on one data set and puts the numbers side by side.

    Example: trilabel compare scenes --recipes cole2021-an kim2022-ll-r cole2021-role --labels single-positive
    --seeds 0 1 2 --out runs/compared

    A recipe gives the method; how it is trained is the same for all, by --recipe and the settings below. Rows of other
    kinds, and what is searched for each, go into a file: --rows FILE.toml. Stopped, the same command goes on.
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A file or folder in any format that trilabel reads, or "scenes" (drawn by code)."""
    out: Path
    """Folder for tables (CSV, Markdown, LaTeX), plot and run folders."""
    rows: Path | None = None
    """A TOML file with methods, label settings, seeds and search, in the place of --recipes,
    --labels, --hide-seed, --seeds, --search and --budget."""
    recipes: tuple[str, ...] = ()
    """Methods to compare, by the recipes that have them."""
    labels: tuple[str, ...] = ("all",)
    """Label settings: all, single-positive, keep-share=0.1, … (see `data simulate`)."""
    hide_seed: int | None = None
    """Of the draw of hidden labels; none: the setting's own. Seeds of training leave it as it is."""
    seeds: tuple[int, ...] = (0,)
    """Seeds to train with."""
    search: tuple[str, ...] = ()
    """What to search on validation: NAME=VALUE,VALUE … such as lr=1e-5,1e-4 or settings.delta=0.1,0.5; or published,
    what each method's paper searched."""
    budget: int = 12
    """Search runs a method and label setting, at most; of a larger grid so many are drawn."""
    test: str = "test"
    """The split that is scored in the end."""
    published: tuple[str, ...] = ()
    """Data sets whose published figures to show: voc2012, voc2007, coco2014, …"""
    pointing: bool = False
    """Also play the pointing game (needs boxes)."""
    keep: bool = False
    """Keep the models, not only the numbers."""
    recipe: str = "small"
    """How every method is trained (see `trilabel recipes`); the other settings start from it."""
    json: bool = False
    """Print all cells as JSON."""
    given: tyro.conf.Suppress[tuple[str, ...]] = ()  # names of the options that were written
    method: tyro.conf.Suppress[str] = "auto"  # from here on: what rows have of their own
    head: tyro.conf.Suppress[str] = "gap"
    graph: tyro.conf.Suppress[str] = "none"
    relabel: tyro.conf.Suppress[str] = "none"
    augment: tyro.conf.Suppress[Literal["weak", "strong"]] = "weak"
    stages: tyro.conf.Suppress[Literal["fine-tune", "linear", "linear-then-fine-tune"]] = "fine-tune"
    linear_epochs: tyro.conf.Suppress[int] = 25
    seed: tyro.conf.Suppress[int] = 0
    settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    head_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    graph_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    relabel_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)

    def __call__(self) -> None:
        from dataclasses import asdict

        from trilabel.compare import Comparison
        from trilabel.report.comparison import run_and_report

        source = from_anywhere({"data": self.data, **self.options()})
        base = Config(**{f.name: getattr(self, f.name) for f in fields(Config)} | {"weights": absolute(self.weights)})
        plan = self._plan(base)
        dataset = read_data(source["data"], {name: value for name, value in source.items() if name != "data"})
        comparison = Comparison(
            dataset,
            plan,
            self.out,
            test=self.test,
            published=self.published,
            pointing=self.pointing,
            keep=self.keep,
            source=source,
        )
        with _watched(comparison) as seen:
            run_and_report(comparison, seen)
        if not comparison.cells:
            raise TrilabelError("no run could be finished (see above)")
        if self.json:
            return print_json([_plain(asdict(cell)) for cell in comparison.cells])
        _show(comparison)
        return print(f"\ntables and plot: {self.out}/table.md, table.tex, table.csv, cells.csv, plot.png")

    def _plan(self, base: Config) -> "Spec":
        from dataclasses import replace

        from trilabel.compare import Spec, read_spec, recipe_row, with_grids

        if bool(self.recipes) == (self.rows is not None):
            raise UsageError("give either --recipes to compare, or --rows FILE.toml")
        if self.rows is not None:
            defaults = {f.name: f.default for f in fields(self)}
            if wrong := [name for name in _OF_THE_FILE if getattr(self, name) != defaults[name]]:
                raise UsageError(f"--{wrong[0].replace('_', '-')}: this stands in the file of --rows")
            own = {name: getattr(base, name) for name in (f.name for f in fields(Config)) if name in self.given}
            plan = read_spec(self.rows, base)
            # What is given on the command line counts more than what the file says of training.
            return replace(plan, rows=tuple(replace(row, config=replace(row.config, **own)) for row in plan.rows))
        if not self.labels or not self.seeds:
            raise UsageError("--labels and --seeds need at least one value")
        at_least_one(budget=self.budget)
        rows = tuple(recipe_row(recipe, base) for recipe in dict.fromkeys(self.recipes))
        plan = Spec(rows, self.labels, self.hide_seed, self.seeds, budget=self.budget)
        if self.search == ("published",):
            return with_grids(plan, "published")
        if "published" in self.search:
            raise UsageError("--search published stands alone; what else is searched goes into a file, --rows")
        pairs = (name_and_value("--search", text) for text in self.search)
        return with_grids(plan, {name: values.split(",") for name, values in pairs})


def _plain(cell: dict[str, Any]) -> dict[str, Any]:
    """A cell as JSON has it: no number where there was no validation."""
    value = cell["validation"]
    return {**cell, "validation": None if value is None or math.isnan(value) else value}


@contextmanager
def _watched(comparison: "Comparison") -> Iterator[Callable[[], None]]:
    """On a terminal a table that fills up; elsewhere a line for each run."""
    if not sys.stderr.isatty():
        yield _Lines(comparison)
        return
    from rich.console import Console, Group, RenderableType
    from rich.live import Live

    from trilabel.report.comparison import live_table
    from trilabel.training.run_folder import RunFolder

    begun, planned = time.monotonic(), comparison.spec.cell_keys()

    def look() -> RenderableType:
        words = f"{len(comparison.cells)} of {len(planned)} cells, {len(comparison.trials)} search runs"
        words += f", {time.monotonic() - begun:,.0f} s"
        if (folder := comparison.folder) is not None:  # the other thread may set it to none at any time
            words += f"; {folder.name}: epoch {len(RunFolder(folder).read_history()) + 1}"
        return Group(live_table(comparison.cells, planned, comparison.running, comparison.metrics[0]), words)

    with Live(get_renderable=look, console=Console(stderr=True), refresh_per_second=2, transient=True):
        yield lambda: None


class _Lines:
    """A line on standard error for each run that is done."""

    def __init__(self, comparison: "Comparison") -> None:
        self.comparison, self.planned = comparison, len(comparison.spec.cell_keys())
        self.said: list[CellResult] = []

    def __call__(self) -> None:
        from trilabel.log import log

        cells, trials = self.comparison.cells, self.comparison.trials
        if new := [cell for cell in cells if cell not in self.said]:  # the last to be done may not be last in the plan
            cell, self.said = new[0], cells
            score = cell.metrics[self.comparison.metrics[0]]
            done = f"{len(cells) + len(self.comparison.failed)} of {self.planned}"
            value = "—" if score is None else f"{100 * score:.1f} %"
            log.info(
                f"{done}: {cell.row}, {cell.labels}, seed {cell.seed}: test {self.comparison.metrics[0]} {value} "
                f"(epoch {cell.epoch} of {cell.epochs}, {cell.seconds:.0f} s)"
            )
        elif trials and self.comparison.running is not None:
            trial = trials[-1]
            value = "failed" if trial.validation is None else f"{100 * trial.validation:.1f} %"
            tried = ", ".join(f"{name}={given}" for name, given in trial.tried.items())
            log.info(f"search: {trial.row}, {trial.labels}, {tried}: validation {value} ({trial.seconds:.0f} s)")


def _show(comparison: "Comparison") -> None:
    from rich.console import Console

    from trilabel.report.comparison import live_table

    Console().print(live_table(comparison.cells, [], None, comparison.metrics[0]))
    for row, labels, why in comparison.failures():
        print(f"— {row}, {labels}: {why}")
