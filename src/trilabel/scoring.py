"""Scoring many images with a model: used while training, for evaluation and for prediction."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from trilabel.console import progress
from trilabel.data.images import ImageSource, Trouble, in_order
from trilabel.metrics import Accumulator


@torch.inference_mode()
def score(
    model: nn.Module,
    images: ImageSource,
    prepare: Callable[[Tensor], Tensor],
    classes: int,
    batch_size: int,
    *,
    rank: int = 0,
    world: int = 1,
    all_gather: Callable[[Tensor], Tensor] | None = None,
    context: Callable[[], AbstractContextManager[object]] = nullcontext,
    skip_broken: bool = False,
    what: str = "",
) -> tuple[Tensor, list[Trouble]]:
    """(N×C logits on the CPU, images that failed). A failed image has NaN logits.

    With several processes each scores a share and `all_gather` brings them together; every image counts once.
    `what` names the work in the progress bar; without it none is shown.
    """
    was_training = model.training
    model.eval()
    collected, failed = Accumulator(len(images), classes), list[Trouble]()
    mine = in_order(len(images), batch_size)[rank::world]
    with progress(what, sum(map(len, mine)), shown=bool(what)) as advance:
        for drawn in images.batches(mine, skip_broken):
            with context():
                logits = model(prepare(drawn.images)).logits if len(drawn.positions) else torch.zeros(0, classes)
            collected.add(torch.from_numpy(drawn.positions), logits.float())
            if drawn.failed:
                failed += drawn.failed
                positions = torch.tensor([position for position, _ in drawn.failed])
                collected.add(positions, torch.full((len(positions), classes), torch.nan))
            advance(len(drawn.positions) + len(drawn.failed))
    if all_gather is not None and world > 1:
        collected.gather(all_gather)
    model.train(was_training)
    return collected.scores(), failed
