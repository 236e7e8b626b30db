"""`trilabel report`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trilabel.cli.arguments import RunPath, UsageError
from trilabel.cli.render import percent, print_json, print_line, print_table
from trilabel.errors import TrilabelError

if TYPE_CHECKING:
    from trilabel.training.record import EpochRecord


@dataclass(frozen=True, kw_only=True)
class Report:
    """Shows a run epoch by epoch: its scores, and how unknown labels were treated; also as pictures.

    Example: trilabel report runs/first

    Beside report.png it draws probabilities.png (how sure the model is of which labels) and, where there is something
    to tell, examples.png (single labels of a few training images).
    """

    run: RunPath
    """The run folder; the run may still be training."""
    out: Path | None = None
    """The picture (.png, .svg or .pdf), whose name the others begin with; none: report.png in the run folder."""
    json: bool = False
    """Print what was recorded as JSON."""

    def __call__(self) -> None:
        from trilabel.report import examples, plots, probabilities, training
        from trilabel.report.label_courses import courses
        from trilabel.training.run_folder import RunFolder

        folder = RunFolder(self.run)
        folder.read()  # raises an error if it is not a run folder
        history = folder.read_history()
        if not history:
            raise TrilabelError(f"{self.run}: this run has not finished an epoch yet")
        out = self.out or self.run / "report.png"
        if out.suffix not in (".png", ".svg", ".pdf"):
            raise UsageError(f"--out {out}: the name must end in .png, .svg or .pdf")
        kept = folder.best_record() if folder.best.is_file() else None
        best = kept or history[-1]
        plots.save(training.picture(history, kept), out)
        pictures = {"picture": str(out)}
        if probabilities.has_some(best):
            stem = "probabilities" if self.out is None else f"{out.stem}-probabilities"
            pictures["probabilities"] = str(out.with_name(f"{stem}{out.suffix}"))
            plots.save(probabilities.histograms(best, history), pictures["probabilities"], probabilities.CAPTION)
        if courses(history):
            stem = "examples" if self.out is None else f"{out.stem}-examples"
            pictures["examples"] = str(out.with_name(f"{stem}{out.suffix}"))
            plots.save(examples.picture(history), pictures["examples"], examples.CAPTION)
        if self.json:
            return print_json({**pictures, "epochs": [record.to_json() for record in history]})
        _print_history(history)
        for name, path in pictures.items():
            print_line(f"{name}: {path}")
        return None


def _print_history(history: "Sequence[EpochRecord]") -> None:
    from trilabel.report import examples, training

    print_table(*training.table(history))
    for line in training.soft_targets(history):
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
