"""Mutated inputs for all readers: each is read, or refused in one line, in bounded time and memory.

python -m reliability.mutations --cases 100000 --seed 0
python -m reliability.mutations --seed 0 --only 4711 --keep FOLDER    # one case, with the mutated file kept
"""

import argparse
import gc
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from reliability.memory import peak, start_peak
from reliability.mutators import mutate
from reliability.processes import SECONDS_BETWEEN_LINES, fork_context
from reliability.target import Target
from reliability.targets import make_targets
from reliability.targets_of_runs import write_run

LONGEST = 10.0  # seconds of computing
LONGEST_WAIT = 60.0  # seconds in all, on a machine that does other things too
MOST_MEMORY = 2 << 30
_ADDRESS_SPACE = 8 << 30  # above what a worker has at its start; a net below the net


class Outcome(NamedTuple):
    """What became of a case. `error` is empty if that is allowed."""

    number: int
    target: str
    refused: bool
    error: str = ""


class Cases:
    """The cases of a seed: number -> target, file and mutation."""

    def __init__(self, root: Path, made: Path, seed: int) -> None:
        self.seed, self.targets = seed, make_targets(root, made)
        order = [target for target in self.targets for _ in range(target.weight)]
        random.Random(f"order {seed}").shuffle(order)
        self.order = order

    def target(self, number: int) -> Target:
        """The target of a case."""
        return self.order[number % len(self.order)]

    def run(self, number: int, keep: Path | None = None) -> Outcome:
        """Mutates one file, reads it, and puts the file back."""
        from trilabel.errors import TrilabelError

        target, draw = self.target(number), random.Random(f"{self.seed} {number}")
        file = draw.choice(target.files)
        content = file.read_bytes()
        changed = mutate(content, file.suffix.lstrip(".").lower(), draw)
        if keep is not None:
            (keep / file.name).write_bytes(changed)
        file.unlink()  # a reader may still have the old one mapped
        file.write_bytes(changed)
        try:
            target.read()
        except TrilabelError as error:
            wrong = _unclear(str(error), file, target.named)
            return Outcome(number, target.name, True, wrong and f"{wrong} ({file.name}): {str(error)!r}"[:500])
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            text = f"{type(error).__name__} ({file.name}, {where}): {error}".replace("\n", " ")
            return Outcome(number, target.name, False, text[:600])
        finally:
            file.unlink(missing_ok=True)
            file.write_bytes(content)
        return Outcome(number, target.name, False)


def _unclear(message: str, file: Path, named: bool) -> str:
    """What is wrong with the line that refuses a file: it must be one line, and name the file or its folder."""
    if "\n" in message:
        return "more than one line"
    # NUS-WIDE lists classes in one folder and labels in another; then the folder of both is named.
    is_named = any(name in message for name in (file.name, file.parent.name, file.parent.parent.name))
    return "the file is not named" if named and not is_named else ""


def _work(root: str, made: str, seed: int, numbers: range, places: Any, results: Any) -> None:
    """A worker: all its cases, one after the other; `places` tells the watchdog where it is."""
    import torch

    torch.set_num_threads(1)
    os.chdir(root)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    cases = Cases(Path(root), Path(made), seed)
    mapped = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _ADDRESS_SPACE, resource.RLIM_INFINITY))
    for number in numbers:
        before = start_peak()
        places[:] = [float(number), time.monotonic(), time.process_time()]
        outcome = cases.run(number)
        used = peak() - before
        if used > MOST_MEMORY:
            outcome = outcome._replace(error=f"{used >> 20} MB of memory")
        if used > MOST_MEMORY >> 3:
            gc.collect()
        places[0] = -1.0
        results.put(outcome)
    results.put(None)


