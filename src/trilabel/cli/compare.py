"""`trilabel compare`."""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from trilabel.cli.arguments import DataPath, Trust, UsageError, absolute_path, flag, require_positive, split_pair
from trilabel.cli.data_options import DataOptions, Reading, read_data, with_absolute_paths
from trilabel.cli.render import print_json, print_line
from trilabel.cli.weights_option import with_weights
from trilabel.config import METHOD_FIELDS, Config
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.plugin_files import trust
from trilabel.printable import plural

if TYPE_CHECKING:
    from trilabel.compare import Comparison, Spec

_IN_THE_FILE = ("labels", "hide_seed", "seeds", "search", "budget")  # with --rows


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Trains methods × label settings × seeds on one data set and compares the results in one table.

    Example: trilabel compare scenes --methods assume-negative posterior --labels single-positive --out runs/compared

    As papers set them: trilabel compare scenes --recipes cole2021-an kim2022-ll-r cole2021-role --out runs/papers

    All methods are trained alike, with the settings of --recipe and the options below. Other rows, and what to search
    for each, are written in a file: --rows FILE.toml. If the command is stopped, the same command resumes.
    """

    # What rows have of their own.
    HIDDEN_SETTINGS: ClassVar[Collection[str]] = frozenset({*METHOD_FIELDS, "seed"})
    # The options of the short help, in this order.
    COMMON: ClassVar[Collection[str]] = (
        *("data", "images", "methods", "recipes", "labels", "seeds", "out", "recipe", "weights", "epochs", "rows"),
    )

    data: DataPath
    """A file or folder in any format that trilabel reads, or "scenes" (drawn by code)."""
    out: Path
    """Folder for tables (CSV, Markdown, LaTeX), plot and run folders."""
    rows: Path | None = None
    """A TOML file with methods, label settings, seeds and search, instead of --methods, --recipes, --labels,
    --hide-seed, --seeds, --search and --budget."""
    methods: Annotated[tuple[str, ...], tyro.conf.arg(metavar="METHOD …")] = ()
    """Methods to compare, each in its own default settings (see `trilabel methods`); also FILE.py:CLASS."""
    recipes: Annotated[tuple[str, ...], tyro.conf.arg(metavar="RECIPE …")] = ()
    """Methods to compare, in the settings of these recipes (see `trilabel recipes`)."""
    labels: tuple[str, ...] = ("all",)
    """Label settings: all, single-positive, keep-share=0.1, … (see `data simulate`)."""
    hide_seed: int | Literal["each"] | None = None
    """Seed of the hidden labels, which are the same for all training seeds, or each: that of the training; none: that
    of the label setting."""
    seeds: tuple[int, ...] = (0,)
    """Seeds to train with."""
    search: tuple[str, ...] = ()
    """Settings to search on validation: NAME=VALUE,VALUE … such as lr=1e-5,1e-4 or settings.delta=0.1,0.5; published:
    what the paper of each method searched."""
    budget: int = 12
    """Largest number of search runs per method and label setting; from a larger grid that many points are sampled."""
    test: str = "test"
    """The split on which the chosen models are scored."""
    published: tuple[str, ...] = ()
    """Data sets whose published figures to show: voc2012, voc2007, coco2014, …"""
    pointing: bool = False
    """Also play the pointing game (needs boxes)."""
    keep: bool = False
    """Keep the models, not only the numbers."""
    trust: Trust = ()
    recipe: str = "small"
    """How every method is trained (see `trilabel recipes`); the options below change it."""
    json: bool = False
    """Print all results as JSON."""
    reading: Reading = field(default_factory=DataOptions)
    config: Annotated[Config, tyro.conf.OmitArgPrefixes] = field(default_factory=Config)
    """How to train. The defaults come from the recipe."""
    written: tyro.conf.Suppress[frozenset[str]] = frozenset()  # names of the options on the command line

    def __call__(self) -> None:
        from trilabel.cli.compare_progress import watch
        from trilabel.compare import Comparison
        from trilabel.report.comparison import run_and_report

        trust(self.trust)
        source = with_absolute_paths({"data": self.data, **self.reading.chosen()})
        spec = self.spec()
        comparison = Comparison(
            read_data(source["data"], {name: value for name, value in source.items() if name != "data"}),
            spec,
            self.out,
            test=self.test,
            published=self.published,
            pointing=self.pointing,
            keep=self.keep,
            source=source,
        )
        try:
            with watch(comparison) as finished_one:
                run_and_report(comparison, finished_one)
        except (KeyboardInterrupt, SystemExit):
            done, planned = len(comparison.cells), len(comparison.spec.cell_keys())
            log.info(f"stopped with {done} of {plural(planned, 'cell')} finished; the same command resumes")
            raise
        if not comparison.cells:
            raise TrilabelError("no run finished (see the errors above)")
        if self.json:
            return print_json([_without_nan(asdict(cell)) for cell in comparison.cells])
        _print_comparison(comparison)
        print_line()
        return print_line(f"tables and plot: {self.out}/table.md, table.tex, table.csv, cells.csv, plot.png")

    def spec(self) -> "Spec":
        """What to compare: the contents of the --rows file, or the given recipes, label settings and seeds."""
        from trilabel.compare import Spec, method_row, recipe_row, with_grids

        if bool(self.methods or self.recipes) == (self.rows is not None):
            raise UsageError("give either --methods or --recipes to compare, or --rows FILE.toml")
        teachers = tuple(absolute_path(run) or run for run in self.config.teachers)
        base = replace(with_weights(self.config, self.written, real_images=False), teachers=teachers)
        if self.rows is not None:
            return self._spec_in_file(self.rows, base)
        if not self.labels or not self.seeds:
            raise UsageError("--labels and --seeds need at least one value")
        require_positive(budget=self.budget)
        rows = [method_row(method, base) for method in _names(self.methods)]
        rows += [recipe_row(recipe, base) for recipe in _names(self.recipes)]
        spec = Spec(tuple(rows), self.labels, self.hide_seed, self.seeds, budget=self.budget)
        if self.search == ("published",):
            return with_grids(spec, "published")
        if "published" in self.search:
            raise UsageError(
                "--search published cannot be combined with other searches; write those in a file (--rows)"
            )
        pairs = (split_pair("--search", text) for text in self.search)
        return with_grids(spec, {name: values.split(",") for name, values in pairs})

    def _spec_in_file(self, file: Path, base: Config) -> "Spec":
        from trilabel.compare import read_spec

        defaults = {f.name: f.default for f in fields(self)}
        if wrong := [name for name in _IN_THE_FILE if getattr(self, name) != defaults[name]]:
            raise UsageError(f"{flag(wrong[0])}: set this in the --rows file instead")
        spec = read_spec(file, base)
        # Training settings on the command line override those in the file.
        given = {f.name: getattr(base, f.name) for f in fields(Config) if f.name in self.written}
        return replace(spec, rows=tuple(replace(row, config=replace(row.config, **given)) for row in spec.rows))


def _names(given: Sequence[str]) -> list[str]:
    """Names that are separated by blanks or commas, each once."""
    return list(dict.fromkeys(name for text in given for name in text.split(",") if name))


def _without_nan(cell: dict[str, Any]) -> dict[str, Any]:
    """A result for JSON: null where there was no validation."""
    value = cell["validation"]
    return {**cell, "validation": None if value is None or math.isnan(value) else value}


def _print_comparison(comparison: "Comparison") -> None:
    from rich.console import Console

    from trilabel.report.comparison import live_table

    Console().print(live_table(comparison.cells, [], None, comparison.metrics[0]))
    for row, labels, why in comparison.failures():
        print_line(f"— {row}, {labels}: {why}")
