"""Completed labels beside the truth: is what `complete` promises kept, and how much does it fill in?

    python benchmarks/completion.py promise scenes.npz voc2012.npz      (10 minutes on one core)
    python benchmarks/completion.py one-positive scenes.npz voc2012.npz
    python benchmarks/completion.py mistakes scenes.npz voc2012.npz
    python benchmarks/completion.py large --images 1000000 --classes 1000

A file has fixed features of images, `plain` [N×D], and all of their labels, `Y` [N×C, 1 and −1]. One called scenes.npz
that is not there is made: the features of a small network that was trained on other scenes. Labels are hidden, a linear
head is fitted to the rest (each image is scored by one that has not seen it), and unknown labels are completed; each
seed hides other labels and splits the images anew. Prints Markdown.
"""

import argparse
import os
import resource
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing import Process
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

import trilabel as tl
from trilabel.config import Config
from trilabel.data.answers import Answer, find_answers
from trilabel.inference.completion.audits import draw_questions
from trilabel.inference.completion.core import Given, complete_scores
from trilabel.inference.completion.result import Completion
from trilabel.inference.score_table import ScoreTable
from trilabel.labels import Labels, simulate
from trilabel.methods import METHODS, check_method
from trilabel.methods.posterior import PosteriorSettings
from trilabel.metrics.calibration import fit_calibration
from trilabel.models import FeatureClassifier, create_head
from trilabel.training.feature_fit import FeatureFit
from trilabel.training.out_of_fold import fold_of_each

Floats = NDArray[np.float32]
Signs = NDArray[np.int8]

CONFIG = Config(stages="linear", epochs=10, val="folds", head_settings={"normalize": True}, method="known-only")
PRECISION, FOLDS = 0.95, 5
SETTINGS = {
    "keep-share=0.1": "10 %, at random",
    "keep-share=0.5": "50 %, at random",
    "class=0.1": "10 %, by class",
    "class=0.5": "50 %, by class",
    "keep-share=0.1,5": "50 %/10 %, named",
}


def load(file: Path) -> tuple[torch.Tensor, Signs]:
    """(N×D features, N×C truth)."""
    if not file.exists() and file.name == "scenes.npz":
        make_scenes(file)
    with np.load(file) as arrays:
        return torch.from_numpy(arrays["plain"].astype(np.float32)), arrays["Y"].astype(np.int8)


def make_scenes(file: Path) -> None:
    """Features of 3,000 scenes by a network that was trained on 4,000 others."""
    with tempfile.TemporaryDirectory() as folder:
        run = tl.train(tl.data.scenes(train=4000, val=500, test=0, seed=1), "small", Path(folder) / "run", workers=0)
        model, dataset = tl.load(run), tl.data.scenes(train=3000, val=0, test=0, seed=0)
    assert dataset.images is not None
    classifier: Any = model.classifier
    with torch.inference_mode():
        parts = [classifier.reduce_features(model.prepare(images)).float() for images in dataset.images.split(256)]
    np.savez(file, plain=torch.cat(parts).numpy(), Y=dataset.labels.to_signed())


def hide(truth: Signs, setting: str, seed: int) -> Labels:
    """As `trilabel.simulate`, and class=SHARE: known at a rate of each class, up to e times the mean or less."""
    if not setting.startswith("class="):
        return simulate.apply(Labels.from_signed(truth), setting, seed)
    share, random = float(setting.partition("=")[2]), np.random.default_rng(seed)
    rates = np.exp(random.uniform(-1, 1, truth.shape[1]))
    return Labels.from_signed(
        np.where(random.random(truth.shape) < (share * rates / rates.mean()).clip(0, 1), truth, 0)
    )


def out_of_fold(features: torch.Tensor, labels: Labels, method: str = "known-only", **settings: Any) -> Floats:
    """N×C logits by heads that were each fitted to four fifths of the images."""
    config = replace(CONFIG, method=method, settings=settings)
    checked, part = check_method(method, settings, labels), fold_of_each(len(labels), FOLDS)
    logits = torch.empty(labels.shape)
    for number in range(FOLDS):
        kept, left_out = np.flatnonzero(part != number), np.flatnonzero(part == number)
        torch.manual_seed(0)
        own = labels[kept]
        model = FeatureClassifier(create_head(config, features.shape[1], labels.shape[1], own))
        learns = METHODS[method](checked, own, features.shape[1])
        fit = FeatureFit(config, model, learns, features[kept], own, reach=1.0)
        fit.run()
        logits[left_out] = fit.score(features[left_out])
    return logits.numpy()


