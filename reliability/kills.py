"""Kills of the real command line, at random moments, at chosen calls and inside writes; and disks that are full.

python -m reliability.kills --random 200 --chosen 60 --full 20 --seed 0
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reliability.cases import CASES, Case
from reliability.faults import Call, Fault
from reliability.material import write_project
from reliability.outcome import differences, leftovers, visible_faults
from reliability.processes import Ended, command

Kind = Literal["random", "chosen", "full"]
_MOST_KILLS = 3  # of one run


@dataclass(frozen=True)
class Undisturbed:
    """A command that ran to its end: what it wrote, how long it took, and the calls by which it changed files."""

    case: Case
    out: Path
    seconds: float
    calls: tuple[Call, ...]

    def writes(self) -> list[tuple[int, int]]:
        """(number of the call that opens a file, the size that the file has in the end)."""
        found = []
        for number, call in enumerate(self.calls, 1):
            if call.kind == "open" and not call.path.endswith(".lock"):
                placed = next((later.path for later in self.calls[number:] if later.kind in ("replace", "rename")), "")
                file = self.out if self.out.is_file() else self.out / _below_out(placed)
                found.append((number, file.stat().st_size if file.is_file() else 64))
        return found


@dataclass
class Trial:
    """A command that was killed and run again until it was done."""

    case: str
    kind: Kind
    number: int
    kills: list[str] = field(default_factory=list)  # when it was killed
    calls: list[str] = field(default_factory=list)  # the calls at which it was killed
    faults: list[str] = field(default_factory=list)  # what was lost


class Workshop:
    """The data, the trained run and the undisturbed results that all trials share."""

    def __init__(self, folder: Path, cases: Sequence[Case] = CASES, seed: int = 0) -> None:
        self.folder, self.cases, self.seed = folder, cases, seed
        self.data, self.run = write_project(folder / "data"), folder / "run"
        first = command(CASES[0].arguments(self.data, self.run, self.run))
        assert first.code == 0, first.output
        self._known: dict[str, Undisturbed] = {}

    def undisturbed(self, case: Case) -> Undisturbed:
        """The result of a command that nobody disturbs; made once."""
        if case.name not in self._known:
            out, record = self._place(case, "undisturbed"), self.folder / f"{_plain(case.name)}.calls"
            ended = command(self._arguments(case, out), record=record, below=out.parent)
            assert ended.code == 0, f"{case.name}: {ended.output}"
            calls = tuple(Call(*line.split("\t")) for line in record.read_text().splitlines())
            self._known[case.name] = Undisturbed(case, out, ended.seconds, calls)
        return self._known[case.name]

    def trial(self, kind: Kind, number: int) -> Trial:
        """The trial of this number, from 0; all its draws come from the seed, the kind and the number."""
        draw = random.Random(f"{self.seed} {kind} {number}")
        case = self._case(kind, number)
        known, out = self.undisturbed(case), self._place(case, f"{kind}{number:05d}")
        trial, arguments = Trial(case.name, kind, number), self._arguments(case, out)
        attempts, hits = [arguments], draw.randint(1, _MOST_KILLS if kind == "random" else 2)
        for _ in range(hits):
            ended = self._disturbed(kind, attempts[0], known, draw, trial, out)
            if ended.code == 0:
                break
            if kind == "full":
                trial.faults += _unclear(ended)
            trial.faults += visible_faults(out, known.out, changes=case.kind != "write")
            attempts = case.again(arguments, out, known.out)
        else:
            trial.faults += self._finish(attempts)
        trial.faults += differences(out, known.out) + leftovers(out.parent)
        if not trial.faults:
            shutil.rmtree(out.parent)
        return trial

    def _case(self, kind: Kind, number: int) -> Case:
        usable = [case for case in self.cases if kind == "random" or case.processes == 1]
        return usable[number % len(usable)]

    def _place(self, case: Case, name: str) -> Path:
        """Always at the same depth: some outputs hold relative paths."""
        folder = self.folder / _plain(case.name) / name
        folder.mkdir(parents=True)
        out = folder / f"out{case.suffix}"
        if case.overwrites:
            shutil.copytree(self.run, out)
        return out

    def _arguments(self, case: Case, out: Path) -> list[str]:
        return case.arguments(self.data, self.run, out)

    def _disturbed(
        self, kind: Kind, arguments: list[str], known: Undisturbed, draw: random.Random, trial: Trial, out: Path
    ) -> Ended:
        if kind == "random":
            after = draw.uniform(0, known.seconds)
            one = draw.randrange(2) if known.case.processes > 1 and draw.random() < 0.5 else None
            ended = command(arguments, kill_after=after, kill_one_child=one)
            happened = f"after {after:.2f} s" + ("" if one is None else f", process {one} only")
        else:
            fault = _draw_fault(kind, known, draw)
            ended = command(arguments, fault=fault, below=out.parent)
            happened = str(fault)
            if ended.code:
                trial.calls.append(f"{fault.how} {known.calls[fault.number - 1].kind}")
        if ended.code:
            trial.kills.append(happened)
        return ended

    def _finish(self, attempts: Sequence[list[str]]) -> list[str]:
        for arguments in attempts:
            ended = command(arguments)
            if ended.code == 0:
                return []
        return [f"cannot go on: {ended.last_line}"]


def _draw_fault(kind: Kind, known: Undisturbed, draw: random.Random) -> Fault:
    if kind == "full" or draw.random() < 0.4:
        number, size = draw.choice(known.writes())
        return Fault(number, "disk-full" if kind == "full" else "in-write", draw.choice((0, draw.randrange(size))))
    kinds = sorted({call.kind for call in known.calls})
    wanted = draw.choice(kinds)  # kinds first: most calls are of a few kinds
    number = draw.choice([number for number, call in enumerate(known.calls, 1) if call.kind == wanted])
    return Fault(number, draw.choice(("before", "after")))


def _below_out(path: str) -> str:
    """The part of a path below the folder "out"."""
    return path.rpartition("/out/")[2]


def _unclear(ended: Ended) -> list[str]:
    """What is wrong with how a command told that it could not write."""
    lines = [line for line in ended.output.splitlines() if line.startswith("trilabel: ")]
    if ended.code != 1 or len(lines) != 1 or "--debug" in ended.output or "Traceback" in ended.output:
        return [f"unclear: exit {ended.code}, {ended.output.strip()[-300:]!r}"]
    return []


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)


def run_trials(
    workshop: Workshop,
    wanted: Sequence[tuple[Kind, int]],
    seconds: float = float("inf"),
    workers: int = 2,
    show: Callable[[str], None] = print,
) -> list[Trial]:
    """These trials, as many as the time allows, several at once."""
    for case in dict.fromkeys(workshop._case(kind, number) for kind, number in wanted):
        workshop.undisturbed(case)  # alone, for its time
    until, done = time.monotonic() + seconds, list[Trial]()

    def one(which: tuple[Kind, int]) -> Trial | None:
        return workshop.trial(*which) if time.monotonic() < until else None

    with ThreadPoolExecutor(workers) as pool:
        for trial in pool.map(one, wanted):
            if trial is not None:
                done.append(trial)
                for fault in trial.faults:
                    show(f"{trial.kind} {trial.number}: {trial.case}, killed {'; '.join(trial.kills)}: {fault}")
                if len(done) % 20 == 0:
                    show(f"{len(done)} trials, {sum(len(one.kills) for one in done)} kills")
    return done


def summary(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """A row per command and kind of fault, and one per kind of call."""
    rows = []
    for kind, what in (
        ("random", "killed at random moments"),
        ("chosen", "killed at chosen calls"),
        ("full", "disk full"),
    ):
        for case in dict.fromkeys(trial.case for trial in trials):
            of_it = [trial for trial in trials if (trial.kind, trial.case) == (kind, case)]
            if of_it:
                rows.append(_row(f"{what}: {case}", sum(len(trial.kills) for trial in of_it), of_it))
    calls = Counter(call for trial in trials if trial.kind == "chosen" for call in trial.calls)
    return rows + [{"fault": f"of these {call}", "tried": count, "lost": 0} for call, count in sorted(calls.items())]


def _row(fault: str, tried: int, trials: Sequence[Trial]) -> dict[str, Any]:
    return {"fault": fault, "tried": tried, "lost": sum(bool(trial.faults) for trial in trials)}


def wanted_trials(counts: dict[Kind, int]) -> Iterator[tuple[Kind, int]]:
    """Kind and number of so many trials of each kind, mixed so that a short run has tried all kinds."""
    shares = [((number + 0.5) / count, kind, number) for kind, count in counts.items() for number in range(count)]
    for _, kind, number in sorted(shares):
        yield kind, number


def main() -> int:
    """Prints faults as they are found, and a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for kind, count in (("random", 200), ("chosen", 60), ("full", 20)):
        parser.add_argument(f"--{kind}", type=int, default=count, help="trials of this kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--only", help="one trial, such as random:17")
    parser.add_argument("--keep", type=Path, help="a new folder to work in; what trials lost stays there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        workshop = Workshop(given.keep or Path(temporary), seed=given.seed)
        if given.only:
            kind, number = given.only.split(":")
            wanted = [(kind, int(number))]
        else:
            wanted = list(wanted_trials({"random": given.random, "chosen": given.chosen, "full": given.full}))
        trials = run_trials(workshop, wanted, 60 * given.minutes)
    print(json.dumps(summary(trials), indent=1))
    return int(any(trial.faults for trial in trials))


if __name__ == "__main__":
    sys.exit(main())
