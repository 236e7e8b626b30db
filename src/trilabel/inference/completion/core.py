"""From scores and labels to a completion: what is known is counted once, thresholds follow, and mistakes are listed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from trilabel.data.answers import Answered, labels_with
from trilabel.errors import TrilabelError
from trilabel.inference.completion.audits import audits_of, decided_answers
from trilabel.inference.completion.blocks import blocks
from trilabel.inference.completion.counts import BINS, PER_UNIT, Counts, total
from trilabel.inference.completion.hidden import PARTS, Hidden, find_hidden
from trilabel.inference.completion.known import KnownLabels, known_labels, known_of
from trilabel.inference.completion.mistakes import fit_mistakes
from trilabel.inference.completion.odds import CalibratedOdds, LogOdds, assumed_odds, fit_odds
from trilabel.inference.completion.result import Completion, Mistake
from trilabel.inference.completion.rules import Decided, Wanted, decide_by_audit, decide_by_known, decide_laxer, propose
from trilabel.inference.completion.summary import Basis, summary_of
from trilabel.inference.completion.suspects import Suspects
from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.methods.posterior import PosteriorSettings
from trilabel.methods.posterior.silence import find_silence

_FEWEST = 2  # known labels of either value, below which nothing is fitted on them


@dataclass(frozen=True)
class Given:
    """What is known beside scores and labels."""

    wanted: Wanted = field(default_factory=Wanted)
    settings: PosteriorSettings = field(default_factory=PosteriorSettings)  # how often labels are known
    fitted: torch.Tensor | None = None  # 2×C rates that the run fitted
    answered: Answered | None = None
    run: str = ""
    data: str = ""


@dataclass(frozen=True)
class _Found:
    odds: LogOdds
    counts: Counts
    decided: Decided
    basis: Basis
    mistakes: list[Mistake] | None  # None: the scores are too weak to say; nothing to tell them by: an empty list
    laxer: Mapping[str, tuple[float, int]] = field(default_factory=dict)  # see `decide_laxer`


def complete_scores(table: ScoreTable, labels: Labels, given: Given | None = None) -> Completion:
    """Decides the unknown labels of scored images (rows as in the table) as far as known ones bear it."""
    given = given or Given()
    if not table.held_out.any():
        raise TrilabelError(
            f"{given.run or 'the model'} has learned from all of these images, so that its scores say nothing about "
            "their labels; pass --folds 5 to train models on parts of them, or give other images"
        )
    fair = _without_new(labels, given.answered)
    known = known_labels(table, fair)
    present = int(known.present.sum())
    if present >= _FEWEST and len(known.rows) - present >= _FEWEST:
        found = _promised(table, fair, known, given)
    else:
        found = _assumed(table, fair, given)
    log.info(found.basis.note)
    final = labels if given.answered is None else labels_with(labels, given.answered)
    date = datetime.now(UTC).isoformat(timespec="seconds")
    answers = np.zeros((2, labels.shape[1]), np.int64)
    if given.answered is not None:
        answers = decided_answers(table, fair, found.odds, found.decided, given.answered)
    summary = summary_of(table, final, found.counts, found.decided, found.basis, given.wanted, answers)
    summary |= {"date": date, "data": given.data, "mistakes": _counted(found.mistakes)}
    summary["laxer"] = {side: {"precision": share, "filled": count} for side, (share, count) in found.laxer.items()}
    summary["calibration"] = _calibration(found.odds)
    return Completion(
        final,
        _confirmed(final, given.answered),
        table,
        found.odds,
        found.decided,
        summary,
        found.mistakes or [],
        given.run,
        date,
    )


def _calibration(odds: LogOdds) -> dict[str, Any] | None:
    """How scores become log-odds of unknown labels; None where those of one label depend on others of its image."""
    if not isinstance(odds, CalibratedOdds):
        return None
    slope, shifts = odds.line()
    return {"slope": round(slope, 6), "shifts": [round(shift, 6) for shift in shifts]}


def _without_new(labels: Labels, answered: Answered | None) -> Labels:
    """The labels that statistics rest on: answers correct known ones, but make none known.

    Questions are chosen by scores, so that labels that are known by answers are not like those that are not.
    """
    if answered is None or not len(answered.rows):
        return labels
    corrected = labels_with(labels, answered).csr
    was_known = labels.csr.copy()
    was_known.data = np.ones_like(was_known.data)
    kept = sp.csr_array(corrected.multiply(was_known))
    kept.sort_indices()
    return Labels(kept.astype(np.int8), labels.classes, labels.ids)


def _confirmed(labels: Labels, answered: Answered | None) -> sp.csr_array:
    if answered is None or not len(answered.rows):
        return sp.csr_array(labels.shape, dtype=np.int8)
    return sp.csr_array((answered.values, (answered.rows, answered.columns)), shape=labels.shape)


def _promised(table: ScoreTable, labels: Labels, known: KnownLabels, given: Given) -> _Found:
    odds = fit_odds(known, *labels.shape)
    model = fit_mistakes(known, odds.fold, labels.shape[1])
    suspects = None if model.is_weak(known) else Suspects(model)
    parts = _count(table, labels, odds, suspects)
    pool = labels[table.held_out] if not table.held_out.all() else labels
    hidden = find_hidden(parts, pool, given.settings, given.wanted.of_bounds)
    counts = total(parts)
    bins = _bins_added(counts, hidden)
    odds = odds.with_unknown((bins / PER_UNIT).astype(np.float32))
    counts = counts.shifted(bins)
    decided = decide_by_known(counts, hidden, given.wanted)
    basis = Basis("promise", hidden.assumption, hidden.note, _audit_checks(table, labels, odds, given))
    mistakes = None if suspects is None else suspects.list(table, given.answered)
    return _Found(odds, counts, decided, basis, mistakes, decide_laxer(counts, hidden, given.wanted, decided))


def _bins_added(counts: Counts, hidden: Hidden) -> NDArray[np.int64]:
    """C: what being unknown adds to the log-odds of a label, in whole bins, so that counts can be moved."""
    unknown = counts.unknown.sum(1)
    tiny = 1e-3
    odds = np.log((hidden.present + tiny) / (unknown - hidden.present + tiny))
    known = np.log((counts.positives.sum(1) + 0.5) / (counts.negatives.sum(1) + 0.5))
    return np.where(unknown > 0, ((odds - known) * PER_UNIT).round(), 0).clip(-BINS, BINS).astype(np.int64)


def _count(table: ScoreTable, labels: Labels, odds: LogOdds, suspects: Suspects | None) -> list[Counts]:
    """Counts of the images in parts, in one pass over the scores."""
    parts = [Counts.zeros(labels.shape[1]) for _ in range(PARTS)]
    for block in blocks(table, labels, "looking at scores"):
        rows = slice(None) if block.usable.all() else block.usable
        signs = block.signs[rows]
        parts[block.number % PARTS].add(odds(block.rows[rows], block.logits[rows], signs), signs)
        if suspects is not None and signs.any():
            suspects.add(known_of(table, labels, block.rows[rows]))
    return parts


def _counted(mistakes: Sequence[Mistake] | None) -> dict[str, float | int | None]:
    share = round(mistakes[-1].expected, 4) if mistakes else None
    return {"count": len(mistakes or ()), "expected_share": share, "too_weak": mistakes is None}


def _assumed(table: ScoreTable, labels: Labels, given: Given) -> _Found:
    """Without known negatives: by what is said about how often labels are known, and by an audit if there is one."""
    pool = np.flatnonzero(table.held_out)
    if not labels[pool].known:
        raise TrilabelError("no label is known of the images that the model did not learn from; nothing can be decided")
    silence = find_silence(given.settings, labels[pool], None, given.fitted)
    odds = assumed_odds(table.logits[pool], labels[pool], silence)
    counts = total(_count(table, labels, odds, None))
    proposed = propose(counts, given.wanted)
    assumption = f"nothing is known to be absent, and {silence.note}"
    answered = given.answered
    if answered is None or not answered.proposed.any():
        return _Found(odds, counts, proposed, Basis("assumption", assumption, assumption, {}), [])
    present, absent = audits_of(table, labels, odds, answered)
    decided = decide_by_audit(counts, proposed, present, absent, given.wanted)
    checks = {"present": present.share(), "absent": absent.share()}
    note = f"{len(present.bins) + len(absent.bins):,} answers to questions drawn at random bear the promise"
    return _Found(odds, counts, decided, Basis("audit", assumption, note, checks), [])


def _audit_checks(table: ScoreTable, labels: Labels, odds: CalibratedOdds, given: Given) -> dict[str, tuple[int, int]]:
    """Where known labels bear the promise, an audit is a second opinion: (right, answered) of each side."""
    if given.answered is None or not given.answered.proposed.any():
        return {}
    present, absent = audits_of(table, labels, odds, given.answered)
    return {"present": present.share(), "absent": absent.share()}