def completed(logits: Floats, labels: Labels, given: Given | None = None) -> Completion:
    """By scores of models that have not seen the images."""
    return complete_scores(ScoreTable(labels.ids, labels.classes, logits, np.ones(len(labels), bool)), labels, given)


def draws(file: Path, setting: str, seeds: int) -> Any:
    """For each seed: features, truth (in another order each) and labels of which some are hidden."""
    features, truth = load(file)
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(truth))
        yield seed, features[order], truth[order], hide(truth[order], setting, seed)


class Outcome:
    """What came of a way to complete, over the seeds."""

    def __init__(self) -> None:
        self.rows: list[tuple[float, float, float, float, float]] = []

    def add(self, found: Signs, known: Signs, truth: Signs) -> None:
        """found: +1, −1 or 0 for each label."""
        unknown = known == 0
        assert (found[~unknown] == known[~unknown]).all(), "a known label was changed"
        present, absent = unknown & (found > 0), unknown & (found < 0)
        self.rows.append(
            (
                _share((truth > 0)[present]),
                _share((truth < 0)[absent]),
                float((present | absent).sum() / unknown.sum()),
                _share(present[unknown & (truth > 0)]),
                _share(absent[unknown & (truth < 0)]),
            )
        )

    def cells(self) -> list[str]:
        """Precision of each side: mean, lowest, kept in; then what was filled in."""
        cells = []
        for side in (0, 1):
            values = np.array([row[side] for row in self.rows])
            told = values[~np.isnan(values)]
            cells += [
                f"{told.mean():.1%} ({told.min():.1%})" if len(told) else "—",
                f"{int((told >= PRECISION).sum()) + len(values) - len(told)}/{len(values)}"
                + (f" ({len(values) - len(told)} empty)" if len(told) < len(values) else ""),
            ]
        filled = np.nanmean(np.array([row[2:] for row in self.rows]), axis=0)
        return [*cells, *(f"{share:.0%}" for share in filled)]


def _share(values: NDArray[np.bool_]) -> float:
    return float(values.mean()) if len(values) else float("nan")


def plugged_in(p: NDArray[np.float64], known: Signs) -> Signs:
    """As many as are right on average if probabilities are: what people do who trust a calibration."""
    unknown, found = known == 0, known.copy()
    values = np.sort(p[unknown])
    for sign, right in ((1, values[::-1]), (-1, 1 - values)):
        means = right.cumsum() / np.arange(1, len(right) + 1)
        good = np.flatnonzero((means >= PRECISION) & (right > 0.5))
        if len(good):
            found[unknown & ((p if sign > 0 else 1 - p) >= right[good[-1]])] = sign
    return found


def sigmoid(logits: Any) -> NDArray[np.float64]:
    """Probabilities."""
    return 1 / (1 + np.exp(-np.asarray(logits, np.float64).clip(-50, 50)))


def temperature(logits: Floats, known: Signs) -> NDArray[np.float64]:
    """One slope and one shift for all classes, by maximum likelihood."""
    flat = known.reshape(-1, 1)
    return sigmoid(fit_calibration(logits.reshape(-1, 1), flat)(torch.from_numpy(logits.reshape(-1, 1)))).reshape(
        known.shape
    )


def isotonic(logits: Floats, known: Signs) -> NDArray[np.float64]:
    """A step function for each class with 10 known labels of either value; one for all others."""
    places = known != 0
    found = np.empty(known.shape)
    common = IsotonicRegression(out_of_bounds="clip").fit(logits[places], known[places] > 0)
    for column in range(known.shape[1]):
        own, fitted = known[:, column] != 0, common
        positives = int((known[own, column] > 0).sum())
        if min(positives, int(own.sum()) - positives) >= 10:
            fitted = IsotonicRegression(out_of_bounds="clip").fit(logits[own, column], known[own, column] > 0)
        found[:, column] = fitted.predict(logits[:, column])
    return found


