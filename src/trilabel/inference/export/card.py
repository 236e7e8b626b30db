"""The model card of a run: data, label setting, scores, intended use; with the front matter that model hubs read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from trilabel.inference.export.model_folder import without_paths
from trilabel.labels import Labels
from trilabel.printable import plural, without_controls
from trilabel.training.decisions import Decisions
from trilabel.training.description import RunDescription
from trilabel.training.record import EpochRecord
from trilabel.training.run_folder import RunFolder
from trilabel.training.teachers import method_in_words
from trilabel.version import __version__

_METRICS = {"mAP": "mean average precision", "CF1": "F1 by class", "OF1": "F1 of all labels"}
_MOST_CLASSES = 1000  # in the table; config.json has all


class Facts(NamedTuple):
    """What a card says of a run."""

    name: str
    description: RunDescription
    decisions: Decisions | None
    best: EpochRecord
    epochs: int
    images: int | None  # that it learned from; None where the labels were removed from the run
    positives: NDArray[np.int64] | None  # known, of each class
    negatives: NDArray[np.int64] | None
    validation_images: int
    scores: Mapping[str, Any] | None  # what `Model.evaluate` gave, if the exporter was given it

    @property
    def data(self) -> str:
        """The name of the data set, without where it is."""
        return str(without_paths(str(self.description.source.get("data") or "data of its owner")))


def read_facts(folder: RunFolder, name: str, decisions: Decisions | None, scores: Mapping[str, Any] | None) -> Facts:
    """Those of a run folder."""
    labels = Labels.load(folder.labels) if folder.labels.is_file() else None
    positives, negatives = (None, None) if labels is None else labels.counts_per_class()
    history, best = folder.read_history(), folder.best_record()
    images = None if labels is None else len(labels)
    chosen_on = len(folder.seen_images()[1])
    description = folder.read()
    return Facts(name, description, decisions, best, len(history), images, positives, negatives, chosen_on, scores)


def write_card(facts: Facts) -> str:
    """The text of README.md."""
    parts = [_front_matter(facts), *_summary(facts), *_data(facts), *_training(facts), *_scores(facts), *_use(facts)]
    return "\n".join([*parts, *_classes(facts)]) + "\n"


def _front_matter(facts: Facts) -> str:
    values: dict[str, Any] = {
        "library_name": "trilabel",
        "pipeline_tag": "image-classification",
        "tags": ["multi-label-classification", "partial-labels", "missing-labels", facts.description.config.backbone],
    }
    results = [
        {
            "task": {"type": "image-classification", "name": "multi-label image classification"},
            "dataset": {"type": _slug(facts.data), "name": facts.data, "split": split},
            "metrics": [
                {"type": name, "name": f"{name} ({_METRICS[name]})", "value": round(float(numbers[name]), 4)}
                for name in _METRICS
                if numbers.get(name) is not None
            ],
        }
        for split, numbers in _all_scores(facts)
    ]
    if results:
        values |= {"metrics": list(_METRICS), "model-index": [{"name": facts.name, "results": results}]}
    return f"---\n{yaml.safe_dump(values, allow_unicode=True, sort_keys=False)}---\n"


def _all_scores(facts: Facts) -> list[tuple[str, Mapping[str, Any]]]:
    found: list[tuple[str, Mapping[str, Any]]] = []
    if facts.scores is not None:
        found.append((str(facts.scores.get("split", "test")), facts.scores))
    if facts.best.val:  # decisions were fitted on these images afterwards, so that only mAP is comparable
        found.append(("validation", {name: facts.best.val.get(name) for name in ("images", "known_share", "mAP")}))
    return found


def _summary(facts: Facts) -> list[str]:
    about = facts.description
    return [
        f"# {_plain(facts.name)}",
        "",
        f"Tells which of {plural(len(about.classes), 'class')} an image shows, any number of them; each has a "
        "probability of its own.",
        f"Trained with trilabel from labels that are present, absent or unknown; exported by version {__version__}.",
        "",
        "```python",
        "import trilabel as tl",
        "",
        'model = tl.load("path/of/this/folder")',
        'print(model.predict("photos").to_frame())',
        "```",
        "",
    ]


def _data(facts: Facts) -> list[str]:
    about, source = facts.description, facts.description.source
    lines = ["## Data and label setting", "", f"- Data: {_plain(facts.data)}"]
    if facts.images is not None and facts.positives is not None and facts.negatives is not None:
        present, absent = int(facts.positives.sum()), int(facts.negatives.sum())
        total = max(1, facts.images * len(about.classes))
        lines += [
            f"- Training images: {facts.images:,}; validation images: {facts.validation_images:,}",
            f"- Known training labels: {present:,} present and {absent:,} absent, {(present + absent) / total:.2%} of "
            f"all; the other {1 - (present + absent) / total:.2%} are unknown, not absent",
        ]
    if "hide" in source:
        lines.append(f"- Labels hidden on purpose: {_plain(str(source['hide']))}, seed {source.get('hide_seed', 0)}")
    return [*lines, ""]


def _training(facts: Facts) -> list[str]:
    config, best = facts.description.config, facts.best
    weights = str(without_paths(config.weights)) if config.weights else "none, from random numbers"
    graph = "" if config.graph == "none" else f", graph `{config.graph}`"
    relabel = "" if config.relabel == "none" else f", relabelling `{config.relabel}`"
    rounds = ", in two rounds" if config.rounds > 1 else ""
    chosen = f"by {config.select} on the validation images" if best.val else "the last one, without validation"
    return [
        "## Training",
        "",
        f"- Method `{_plain(str(without_paths(method_in_words(config))))}`{relabel}{rounds}; seed {config.seed}",
        f"- Backbone `{config.backbone}`, head `{_plain(str(without_paths(config.head)))}`{graph}; "
        f"images of {facts.description.image_size} pixels",
        f"- Pretrained weights: {_plain(weights)}",
        f"- Epoch {best.epoch} of {facts.epochs} ({best.stage}), chosen {chosen}",
        "",
    ]


def _scores(facts: Facts) -> list[str]:
    lines = ["## Scores", "", "Over known labels only; unknown ones count neither way.", ""]
    rows = [
        (split, numbers["images"], *(_percent(numbers.get(name)) for name in ("known_share", *_METRICS)))
        for split, numbers in _all_scores(facts)
    ]
    if not rows:
        return [*lines[:2], "None were measured: the run had no validation images.", ""]
    lines += _table(["split", "images", "known labels %", *(f"{name} %" for name in _METRICS)], rows)
    if facts.best.val:
        lines += ["", "The epoch was chosen on the validation images, which makes their scores a little too good."]
    warnings = [] if facts.scores is None else facts.scores.get("warnings", [])
    return [*lines, *(f"\nNote: {_plain(str(warning))}" for warning in warnings), ""]


def _use(facts: Facts) -> list[str]:
    how = "as the network gives them, and a class counts as present from one half"
    if facts.decisions is not None:
        how = f"calibrated, and each class has a threshold of its own ({facts.decisions.basis})"
    return [
        "## Intended use and limits",
        "",
        "- To sort, search and pre-label images like those of the training data. It was not tested on others, nor for "
        "decisions about people.",
        "- It knows no class but those below. A low probability of all of them does not say what an image shows.",
        f"- Probabilities are {how}. Where images differ from the validation images, check thresholds again.",
        "- Labels that nobody gave were unknown in training and in scoring: what they hide, the scores do not show.",
        "- Images are turned upright, squashed to a square and resized bilinearly; their own proportions are lost.",
        "",
    ]


def _classes(facts: Facts) -> list[str]:
    names = facts.description.classes
    limits = [0.5] * len(names) if facts.decisions is None else facts.decisions.thresholds
    counts: Iterable[tuple[str, str]] = [("", "")] * len(names)
    if facts.positives is not None and facts.negatives is not None:
        counts = zip(map("{:,}".format, facts.positives), map("{:,}".format, facts.negatives), strict=True)
    rows = [(_plain(name), *known, f"{limit:.3f}") for name, known, limit in zip(names, counts, limits, strict=True)]
    more = (
        []
        if len(rows) <= _MOST_CLASSES
        else ["", f"The first {_MOST_CLASSES:,} of {len(rows):,}; config.json has all."]
    )
    return ["## Classes", "", *_table(["class", "present", "absent", "threshold"], rows[:_MOST_CLASSES]), *more]


def _table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return [f"| {' | '.join(map(str, line))} |" for line in lines]


def _percent(value: float | None) -> str:
    return "—" if value is None else f"{100 * value:.1f}"


def _plain(text: str) -> str:
    """A name that others chose, so that it is no Markdown or HTML."""
    return re.sub(r"([\\`*_{}\[\]<>|#~$])", r"\\\1", without_controls(text))


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "data"
