"""The loop train → complete → review → train on scenes drawn by code, with a simulated annotator.

    python examples/label_loop.py

One positive of each image is known at first. Each turn trains a head, fills in what it can, and answers the questions
that a plan names, as people would in `trilabel review`. Writes loop.png: label quality and mAP of other images.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import trilabel as tl
from trilabel.log import quiet
from trilabel.planning.questions import choose_questions
from trilabel.recipes import small
from trilabel.review.serving import open_proposals
from trilabel.review.store import AnswerStore, Record, read_answers


def main(
    out: str = "loop", images: int = 2000, turns: int = 5, budget: int = 400, epochs: int = 12
) -> list[list[float]]:
    """Of each turn: answers, % of labels right if each is decided, of those filled in with a promise, and test mAP."""
    folder = Path(out)
    with quiet():  # weights that were pretrained on other scenes take the place of a downloaded file
        other = tl.data.scenes(train=images, val=100, test=1, seed=99)
        tl.train(other, replace(small(), epochs=epochs), folder / "pretrained", overwrite=True)
    full = tl.data.scenes(train=images, val=0, test=images // 2)
    rows, truth = full.rows_of("train"), full.labels.to_signed()
    hidden = full.with_labels(tl.simulate.apply_to_rows(full.labels, rows, "single-positive", 1200))
    (folder / "answers.db").unlink(missing_ok=True)  # each time from the beginning
    store, found = AnswerStore(folder / "answers.db"), []
    for turn in range(turns):
        answers, run = read_answers(store.path), folder / f"turn-{turn}"
        with quiet():
            config = replace(small(), weights=str(folder / "pretrained"), stages="linear", val="folds")
            tl.train(hidden, config, run, answers=answers, overwrite=True)
            completed = tl.complete(run, hidden, answers=answers)
            scores = tl.load(run).evaluate(full, "test")["mAP"]
        known, values = completed.known.to_signed()[rows], completed.values(rows)
        filled, right = (values != 0) & (known == 0), values == truth[rows]
        proposals = open_proposals(replace(hidden, labels=completed.known), run)
        guessed = np.where(known == 0, np.where(proposals.rows(0, len(full))[0][rows] >= 0.5, 1, -1), known)
        found.append(
            [
                len(answers),
                100 * (guessed == truth[rows]).mean(),
                100 * right[filled].sum() / max(1, filled.sum()),
                100 * scores,
            ]
        )
        text = "turn {}: {:5,.0f} answers; right: {:.2f} % of all labels, {:.1f} % of those filled in; mAP {:.1f} %"
        print(text.format(turn, *found[-1]), flush=True)
        questions = choose_questions(proposals, rows, "valuable", budget)
        store.add(_answer(full, truth, row, column, turn) for row, column, _ in zip(*questions, strict=True))
    store.close()
    draw(np.array(found), folder / "loop.png")
    return found


def _answer(full: tl.data.Dataset, truth: np.ndarray, row: int, column: int, turn: int) -> Record:
    """What an annotator who is always right says of a label."""
    label = full.ids[row], full.classes[column], int(truth[row, column])
    return Record(f"turn {turn}", *label, False, "simulated", "", "questions", "", 0, None, f"turn-{turn}", "")


def draw(found: np.ndarray, file: Path) -> None:
    """Label quality and mAP against answers."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8, 3.4), dpi=110)
    for panel, column, title in ((panels[0], 1, "training labels that are right (%)"), (panels[1], 3, "test mAP (%)")):
        panel.plot(found[:, 0], found[:, column], "o-")
        panel.set(xlabel="questions answered", title=title)
        panel.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file)


if __name__ == "__main__":
    main(*sys.argv[1:2])
