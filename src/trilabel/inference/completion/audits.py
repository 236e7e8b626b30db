"""Questions drawn at random among what is proposed, and what their answers say."""

import numpy as np
from numpy.typing import NDArray

from trilabel.data.answers import Answered
from trilabel.inference.completion.counts import bins_of
from trilabel.inference.completion.odds import LogOdds
from trilabel.inference.completion.result import Completion
from trilabel.inference.completion.rules import Audit, Decided
from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels

_SEED = 0

Question = tuple[str, str, float, int]  # image, class, probability, what is proposed


def draw_questions(completion: Completion, count: int) -> list[Question]:
    """So many labels, half of them among those decided as present, half among those decided as absent, in random order.

    Where one side has fewer, all of its labels, and more of the other. The same completion gives the same questions.
    """
    random, drawn = np.random.default_rng(_SEED), dict[int, list[tuple[float, int, int, float]]]()
    for sign in (1, -1):
        drawn[sign] = []
    # Each label gets a random number, and the lowest are kept: one pass, whatever their number.
    for rows, origins in completion.origins():
        predicted = origins.sources == 0
        for sign, kept in drawn.items():
            place, columns = np.nonzero(predicted & (origins.values == sign))
            ticket = random.random(len(place))
            chosen = np.argsort(ticket)[:count]
            new = zip(
                ticket[chosen].tolist(),
                rows[place[chosen]].tolist(),
                columns[chosen].tolist(),
                origins.probabilities[place[chosen], columns[chosen]].tolist(),
                strict=True,
            )
            drawn[sign] = sorted([*kept, *new])[:count]
    half = {sign: count // 2 + (sign > 0) * (count % 2) for sign in drawn}
    spare = {sign: max(half[sign] - len(drawn[sign]), 0) for sign in drawn}
    questions = [
        (completion.known.ids[row], completion.known.classes[column], chance, sign)
        for sign in drawn
        for _, row, column, chance in drawn[sign][: half[sign] + spare[-sign]]
    ]
    return [questions[place] for place in random.permutation(len(questions))]


def audits_of(table: ScoreTable, labels: Labels, odds: LogOdds, answered: Answered) -> tuple[Audit, Audit]:
    """Answers to questions that were drawn at random, of labels proposed as present, and as absent."""
    found = []
    for sign in (1, -1):
        chosen = np.flatnonzero((answered.proposed == sign) & table.held_out[answered.rows])
        bins = _bins(table, labels, odds, answered.rows[chosen], answered.columns[chosen])
        found.append(Audit(bins, answered.values[chosen] == sign))
    return found[0], found[1]


def decided_answers(
    table: ScoreTable, labels: Labels, odds: LogOdds, decided: Decided, answered: Answered
) -> NDArray[np.int64]:
    """2×C: labels that would have been decided as present, and as absent, had nobody answered. labels: without them."""
    found = np.zeros((2, labels.shape[1]), np.int64)
    held_out = table.held_out[answered.rows]
    rows, columns = answered.rows[held_out], answered.columns[held_out]
    known = labels.csr[rows].toarray()[np.arange(len(rows)), columns] != 0
    bins = _bins(table, labels, odds, rows, columns)
    np.add.at(found[0], columns[~known & (bins >= decided.from_bin[columns])], 1)
    np.add.at(found[1], columns[~known & (bins <= decided.to_bin[columns])], 1)
    return found


def _bins(
    table: ScoreTable, labels: Labels, odds: LogOdds, rows: NDArray[np.int64], columns: NDArray[np.int64]
) -> NDArray[np.int64]:
    logits = np.nan_to_num(np.asarray(table.logits[rows], np.float32))
    found = odds(rows, logits, labels.csr[rows].toarray())
    return bins_of(found)[np.arange(len(rows)), columns].astype(np.int64)
