"""`trilabel report`."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from trilabel.cli.arguments import UsageError
from trilabel.cli.data_options import DataOptions, Reading, read_data, read_data_or_own
from trilabel.cli.render import percent, print_json, print_line, print_table
from trilabel.errors import TrilabelError

if TYPE_CHECKING:
    from trilabel.data import Dataset
    from trilabel.report.page import PageOptions, RunFacts
    from trilabel.training.record import EpochRecord

_FIGURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, kw_only=True)
class Report:
    """Shows a run on a page: what was known, how good it is, what became of unknown labels; several runs compared.

    Example: trilabel report runs/first

    The page (report.html) is one file that needs no network. Of a single run there are also tables, printed, and
    figures for papers: report.png, probabilities.png (how sure the model is of which labels) and, where there is
    something to tell, examples.png (single labels of a few training images).

    Several runs side by side: trilabel report runs/first runs/second
    """

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN …")] = ()
    """The run folder, or several; a run may still be training."""
    out: Path | None = None
    """The page (.html) or the figure (.png, .svg or .pdf); the others are named after it. none: report.html in the run
    folder or, of several runs, in the folder that they have in common."""
    data: str = ""
    """The data of the run, for pictures, if it has moved; none: as the run recorded it."""
    split: str | None = None
    """Judge the run by this split of the data, scored now; none: by the scores that it kept of images that it had not
    learned from."""
    pictures: bool = True
    """Show images, with class activation maps; --no-pictures: neither the data nor the model is read."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    json: bool = False
    """Print what was recorded as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.report.page import default_path, write_report
        from trilabel.training.target_worth import told_of_targets

        self._check()
        page = default_path(self.runs) if self.out is None else self.out.with_suffix(".html")
        facts = write_report(self.runs, page, self._options())
        if len(facts) > 1:
            return self._print_several(facts, page)
        history = facts[0].history
        files = {**self._draw(facts[0]), "page": str(page)}
        if self.json:
            epochs = [record.to_json() for record in history]
            return print_json({**files, "not_shown": facts[0].gaps, "epochs": epochs})
        _print_history(history, told_of_targets(facts[0].folder.targets_summary))
        for gap in facts[0].gaps:
            print_line(f"not shown: {gap}")
        for name, path in files.items():
            print_line(f"{name}: {path}")
        return None

    def _check(self) -> None:
        if not self.runs:
            raise UsageError("RUN is missing")
        if self.out is not None and self.out.suffix not in (".html", *_FIGURES):
            raise UsageError(f"--out {self.out}: the name must end in .html, .png, .svg or .pdf")
        if not self.data and self.reading.chosen():
            raise UsageError(f"{', '.join(self.reading.chosen())}: these options need --data")

    def _options(self) -> "PageOptions":
        from trilabel.report.page import PageOptions

        @cache
        def read(run: Path) -> "Dataset":
            """The data of a run; what the user named himself is read already."""
            try:
                return given or read_data_or_own("", {}, run)
            except UsageError as error:
                raise TrilabelError(str(error)) from None

        given = read_data(self.data, self.reading.chosen()) if self.data else None
        asked = self.pictures or self.split is not None or given is not None
        return PageOptions(read if asked else None, self.pictures, self.split, self.device)

    def _draw(self, facts: "RunFacts") -> dict[str, str]:
        """Draws the figures of a run; their paths by name."""
        from trilabel.report import examples, plots, probabilities, training
        from trilabel.report.label_courses import courses

        history, best = facts.history, facts.best or facts.history[-1]
        out = self.out or self.runs[0] / "report.png"
        suffix = out.suffix if out.suffix in _FIGURES else ".png"
        files = {"picture": str(out.with_suffix(suffix))}
        plots.save(training.picture(history, facts.best), files["picture"])
        prefix = "" if self.out is None else f"{out.stem}-"
        if probabilities.has_some(best):
            files["probabilities"] = str(out.with_name(f"{prefix}probabilities{suffix}"))
            figure = probabilities.histograms(best, history, facts.about.config.val == "folds")
            plots.save(figure, files["probabilities"], probabilities.caption(history))
        if courses(history):
            files["examples"] = str(out.with_name(f"{prefix}examples{suffix}"))
            plots.save(examples.picture(history), files["examples"], examples.CAPTION)
        return files

    def _print_several(self, facts: "Sequence[RunFacts]", page: Path) -> None:
        from trilabel.report.page import names_of, overview_table

        if self.json:
            runs = [
                {
                    "run": str(run),
                    "best": None if one.best is None else one.best.to_json(),
                    "metrics": None if one.numbers is None else one.numbers.overall,
                    "not_shown": one.gaps,
                }
                for run, one in zip(self.runs, facts, strict=True)
            ]
            return print_json({"page": str(page), "runs": runs})
        header, rows = overview_table(facts, names_of(facts))
        print_table(header, [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in rows])
        return print_line(f"page: {page}")


def _print_history(history: "Sequence[EpochRecord]", targets: "Sequence[str]") -> None:
    """targets: lines about those of the last of two rounds."""
    from trilabel.report import examples, training

    print_table(*training.table(history))
    for line in [*training.soft_targets(history), *targets]:
        print_line(line)
    header, rows = training.relabellings(history)
    if rows:
        print_line()
        print_table(header, rows)
        if any(name.endswith(("right %", "TP %", "TN %")) for name in header):
            print_line(
                "right: share of added labels that are right; TP, TN: the same among truly present, truly absent ones"
            )
    header, rows = examples.table(history)
    if rows:
        print_line()
        print_table(header, rows)
    if any(record.val_unknown_as_absent for record in history):
        print_line("validation has no known negatives: its scores count unknown as absent")
    if kinds := history[-1].highest_loss_in_first_epoch:
        words = ", ".join(f"{name.replace('_', ' ')} {percent(value)} %" for name, value in kinds.items())
        print_line(f"highest loss in the first epoch: {words}")
