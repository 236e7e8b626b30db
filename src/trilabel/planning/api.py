"""`trilabel.plan`: which labels to ask for next, and what to expect of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.inference.opened import Broken
from trilabel.log import log
from trilabel.planning.expectations import Expectations, expectations
from trilabel.planning.questions import Questions, choose_questions, write_questions
from trilabel.planning.refits import features_of
from trilabel.review import orders
from trilabel.review.proposals import Proposals
from trilabel.review.serving import open_proposals
from trilabel.training.run_folder import RunFolder

_MOST_IMAGES = 2_000  # whose features are computed to see what labels bring
_TIMES = (0.5, 1.0, 2.0, 5.0)  # multiples of the budget whose gain is told


@dataclass(frozen=True)
class Plan:
    """The questions to ask under a budget, and what to expect of more labels."""

    questions: Questions
    proposals: Proposals
    order: orders.Order
    known: int  # labels now; where nothing is known to be absent, positives
    positives_only: bool
    budgets: list[int]  # numbers of questions
    added: list[int]  # labels (or positives) that each of them is expected to add
    expected: Expectations | None  # None: too little is known to see it
    why_not: str  # then why
    fixed_features: bool  # whether the run's own network learned nothing from these labels

    @property
    def present(self) -> float:
        """How many of the questions will be answered as present, by the model's probabilities."""
        return float(self.questions.probabilities.sum())

    def write(self, path: str | Path) -> None:
        """Writes the questions as a table (image,class,probability,answer)."""
        write_questions(Path(path), self.proposals, self.questions)

    def to_json(self) -> dict[str, Any]:
        """What it says, without the questions."""
        found: dict[str, Any] = {
            "questions": len(self.questions),
            "images": len(np.unique(self.questions.rows)),
            "classes": len(np.unique(self.questions.columns)),
            "order": self.order,
            "expected_present": round(self.present, 1),
            "known": self.known,
            "counts": "positives" if self.positives_only else "labels",
        }
        if self.expected is None:
            return found | {"curve": None, "spread": None, "why_not": self.why_not}
        told, law = self.expected, self.expected.law
        curve = {
            "labels": told.labels,
            "mAP": told.scores,
            "ceiling": law.ceiling,
            "drop": law.drop,
            "rate": law.rate,
            "method": told.method,
            "unknown_as_absent": told.unknown_as_absent,
            "fixed_features": self.fixed_features,
            "now": float(law(self.known)),
        }
        gains = [
            {"questions": budget, "added": added, "gain": gain.value, "low": gain.low, "high": gain.high}
            for budget, added, gain in zip(self.budgets, self.added, told.gains, strict=True)
        ]
        better = None if told.spread is None else told.spread._asdict()
        return found | {"curve": curve, "gains": gains, "spread": better}


def plan(
    run: str | Path,
    dataset: Dataset,
    budget: int = 1000,
    order: orders.Order = orders.DEFAULT,
    device: str = "auto",
    broken: Broken = "stop",
) -> Plan:
    """Which labels of a data set to ask people for next, and what that many labels are expected to bring.

    run: a run folder on the same classes. dataset: with what is known by now (`data.answers.with_answers`). budget:
    how many questions. order: which of `trilabel.review.orders` are asked first.
    """
    if budget < 1:
        raise TrilabelError(f"budget {budget}: plan 1 question or more")
    folder = RunFolder(Path(run))
    config, labels = folder.read().config, dataset.labels
    proposals = open_proposals(dataset, folder.path, device, broken)
    rows = dataset.rows_of(config.train_split if config.train_split in dataset.splits else "all")
    questions = choose_questions(proposals, rows, order, budget)
    if not len(questions):
        raise TrilabelError("every label of these images is known; there is nothing to ask")
    own = labels[rows]
    one_sided = not own.counts_per_class()[1].any()
    budgets = [max(1, round(budget * times)) for times in _TIMES]
    share = float(questions.probabilities.mean()) if one_sided else 1.0
    added = [round(number * share) for number in budgets]
    expected, why_not = None, ""
    try:
        chosen = _drawn(own, rows)
        features, good = features_of(folder.path, dataset, chosen, device, broken)
        expected = expectations(features, labels[good], config, own.known, [own.known + number for number in added])
    except TrilabelError as error:
        why_not = str(error)
        log.warning(f"no learning curve: {why_not}")
    fixed = config.stages == "linear"
    return Plan(questions, proposals, order, own.known, one_sided, budgets, added, expected, why_not, fixed)


def _drawn(labels: Any, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of the images of which something is known, so many at random that their features take minutes, not hours."""
    labelled = rows[np.flatnonzero(np.diff(labels.csr.indptr))]
    if len(labelled) <= _MOST_IMAGES:
        return labelled
    drawn: NDArray[np.int64] = np.sort(np.random.default_rng(0).choice(labelled, _MOST_IMAGES, replace=False))
    log.info(f"the learning curve is seen on {_MOST_IMAGES:,} of {len(labelled):,} images, drawn at random")
    return drawn
