"""A completion: every label of a data set, known, confirmed, decided or still unknown."""

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from trilabel.data.answers import write_questions
from trilabel.data.dataset import Dataset
from trilabel.data.provenance import LabelOrigins
from trilabel.inference.completion.blocks import Block, block_of, blocks
from trilabel.inference.completion.odds import LogOdds
from trilabel.inference.completion.rules import Decided
from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels

PREDICTED, KNOWN, CONFIRMED = range(3)  # places in provenance.SOURCES
_MOST_IN_MEMORY = 1 << 27  # labels of a filled matrix; more are kept in files


class Mistake(NamedTuple):
    """A known label that is probably wrong."""

    image: str
    cls: str
    known: int  # +1 or −1
    probability: float  # that it is present, by its score alone
    expected: float  # share of true mistakes among this and the more suspicious ones


@dataclass(frozen=True, repr=False)
class Completion:
    """The labels of a data set, completed. Nothing is computed before it is asked for, nor kept."""

    known: Labels  # as they were, with the answers of people
    confirmed: sp.csr_array  # N×C: the answers
    table: ScoreTable
    odds: LogOdds
    decided: Decided
    summary: Mapping[str, Any]  # what completion.json says
    mistakes: list[Mistake]
    run: str
    date: str
    dataset: Dataset | None = None  # whose labels these are

    def __repr__(self) -> str:
        found = self.summary
        return (
            f"Completion({self.known!r}, {found['filled_present']:,} filled as present, {found['filled_absent']:,} as "
            f"absent, {found['left_unknown']:,} left unknown; {found['basis']})"
        )

    def values(self, rows: NDArray[np.int64]) -> NDArray[np.int8]:
        """n×C: the labels of these images, +1, −1 or 0."""
        return self._decide(block_of(self.table, self.known, rows))[0]

    def origins(self) -> Iterator[tuple[NDArray[np.int64], LabelOrigins]]:
        """(rows, all about their labels), some images at a time."""
        for block in blocks(self.table, self.known, "completing"):
            yield block.rows, self._origins(block)

    def _origins(self, block: Block) -> LabelOrigins:
        values, odds = self._decide(block)
        sources = np.where(block.signs != 0, KNOWN, PREDICTED).astype(np.int8)
        sources[self.confirmed[block.rows[0] : block.rows[-1] + 1].toarray() != 0] = CONFIRMED
        np.negative(np.clip(odds, -30, 30, out=odds), out=odds)
        probabilities = (1 / (1 + np.exp(odds))).astype(np.float32)
        probabilities[~block.usable] = np.nan
        return LabelOrigins(values, sources, probabilities)

    def _decide(self, block: Block) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """n×C each: the labels, and the log-odds of all that are unknown."""
        odds = self.odds(block.rows, block.logits, block.signs)
        found = self.decided(odds)
        found *= block.usable[:, None]
        return np.where(block.signs != 0, block.signs, found), odds

    def write(
        self,
        out: str | Path,
        format: str | None = None,
        like: str | Path | None = None,
        options: Mapping[str, Any] | None = None,
        provenance: str | Path | None = None,
    ) -> list[str]:
        """Writes the labels; returns notes on what the file cannot say.

        format: one that can be written; None: by the name. like: the table that the labels were read from, with these
        options: without a format it is written again, the same rows, columns and words, with its holes filled.
        provenance: also a table (.csv, .csv.gz, .parquet) of where each label comes from, and its probability.
        """
        from trilabel.inference.completion.writing import write_labels, write_provenance

        notes = write_labels(self, Path(out), format, None if like is None else Path(like), options or {})
        if provenance is not None:
            write_provenance(self, Path(provenance))
        return notes

    def audit(self, out: str | Path, count: int) -> int:
        """Writes so many questions, drawn at random among what is decided, for people; returns how many there are.

        Their answers (1 or 0 in the column `answer`) are the argument `answers` of the next `complete`.
        """
        from trilabel.inference.completion.audits import draw_questions

        questions = draw_questions(self, count)
        write_questions(out, questions)
        return len(questions)

    @cached_property
    def labels(self) -> Labels:
        """All labels that are known or decided; where they are very many, in files that are mapped into memory."""
        images, classes = self.known.shape
        if images * classes <= _MOST_IN_MEMORY:
            parts = [sp.csr_array(each.values) for _, each in self.origins()]
            csr = sp.csr_array(sp.vstack(parts, format="csr")) if parts else self.known.csr
            return Labels(csr.astype(np.int8), self.known.classes, self.known.ids)
        return self._mapped()

    def _mapped(self) -> Labels:
        ends, wide = [np.zeros(1, np.int64)], np.int32
        with tempfile.TemporaryDirectory(prefix="trilabel-") as folder:
            places = Path(folder) / "columns", Path(folder) / "values"
            with places[0].open("wb") as columns, places[1].open("wb") as values:
                for _, each in self.origins():
                    row, column = np.nonzero(each.values)
                    column.astype(wide).tofile(columns)
                    each.values[row, column].tofile(values)
                    ends.append(ends[-1][-1] + np.bincount(row, minlength=len(each.values)).cumsum())
            row_ends = np.concatenate(ends)
            index = row_ends.astype(wide) if row_ends[-1] <= np.iinfo(wide).max else row_ends
            # On Linux and macOS files that are mapped stay until nobody uses them, though their names are gone.
            arrays = np.memmap(places[1], np.int8, "r"), np.memmap(places[0], wide, "r"), index
            csr = sp.csr_array(arrays, shape=self.known.shape)
        return Labels(csr, self.known.classes, self.known.ids)
