"""`trilabel demo`."""

from dataclasses import dataclass
from pathlib import Path

from trilabel.cli.render import percent, print_json, print_line, print_table
from trilabel.printable import command_line


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Shows what missing labels cost, and how much methods recover, on scenes drawn by code. About three minutes.

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
                result.method,
                *map(percent, (result.mAP, result.CF1, result.found)),
                result.run or "—",
            ]
            for result in results
        ]
        print_table(["labels", "known", "method", "test mAP %", "test CF1 %", "hidden found %", "run folder"], rows)
        for result in results:
            if result.reason:
                print_line(f"— {result.labels}: {result.reason}")
        print_line("hidden found: of H hidden positives, the share among the H hidden training labels scored highest")
        print_line()
        print_line(f"plot: {self.out / 'demo.png'}   numbers: {self.out / 'demo.json'}")
        return print_line(f"try next: {command_line('trilabel', 'evaluate', results[0].run, 'scenes')}")
