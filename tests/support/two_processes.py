"""A pool of two gloo processes and the work that tests give them; imports little, as both processes import it too."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
import torch.distributed as dist
from torch import nn

from tests.support import SECONDS_UNTIL_HUNG
from trilabel import metrics

Run = Callable[[Callable[[Any], Any], Any], list[Any]]


@contextmanager
def start(folder: Path, context: Any) -> Iterator[Run]:
    """Gives run(work, argument): both processes call work(argument); it returns their two answers, in any order."""
    ranks = context.SimpleQueue()
    for rank in range(2):
        ranks.put(rank)
    with context.Pool(2, initializer=_join, initargs=(str(folder / "store"), ranks, dict(os.environ))) as pool:
        # One task each: a process that has one waits in it for the other process.
        yield lambda work, argument: pool.map_async(work, [argument] * 2, chunksize=1).get(timeout=SECONDS_UNTIL_HUNG)


def _join(store: str, ranks: Any, environment: dict[str, str]) -> None:
    os.environ.update(environment)
    os.fsync = lambda descriptor: None  # as in the other tests, see conftest.py
    torch.set_num_threads(1)
    rank = ranks.get()
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)


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


def mean_average_precision(given: tuple[torch.Tensor, torch.Tensor, tuple[list[int], list[int]]]) -> float:
    """The mAP by torchmetrics of scores and labels of which each process sees its rows."""
    from trilabel.metrics.torchmetrics import MeanAveragePrecision

    scores, labels, rows = given
    metric, mine = MeanAveragePrecision(scores.shape[1]), torch.tensor(rows[dist.get_rank()], dtype=torch.long)
    for part in mine.split(4) if len(mine) else ():
        metric.update(scores[part], labels[part], part)
    return float(metric.compute())


def agree(asked: list[tuple[int, int, bool]]) -> list[bool]:
    """At each step (does process 0 ask, does process 1 ask, do they wait for the answer); returns the answers."""
    from trilabel.training.agreement import Agreement  # imports much

    with pytest.MonkeyPatch.context() as patched, groups_given_back(patched):
        agreement = Agreement(SimpleNamespace(count=2))  # type: ignore[arg-type]
        answers = [agreement.any(bool(step[dist.get_rank()]), wait=step[2]) for step in asked]
        agreement.finish()
    return answers


def serve(given: tuple[Any, Any]) -> None:
    """What each process of `inference.processes.in_processes` does: (task, configuration)."""
    from trilabel.inference.processes import _run

    _run(*given)


class Training(NamedTuple):
    """A run in two processes that are there already, perhaps stopped by a signal."""

    dataset: Any
    config: Any
    folder: Path
    resume: bool = False
    stop_at: int = 0  # the second process gets SIGINT in this step (from 1) of those that it makes; 0: never


def train(training: Training) -> str:
    """What `trilabel.train` does in each of its processes; returns "done" or "stopped"."""
    from trilabel.training.api import ProcessWork
    from trilabel.training.batches import BatchMaker
    from trilabel.training.launch import create_fabric
    from trilabel.training.run_folder import RunFolder
    from trilabel.training.splits import TrainingSplit, split_for_training

    dataset, config, folder, resume, stop_at = training
    split = dataset if isinstance(dataset, TrainingSplit) else split_for_training(dataset, config)
    make, made = BatchMaker.__call__, 0

    def make_batch(maker: BatchMaker, *arguments: Any, **options: Any) -> Any:
        nonlocal made
        made += 1
        if made == stop_at and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGINT)
        return make(maker, *arguments, **options)

    with pytest.MonkeyPatch.context() as patched, groups_given_back(patched):
        patched.setattr(BatchMaker, "__call__", make_batch)
        try:
            create_fabric(config).launch(ProcessWork(split, config, RunFolder(folder), resume, False, {}))
        except KeyboardInterrupt:
            return "stopped"
    return "done"


@contextmanager
def groups_given_back(patched: pytest.MonkeyPatch) -> Iterator[None]:
    """A run leaves its groups to the end of its processes; here they would pile up, and their threads keep waking."""
    made, new_group = [], dist.new_group

    def noted(*arguments: Any, **options: Any) -> Any:
        made.append(new_group(*arguments, **options))
        return made[-1]

    patched.setattr(dist, "new_group", noted)
    yield
    dist.barrier()  # the other process is done with them, too
    for group in made:
        dist.destroy_process_group(group)


def train_stopped_while_relabelling(training: Training) -> tuple[str, int]:
    """`train`, where the second process gets SIGINT in its first batch of relabelling; and the batches that it saw."""
    from trilabel.training.relabelling import Relabelling

    choose, seen = Relabelling.choose, 0

    def choosing(relabelling: Relabelling, *arguments: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == 1 and dist.get_rank() == 1:
            os.kill(os.getpid(), signal.SIGINT)
        choose(relabelling, *arguments)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Relabelling, "choose", choosing)
        return train(training), seen


def do_work(work: Any) -> None:
    """What a process does with the `ProcessWork` that the one that started it made."""
    from trilabel.training.launch import create_fabric

    create_fabric(work.config).launch(work)


def trained(in_two: Run, dataset: Any, config: Any, folder: Path, resume: bool = False) -> Any:
    """The run that `trilabel.train` would give, made by the two processes."""
    from trilabel.training.run_folder import RunFolder

    assert in_two(train, Training(dataset, config, folder, resume)) == ["done", "done"]
    return RunFolder(folder).run()


def step_with_batch_norm(synced: bool) -> dict[str, torch.Tensor]:
    """The model after a step on five images of a GPU, by one process or by two together."""
    from trilabel.config import Config
    from trilabel.models import create_model, with_synced_batch_norm

    torch.manual_seed(0)
    model: Any = create_model(Config(), 3, image_size=32)
    images, device = torch.rand(5, 3, 32, 32), torch.device("cuda", 0)
    rank, count = (dist.get_rank(), 2) if dist.is_initialized() else (0, 1)
    mine = images[rank::count].to(device)
    model = (with_synced_batch_norm(model) if synced else model).to(device)
    task = nn.parallel.DistributedDataParallel(model, broadcast_buffers=False) if count > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (task(mine).logits.square().mean() * len(mine) * count / len(images)).backward()
    optimizer.step()
    return {name: value.cpu() for name, value in model.state_dict().items()}