class Worker:
    """A process for every n-th case; killed and started again after the case in which it hangs or dies."""

    def __init__(self, root: Path, seed: int, numbers: range) -> None:
        self.root, self.seed, self.numbers, self.starts = root, seed, numbers, 0
        self.done = False
        self._start()

    def _start(self) -> None:
        context = fork_context()
        self._places = context.Array("d", [-1.0, 0.0, 0.0])
        self._results = context.SimpleQueue()
        folder = self.root / f"{self.numbers.start}-{self.starts}"
        folder.mkdir()
        self.starts += 1
        arguments = (str(folder), str(self.root / "made"), self.seed, self.numbers, self._places, self._results)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()

    def outcomes(self) -> Iterator[Outcome]:
        """What is new."""
        running, (number, since, computed) = self.process.is_alive(), self._places[:]
        while not self._results.empty():
            outcome = self._results.get()
            if outcome is None:
                self.done = True
                return
            self._count(outcome.number)
            yield outcome
        if not running and not self.numbers:
            self.done = True
        elif not running:
            yield self._end(number, f"the process ended with {self.process.exitcode}")
        elif number >= 0 and number == self._places[0] and (wrong := self._excess(since, computed)):
            yield self._end(number, wrong)

    def _count(self, number: int) -> None:
        """This case is done: a process that starts again begins with the next one."""
        self.numbers = range(number + self.numbers.step, self.numbers.stop, self.numbers.step)

    def _excess(self, since: float, computed: float) -> str:
        try:
            about = psutil.Process(self.process.pid)
            times, memory = about.cpu_times(), about.memory_info().rss
        except psutil.Error:  # it has just ended
            return ""
        if memory > 2 * MOST_MEMORY:
            return f"{memory >> 20} MB of memory"
        late = times.user + times.system - computed > LONGEST or time.monotonic() - since > LONGEST_WAIT
        return f"hangs ({time.monotonic() - since:.0f} s)" if late else ""

    def _end(self, place: float, error: str) -> Outcome:
        self.process.kill()
        self.process.join()
        number = int(place) if place >= 0 else self.numbers.start
        self._count(number)
        self._start()
        return Outcome(number, "", False, error)


def run_cases(
    root: Path,
    seed: int,
    cases: int,
    seconds: float = float("inf"),
    workers: int = 2,
    show: Callable[[str], None] = print,
) -> list[Outcome]:
    """So many cases, as many as the time allows, in `workers` processes."""
    write_run(root / "made")
    until, found = time.monotonic() + seconds, list[Outcome]()
    running = [Worker(root, seed, range(first, cases, workers)) for first in range(min(workers, cases))]
    shown = time.monotonic()
    while running and time.monotonic() < until:
        for outcome in (outcome for worker in running for outcome in worker.outcomes()):
            found.append(outcome)
            if outcome.error:
                show(f"--seed {seed} --only {outcome.number}: {outcome.target}: {outcome.error}")
        running = [worker for worker in running if not worker.done]
        if time.monotonic() - shown > SECONDS_BETWEEN_LINES:
            shown = time.monotonic()
            show(f"{len(found):,} mutated inputs, {sum(bool(outcome.error) for outcome in found)} faults")
        time.sleep(0.05)
    for worker in running:
        worker.process.kill()
        worker.process.join()
    return found


def summary(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row for all, and one per group of targets."""
    tried, lost = Counter[str](), Counter[str]()
    for outcome in found:
        group = f"mutated: {outcome.target.partition(' ')[0].rstrip(':') or 'unknown'}"
        tried[group] += 1
        lost[group] += bool(outcome.error)
    everything = {"fault": "mutated", "wanted": 100_000, "tried": tried.total(), "lost": lost.total()}
    groups = [{"fault": group, "tried": count, "lost": lost[group]} for group, count in sorted(tried.items())]
    return [everything, *groups]


def main() -> int:
    """Prints faults as they are found, and a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this long")
    parser.add_argument("--only", type=int, help="one case")
    parser.add_argument("--keep", type=Path, help="a folder for the mutated file of this case")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        if given.only is not None:
            signal.alarm(int(LONGEST_WAIT))
            write_run(root / "made")
            print(Cases(root / "cases", root / "made", given.seed).run(given.only, given.keep))
            return 0
        found = run_cases(root, given.seed, given.cases, 60 * given.minutes)
    print(json.dumps(summary(found), indent=1))
    return int(any(outcome.error for outcome in found))


if __name__ == "__main__":
    sys.exit(main())
