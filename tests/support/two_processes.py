"""A pool of two gloo processes and the work that tests give them; imports little, as both processes import it too."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist

from tests.support import SECONDS_UNTIL_HUNG
from trilabel import metrics


@contextmanager
def start(folder: Path) -> Iterator[Callable[[Callable[[Any], Any], Any], list[Any]]]:
    """Gives run(work, argument): both processes call work(argument); it returns their two answers, in any order."""
    context = torch.multiprocessing.get_context("spawn")
    ranks = context.SimpleQueue()
    for rank in range(2):
        ranks.put(rank)
    with context.Pool(2, initializer=_join, initargs=(str(folder / "store"), ranks)) as pool:
        # One task each: a process that has one waits in it for the other process.
        yield lambda work, argument: pool.map_async(work, [argument] * 2, chunksize=1).get(timeout=SECONDS_UNTIL_HUNG)


def _join(store: str, ranks: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=ranks.get(), world_size=2)


def all_gather(tensor: torch.Tensor) -> torch.Tensor:
    parts = [torch.empty_like(tensor) for _ in range(2)]
    dist.all_gather(parts, tensor)
    return torch.stack(parts)


def gather_scores(indices: tuple[list[int], list[int]]) -> list[list[float]]:
    """Process 0 scores its images of 11 −1 −1, process 1 image i as i, i + 0.5; returns what each has in the end."""
    mine = torch.tensor(indices[dist.get_rank()], dtype=torch.long)
    scores = torch.stack((mine, mine + 0.5), dim=1) if dist.get_rank() else torch.full((len(mine), 2), -1.0)
    accumulator = metrics.Accumulator(11, 2)
    accumulator.add(mine, scores)
    accumulator.gather(all_gather, scores_at_once=6)  # in several pieces
    return accumulator.scores().tolist()


def agree(asked: list[tuple[int, int, bool]]) -> list[bool]:
    """At each step (does process 0 ask, does process 1 ask, do they wait for the answer); returns the answers."""
    from trilabel.training.agreement import Agreement  # imports much

    agreement = Agreement(SimpleNamespace(count=2))  # type: ignore[arg-type]
    answers = [agreement.any(bool(step[dist.get_rank()]), wait=step[2]) for step in asked]
    agreement.finish()
    return answers
