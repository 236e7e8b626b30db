"""Mutated inputs for all readers: each is read, or refused in one line, in bounded time and memory.

python -m reliability.mutations --cases 100000 --seed 0
python -m reliability.mutations --seed 0 --only 4711 --keep FOLDER    # one case, with the mutated file kept
"""

import argparse
import contextlib
import gc
import json
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from reliability.mutators import mutate
from reliability.processes import _context
from reliability.targets import Target, make_targets, write_run

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

    def __init__(self, root: Path, seed: int) -> None:
        self.seed, self.targets = seed, make_targets(root)
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
            wrong = "more than one line" if "\n" in str(error) else ""
            return Outcome(number, target.name, True, wrong and f"{wrong}: {str(error)!r}"[:500])
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            text = f"{type(error).__name__} ({file.name}, {where}): {error}".replace("\n", " ")
            return Outcome(number, target.name, False, text[:600])
        finally:
            file.unlink(missing_ok=True)
            file.write_bytes(content)
        return Outcome(number, target.name, False)


def _work(root: str, seed: int, numbers: "range", places: Any, results: Any) -> None:
    """A worker: all its cases, one after the other; `places` tells the watchdog where it is."""
    import torch

    torch.set_num_threads(1)
    os.chdir(root)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    cases = Cases(Path(root), seed)
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + _ADDRESS_SPACE, resource.RLIM_INFINITY))
    for number in numbers:
        before = _peak_memory()
        places[:] = [float(number), time.monotonic(), time.process_time()]
        outcome = cases.run(number)
        if _peak_memory() - before > MOST_MEMORY:
            outcome = outcome._replace(error=f"{(_peak_memory() - before) >> 20} MB of memory")
        if _peak_memory() - before > MOST_MEMORY >> 3:
            gc.collect()
        places[0] = -1.0
        results.put(outcome)
    results.put(None)


def _peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


class Worker:
    """A process for every n-th case, which is killed and started again if it hangs."""

    def __init__(self, root: Path, seed: int, numbers: range) -> None:
        self.root, self.seed, self.numbers, self.restarts = root, seed, numbers, 0
        self._start()

    def _start(self) -> None:
        context = _context()
        self.places = context.Array("d", [-1.0, 0.0, 0.0])
        self.results = context.SimpleQueue()
        folder = self.root / f"{self.numbers.start}-{self.restarts}"
        (folder / "made").parent.mkdir()
        os.symlink(self.root / "made", folder / "made")
        arguments = (str(folder), self.seed, self.numbers, self.places, self.results)
        self.process = context.Process(target=_work, args=arguments, daemon=True)
        self.process.start()

    def watch(self) -> Outcome | None:
        """Kills a worker that hangs or has died; what became of its case."""
        number, since, computed = self.places[:]
        if self.process.is_alive():
            if number < 0:
                return None
            with contextlib.suppress(psutil.Error):
                about = psutil.Process(self.process.pid)
                times, memory = about.cpu_times(), about.memory_info().rss
                if memory > 2 * MOST_MEMORY:
                    return self._end(f"{memory >> 20} MB of memory")
                if times.user + times.system - computed > LONGEST or time.monotonic() - since > LONGEST_WAIT:
                    return self._end(f"hangs ({time.monotonic() - since:.0f} s)")
            return None
        if not self.results.empty() or number < 0:
            return None
        return self._end(f"the process ended with {self.process.exitcode}")

    def _end(self, error: str) -> Outcome:
        number = int(self.places[0])
        self.process.kill()
        self.process.join()
        rest = range(number + self.numbers.step, self.numbers.stop, self.numbers.step)
        self.numbers, self.restarts = rest, self.restarts + 1
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
        idle = True
        for worker in list(running):
            outcomes = [worker.watch()]
            while not worker.results.empty():
                outcome = worker.results.get()
                if outcome is None:
                    running.remove(worker)
                    worker.process.join()
                    break
                outcomes.append(outcome)
            for outcome in outcomes:
                if outcome is not None:
                    idle = False
                    found.append(outcome)
                    if outcome.error:
                        show(f"--seed {seed} --only {outcome.number}: {outcome.target}: {outcome.error}")
        if time.monotonic() - shown > 30:
            shown = time.monotonic()
            show(f"{len(found):,} mutated inputs, {sum(bool(outcome.error) for outcome in found)} faults")
        if idle:
            time.sleep(0.02)
    for worker in running:
        worker.process.kill()
        worker.process.join()
    return found


def summary(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """A row per group of targets."""
    tried, lost = Counter[str](), Counter[str]()
    for outcome in found:
        group = f"mutated: {outcome.target.partition(' ')[0].rstrip(':') or 'unknown'}"
        tried[group] += 1
        lost[group] += bool(outcome.error)
    return [{"fault": group, "tried": count, "lost": lost[group]} for group, count in sorted(tried.items())]


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
            print(Cases(root, given.seed).run(given.only, given.keep))
            return 0
        found = run_cases(root, given.seed, given.cases, 60 * given.minutes)
    print(json.dumps(summary(found), indent=1))
    return int(any(outcome.error for outcome in found))


if __name__ == "__main__":
    multiprocessing.freeze_support()
    sys.exit(main())
