"""What a person should know before believing scores: what the labels that they rest on cannot show."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.config import Config
from trilabel.labels.names import Names
from trilabel.log import truncate_list
from trilabel.printable import plural
from trilabel.training.record import EpochRecord
from trilabel.training.stages import plan_stages


class ScoredLabels(NamedTuple):
    """What scores rest on: the images, and how many known labels of each class they have."""

    ids: Names
    classes: Sequence[str]
    positives: NDArray[np.int64]
    negatives: NDArray[np.int64]


def doubts(
    scored: ScoredLabels, split: str, learned_from: Sequence[str] = (), chosen_on: Sequence[str] = ()
) -> list[str]:
    """One sentence for each reason not to believe scores over these labels as they are.

    learned_from, chosen_on: ids of the images that the model was trained on, and of those that chose its epoch.
    """
    found = _seen_before(scored.ids, learned_from, chosen_on)
    if not scored.negatives.any():
        found.append(
            f"no label of split {split!r} is known to be absent, so no prediction can be wrong: only recall is "
            "meaningful; label some images fully"
        )
        return found
    pairs = zip(scored.classes, scored.positives, scored.negatives, strict=True)
    if one_sided := [name for name, present, absent in pairs if present and not absent]:
        found.append(
            f"{truncate_list(one_sided)}: split {split!r} has no known negative of them, so they have no AP and mAP "
            "leaves them out"
        )
    return found


def unfinished(config: Config, history: Sequence[EpochRecord], best: EpochRecord | None) -> list[str]:
    """One sentence if the run has epochs before it; nothing if it is over, or nothing is known of it."""
    if not history:
        return []
    stage, last = plan_stages(config)[-1], history[-1]
    done = last.epoch if last.stage == stage.name else 0
    waited = done - best.epoch if best is not None and best.stage == stage.name else 0
    if done >= stage.epochs or (config.patience is not None and waited >= config.patience):
        return []
    return [
        f"this run is unfinished: {done} of {plural(stage.epochs, 'epoch')} are done; the scores are of its best epoch "
        "so far"
    ]


def _seen_before(ids: Names, learned_from: Sequence[str], chosen_on: Sequence[str]) -> list[str]:
    found = []
    for names, what in (
        (learned_from, "the model was trained on"),
        (chosen_on, "its epoch was chosen on"),
    ):
        if len(names) and (shared := int(np.sum(Names(names).positions(ids) >= 0))):
            found.append(
                f"{shared:,} of {len(ids):,} scored images are ones that {what}: the scores are better than on new ones"
            )
    return found