def promise(files: Sequence[Path], seeds: int) -> None:
    """Precision of what was filled in, beside other calibrations."""
    ways: dict[str, Callable[[Floats, Labels], Signs]] = {
        "`complete`": lambda logits, labels: completed(logits, labels).labels.to_signed(),
        "temperature": lambda logits, labels: plugged_in(temperature(logits, labels.to_signed()), labels.to_signed()),
        "isotonic": lambda logits, labels: plugged_in(isotonic(logits, labels.to_signed()), labels.to_signed()),
        "none": lambda logits, labels: plugged_in(sigmoid(logits), labels.to_signed()),
    }
    head = ["data", "known", "way", "present (lowest)", "≥ 95 %", "absent (lowest)", "≥ 95 %"]
    start_table([*head, "filled", "of present", "of absent"])
    for file in files:
        for setting, words in SETTINGS.items():
            outcomes = {name: Outcome() for name in ways}
            for _, features, truth, labels in draws(file, setting, seeds):
                logits = out_of_fold(features, labels)
                for name, way in ways.items():
                    outcomes[name].add(way(logits, labels), labels.to_signed(), truth)
            for name, outcome in outcomes.items():
                print_row([file.stem, words, name, *outcome.cells()])


def one_positive(files: Sequence[Path], seeds: int) -> None:
    """Positives only: what the assumption says beside the truth, and what an audit of 400 answers makes of it."""
    start_table(["data", "known", "stated", "present (lowest)", "≥ 95 %", "absent (lowest)", "≥ 95 %", "filled"])
    cases = {
        "single-positive": ("one positive", "one-of-k", {"rates": "one-of-k"}),
        "tags=0.5": ("half of positives", "rates", {"positives_known": 0.5}),
    }
    for file in files:
        for setting, (words, stated, settings) in cases.items():
            plain, audited = Outcome(), Outcome()
            for _, features, truth, labels in draws(file, setting, seeds):
                logits = out_of_fold(features, labels, "posterior", **settings)
                given = Given(settings=PosteriorSettings(**settings))
                found = completed(logits, labels, given)
                plain.add(found.labels.to_signed(), labels.to_signed(), truth)
                answers = answered(found, truth, 400)
                again = completed(logits, labels, replace(given, answered=find_answers(answers, labels)))
                known = again.known.to_signed()
                audited.add(again.labels.to_signed(), known, truth)
            for name, outcome in ((stated, plain), (f"{stated}, 400 answers", audited)):
                print_row([file.stem, words, name, *outcome.cells()[:5]])


def answered(found: Completion, truth: Signs, count: int) -> list[Answer]:
    """Answers to an audit, by the truth."""
    ids, classes = found.known.ids, list(found.known.classes)
    rows = {name: row for row, name in enumerate(ids)}
    return [
        Answer(image, cls, int(truth[rows[image], classes.index(cls)]), random=True, proposed=proposed)
        for image, cls, _, proposed in draw_questions(found, count)
    ]


def mistakes(files: Sequence[Path], seeds: int) -> None:
    """Of known labels with 5 % flipped: true mistakes among the 100 and 300 most suspicious, beside cleanlab's."""
    from cleanlab.filter import find_label_issues

    head = ["data", "ours: top 100", "(expected)", "top 300", "(expected)"]
    start_table([*head, "cleanlab: top 100", "top 300", "flipped"])
    for file in files:
        rows = []
        for seed, features, truth, hidden in draws(file, "keep-share=0.5", seeds):
            labels = simulate.apply(hidden, "noisy=0.05", seed)
            logits, known = out_of_fold(features, labels), labels.to_signed()
            found = completed(logits, labels).mistakes
            places = [(labels.ids.index(one.image), labels.classes.index(one.cls)) for one in found]
            ours = np.array([known[place] != truth[place] for place in places])
            theirs = cleanlab_ranked(logits, known, truth, find_label_issues)
            wrong = int(((known != 0) & (known != truth)).sum())
            rows.append(
                (
                    ours[:100].mean(),
                    found[99].expected,
                    ours[:300].mean(),
                    found[min(299, len(found) - 1)].expected,
                    theirs[:100].mean(),
                    theirs[:300].mean(),
                    wrong,
                )
            )
        mean = np.array(rows).mean(0)
        print_row([file.stem, *(f"{share:.1%}" for share in mean[:6]), f"{mean[6]:,.0f}"])


