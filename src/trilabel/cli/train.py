"""`trilabel train`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

import trilabel as tl
from trilabel.cli.answers import read_any_answers
from trilabel.cli.arguments import NamesAndValues, OptionalDataPath, Trust, UsageError, absolute_path, flag, split_pair
from trilabel.cli.data_options import DataOptions, Reading, are_scenes, read_training_data, with_absolute_paths
from trilabel.cli.render import print_json, print_line, print_metrics
from trilabel.cli.weights_option import with_weights
from trilabel.config import SETTINGS_OF, Config
from trilabel.errors import TrilabelError, explain
from trilabel.log import log, quiet
from trilabel.plugin_files import trust, trust_options, use
from trilabel.printable import command_line, plural
from trilabel.recipes import resolve

if TYPE_CHECKING:
    from trilabel.training.run_folder import Run

_MAY_NAME_FILES = ("vectors", "graph", "side", "table", "runs", "targets")  # settings whose paths are made absolute


@dataclass(frozen=True, kw_only=True)
class Train:
    """Trains a classifier on labels of which many are unknown and writes a run folder.

    Example: trilabel train labels.csv --images photos --weights resnet50.safetensors --out runs/first

    How it trains follows from images, weights and device (see `trilabel weights` and `trilabel recipes`).

    Resume a stopped run: trilabel train --resume runs/first
    """

    HIDDEN_SETTINGS: ClassVar = frozenset(SETTINGS_OF.values())  # given by --set
    # The options of the short help, in this order.
    COMMON: ClassVar = ("data", "images", "out", "recipe", "weights", "method", "set", "epochs", "val", "resume")

    data: OptionalDataPath = ""
    """A file or folder in any format that trilabel reads, or "scenes" (drawn by code)."""
    out: Path | None = None
    """The run folder; none: runs/DATA-RECIPE."""
    recipe: str = "photos"
    """The settings to start from (see `trilabel recipes`); the options below change them."""
    set: NamesAndValues = ()
    """Settings of the method (see `trilabel methods`): NAME=VALUE …; of other components (see `trilabel components`):
    head.NAME=VALUE, graph.NAME=VALUE, relabel.NAME=VALUE."""
    provenance: Path | None = None
    """The table of where completed labels come from (trilabel complete writes it): predicted ones are learned from, but
    never count as known, nor choose the epoch."""
    predicted: Literal["soft", "hard"] = "soft"
    """With --provenance, what predicted labels are: soft: the probabilities, of all that were scored; hard: what was
    decided, others are left out."""
    hide: str | None = None
    """Hide training labels first, to measure the effect: keep-share=0.1, single-positive, … (see `data simulate`); or
    leave images out: images=0.1, images=0.1+single-positive."""
    hide_seed: int | None = None
    """Seed of the hidden labels; none: that of the label setting."""
    answers: Path | None = None
    """Answers of people (the store of trilabel review, or an audit table filled in): what they confirmed is known, also
    where the data says the contrary."""
    resume: Path | None = None
    """Resume the run in this folder, with its data and settings."""
    trust: Trust = ()
    overwrite: bool = False
    """Replace the run folder if it exists."""
    json: bool = False
    """Print the result as JSON."""
    reading: Reading = field(default_factory=DataOptions)
    config: Annotated[Config, tyro.conf.OmitArgPrefixes] = field(default_factory=Config)
    """How to train. The defaults come from the recipe, or from the resumed run."""
    written: tyro.conf.Suppress[frozenset[str]] = frozenset()  # names of the options on the command line

    def __call__(self) -> None:
        from trilabel.training.launch import is_first_process

        if bool(self.data) == (self.resume is not None):
            raise UsageError("give either data to train on, or --resume and a run folder")
        trust(self.trust)
        if self.resume is not None and self._is_finished(self.resume):
            if is_first_process():
                self._show_finished(self.resume)
        elif is_first_process():
            run = self._train()
            _print_result(run, _write_page(run), self.json)
        else:  # of those that torchrun started, one reports
            with quiet(bars=True):
                self._train()

    def _is_finished(self, folder: Path) -> bool:
        """Whether the run to resume has come to its end, and nothing is asked that lets it go on."""
        from trilabel.training.run_folder import RunFolder

        if not RunFolder(folder).finished.is_file():
            return False
        _, config, _ = self._resumed(folder)
        before = RunFolder(folder).read().config
        return (config.epochs, config.patience) == (before.epochs, before.patience)

    def _show_finished(self, folder: Path) -> None:
        from trilabel.report.page import default_path
        from trilabel.training.run_folder import RunFolder
        from trilabel.training.run_lock import lock_run

        trust_options(RunFolder(folder).read().config.head)  # a file that is not trusted is told before anything else
        with lock_run(folder):  # puts away what a run leaves that was killed when all was done
            log.info(f"{folder} is finished; to train on, pass more --epochs")
        run, page = RunFolder(folder).run(), default_path([folder])
        _print_result(run, page if page.is_file() else _write_page(run), self.json)

    def _train(self) -> "Run":
        from trilabel.training.launch import is_first_process
        from trilabel.training.run_folder import RunFolder
        from trilabel.training.run_lock import lock_run

        if self.resume is not None:
            source, config, out = self._resumed(self.resume)
        else:
            config, out = self.chosen_config(), self.out or Path("runs") / f"{Path(self.data).stem}-{self.recipe}"
            asked = {} if self.answers is None else {"answers": self.answers}
            source = with_absolute_paths({"data": self.data, **self.reading.chosen(), **asked})
            source |= {"hide": self.hide, "hide_seed": self.hide_seed} if self.hide else {}
            source |= {"provenance": absolute_path(str(self.provenance))} if self.provenance else {}
        resume = self.resume is not None
        if is_first_process():
            with lock_run(out):  # before data is read, which may take long
                otherwise = f"pass --overwrite, or go on with: {command_line('trilabel', 'train', '--resume', out)}"
                RunFolder(out).check(resume, self.overwrite, otherwise)
        split = read_training_data(source, config)
        answers = read_any_answers(Path(source["answers"])) if "answers" in source else []
        return tl.train(split, config, out, answers=answers, resume=resume, overwrite=self.overwrite, source=source)

    def chosen_config(self) -> Config:
        """The configuration of a new run: that of the recipe, changed by the flags and by --set."""
        teachers = tuple(absolute_path(run) or run for run in self.config.teachers)
        config = with_weights(self.config, self.written, real_images=not are_scenes(self.data))
        config = replace(
            config, method=use(config.method), head=use(config.head), teachers=teachers, **self._settings()
        )
        return config if self.provenance is None else self._taught(config, self.provenance)

    def _taught(self, config: Config, provenance: Path) -> Config:
        """Predicted labels are targets, beside the known labels."""
        for name in ("method", "rounds", "teachers", "folds", "set", "hide"):
            if name in self.written and getattr(config, name, None) != "taught":
                raise UsageError(f"--provenance and {flag(name)}: what is predicted is learned from as it is; give one")
        targets = absolute_path(str(provenance)) or str(provenance)
        return replace(
            config, method="taught", settings={"targets": targets, "hard": self.predicted == "hard"}, rounds=1
        )

    def _settings(self) -> dict[str, Any]:
        """The settings of each component: the recipe's if the component is the recipe's, changed by --set."""
        start, found = resolve(self.recipe), dict[str, dict[str, Any]]()
        for component, field_name in SETTINGS_OF.items():
            same = getattr(self.config, component) == getattr(start, component)
            found[field_name] = dict(getattr(self.config, field_name)) if same else {}
        for text in self.set:
            name, value = split_pair("--set", text)
            component, dot, setting = name.rpartition(".")
            if dot and component not in SETTINGS_OF.keys() - {"method"}:
                raise UsageError(f"--set {text}: settings of other components begin with head., graph. or relabel.")
            if setting in _MAY_NAME_FILES:
                value = ",".join(absolute_path(item) or "" for item in value.split(","))
            found[SETTINGS_OF[component or "method"]][setting] = value
        return found

    def _resumed(self, folder: Path) -> tuple[Mapping[str, Any], Config, Path]:
        """(how its data is read, the settings, the folder) of the run to resume."""
        from trilabel.training.resume import MAY_CHANGE
        from trilabel.training.run_folder import RunFolder

        about = RunFolder(folder).read()
        if not about.source:
            raise TrilabelError(
                f"{folder}: this run was started from Python; resume it with trilabel.train(…, resume=True)"
            )
        values = {f.name: getattr(self.config, f.name) for f in fields(Config)}
        changed = {name: value for name, value in values.items() if value != getattr(about.config, name)}
        given = {f.name for f in fields(self) if getattr(self, f.name) != f.default} - {"config", "reading", "written"}
        refused = sorted({*changed, *given, *self.reading.chosen()} - MAY_CHANGE - {"resume", "json", "trust"})
        if refused:
            allowed = " ".join(map(flag, sorted({*MAY_CHANGE, "trust"})))
            raise UsageError(
                f"{' '.join(map(flag, refused))}: a resumed run keeps its settings; with --resume only these may be "
                f"given: {allowed}"
            )
        about.require(["method", "head", "format"], folder, unchanged=True)
        return about.source, replace(about.config, **changed), folder


def _write_page(run: "Run") -> Path | None:
    """Leaves report.html in the run folder, from what is there already: without pictures, in a second or two."""
    from trilabel.report.page import default_path, write_report

    try:
        write_report([run.folder])
    except Exception as error:  # whatever it is: the run itself is over, and safe
        log.warning(f"{run.folder}: no report.html ({explain(error, '')}); trilabel report makes one")
        return None
    return default_path([run.folder])


def _as_decided(run: "Run") -> dict[str, Any] | None:
    """The metrics at the fitted thresholds, by which the run predicts; None where there are none, or no scores kept."""
    from trilabel.report.page.judged import metrics_as_decided
    from trilabel.training.run_folder import RunFolder

    try:
        return metrics_as_decided(RunFolder(run.folder))
    except (TrilabelError, OSError) as error:
        log.warning(f"{run.folder}: metrics are at a probability of 0.5 ({explain(error, '')})")
        return None


def _print_result(run: "Run", page: Path | None, as_json: bool) -> None:
    decided = _as_decided(run)
    if as_json:
        found = {"run": str(run.folder), "best": run.best.to_json(), "epochs": len(run.history)}
        found |= {"at_thresholds": decided}
        return print_json(found | ({} if page is None else {"page": str(page)}))
    if run.metrics:
        low = ", unknown counted as absent (so too low; fully labelled images would tell)"
        how = low if run.best.val_unknown_as_absent else ""
        epochs = sum(record.stage == run.best.stage for record in run.history)
        what = f"best epoch: {run.best.epoch} of {epochs}, on validation"
        if run.config.val == "folds":
            what = "no image held out: each training image scored by one of 5 heads, fitted without it"
        if decided is not None:
            how += ", at the thresholds that were fitted to the same labels"
        print_metrics(decided or run.metrics, f"{what}{how}")
    else:
        print_line(f"{plural(len(run.history), 'epoch')} done; no validation, so the last one is kept")
    print_line(f"run folder: {run.folder}")
    if page is not None:
        print_line(f"report: {page} (with pictures: {command_line('trilabel', 'report', run.folder)})")
    words = ("trilabel", "predict", run.folder, "IMAGES", "--out", "predictions.csv")
    return print_line(f"try next: {command_line(*words, *trust_options(run.config.head))}")
