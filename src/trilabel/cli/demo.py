"""`trilabel demo`."""

from dataclasses import dataclass
from pathlib import Path

from trilabel.cli.render import percent, print_json, print_line, print_table
from trilabel.printable import command_line

_EXPLAINED = (
    "unknown = absent: what most tools do with a missing label; present from a probability of 0.5 on",
    "trilabel: what `trilabel train --rounds 2` does by itself, with the thresholds that it fitted",
    "mAP: are the scenes that show a class ranked above the others? CF1: are they also called present?",
    "hidden found: of H hidden positives, the share among the H hidden training labels scored highest",
)


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Shows what missing labels cost, and how much of it is won back, on scenes drawn by code. About three minutes.

    Example: trilabel demo --out demo-run
    """

    out: Path = Path("demo-run")
    """Folder for run folders, numbers and plot. An earlier demo in it is replaced."""
    seed: int = 0
    """Seed of scenes, hidden labels and training."""
    json: bool = False
    """Print the results as JSON."""

    def __call__(self) -> None:
        from trilabel.cli.demo_experiment import run_demo

        results = run_demo(self.out, self.seed)
        if self.json:
            return print_json([vars(result) for result in results])
        rows = [
            [
                result.labels,
                f"{result.known:,}",
                result.way,
                *map(percent, (result.mAP, result.CF1, result.found)),
                result.run,
            ]
            for result in results
        ]
        print_table(["labels", "known", "learned", "test mAP %", "test CF1 %", "hidden found %", "run folder"], rows)
        for line in _EXPLAINED:
            print_line(line)
        print_line()
        print_line(f"plot: {self.out / 'demo.png'}   numbers: {self.out / 'demo.json'}")
        return print_line(f"try next: {command_line('trilabel', 'evaluate', results[0].run, 'scenes')}")