def cleanlab_ranked(logits: Floats, known: Signs, truth: Signs, find: Any) -> NDArray[np.bool_]:
    """Class by class (it knows no unknown labels), then all by self-confidence: whether each is a true mistake."""
    p, found = sigmoid(logits), list[tuple[float, bool]]()
    for column in range(known.shape[1]):
        rows = np.flatnonzero(known[:, column])
        given = (known[rows, column] > 0).astype(int)
        if 0 < given.sum() < len(given):
            both = np.stack((1 - p[rows, column], p[rows, column]), 1)
            for place in find(given, both, return_indices_ranked_by="self_confidence"):
                row = rows[place]
                found.append((both[place, given[place]], bool(known[row, column] != truth[row, column])))
    return np.array([wrong for _, wrong in sorted(found, key=lambda one: one[0])])


def large(images: int, classes: int, table: bool) -> None:
    """Very many scores: time and memory of completing them, beside reading the file."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        file = Path(folder) / "scores.npy"
        made = Process(target=make_up, args=(file, images, classes))  # its memory is not that of completing
        made.start()
        made.join()
        labels = Labels.load(file.with_suffix(".npz"))
        size = file.stat().st_size / 1e6
        before = peak()
        reading = timed(lambda: read(file))
        scores = ScoreTable(labels.ids, labels.classes, np.load(file, mmap_mode="r"), np.ones(images, bool))
        began = time.perf_counter()
        found = complete_scores(scores, labels)
        thresholds = time.perf_counter() - began
        began = time.perf_counter()
        filled = sum(int((origins.values != 0).sum()) for _, origins in found.origins())
        deciding = time.perf_counter() - began
        print(f"{images:,} × {classes:,} scores, {size:,.0f} MB; read alone: {size / reading:,.0f} MB/s")
        print(
            f"thresholds: {thresholds:.0f} s ({size / thresholds:,.0f} MB/s); deciding: {deciding:.0f} s "
            f"({size / deciding:,.0f} MB/s), {filled:,} labels known or filled in"
        )
        if table:
            fill_table(found, labels, Path(folder))
        print(f"memory: {before:,.0f} MB before (torch, and {labels.known:,} known labels), {peak():,.0f} MB at most")


def read(file: Path) -> None:
    """From beginning to end."""
    with file.open("rb", buffering=0) as opened:
        while opened.read(1 << 22):
            pass


def timed(work: Callable[[], Any]) -> float:
    """Seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak() -> float:
    """MB that this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def make_up(file: Path, images: int, classes: int) -> None:
    """Scores of a fair model, float16, and labels of which one in a hundred is known."""
    random, rows, columns, values = np.random.default_rng(0), [], [], []
    scores = np.lib.format.open_memmap(file, "w+", np.float16, (images, classes))
    for start in range(0, images, 10_000):
        part = random.standard_normal((min(10_000, images - start), classes), np.float32) * 2.5 - 6
        scores[start : start + len(part)] = part
        row, column = np.nonzero(random.random(part.shape, np.float32) < 0.01)
        present = random.random(len(row)) < sigmoid(part[row, column])
        rows.append(row + start)
        columns.append(column)
        values.append(np.where(present, 1, -1).astype(np.int8))
    scores.flush()
    names, ids = (f"class {n}" for n in range(classes)), (f"photo{n:07}.jpg" for n in range(images))
    labels = Labels.from_entries(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), names, ids)
    labels.save(file.with_suffix(".npz"))


def fill_table(found: Completion, labels: Labels, folder: Path) -> None:
    """The wide table written again."""
    table, out = folder / "labels.csv", folder / "filled.csv"
    dataset = tl.data.Dataset(labels.ids, labels.ids, labels)
    tl.data.write(dataset, table)
    seconds = timed(lambda: found.write(out, like=table))
    size = (table.stat().st_size + out.stat().st_size) / 1e6
    print(f"table filled: {seconds:.0f} s, {size / seconds:,.0f} MB/s read and written")


def start_table(head: Sequence[str]) -> None:
    """The head of a Markdown table."""
    print_row(head)
    print_row(["---"] * len(head))


def print_row(cells: Sequence[str]) -> None:
    """A row of a Markdown table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """The command line."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("promise", "one-positive", "mistakes", "large"))
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--table", action="store_true", help="large: also fill a wide table")
    given = parser.parse_args()
    if given.what == "large":
        return large(given.images, given.classes, given.table)
    return {"promise": promise, "one-positive": one_positive, "mistakes": mistakes}[given.what](
        given.files, given.seeds
    )


if __name__ == "__main__":
    main()
