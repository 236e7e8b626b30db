"""Checks of a comparison before its first run: problems that would only show after hours are found at once."""

import numpy as np

from trilabel.compare.changes import with_changes
from trilabel.compare.runs import Scoring
from trilabel.compare.spec import ALL, MethodRow, Spec
from trilabel.compare.splits import TrainingSplits
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import simulate
from trilabel.log import log
from trilabel.methods import METHODS, check_method
from trilabel.models import check_graph, check_head
from trilabel.settings import settings_of
from trilabel.training.splits import TrainingSplit
from trilabel.training.strategies import check_relabel

_NEVER_SEARCHED = ("seed", "val", "train_split", "select")


def check(dataset: Dataset, spec: Spec, scoring: Scoring, splits: TrainingSplits) -> None:
    """Raises an error for splits, boxes, label settings, seeds and searches that do not fit the data or each other."""
    check_spec(spec)
    for labels in {name for row in spec.rows for name in (*spec.labels_of(row), *spec.search_labels_of(row))} - {ALL}:
        if setting := simulate.split_images(labels)[1]:
            simulate.apply(dataset.labels[:1], setting, spec.hide_seed_of(spec.seeds[0]))
    scored = dataset.rows_of(scoring.split)
    if not len(scored):
        raise TrilabelError(f"split {scoring.split!r} has no images to score")
    if scoring.pointing and (dataset.boxes is None or not np.isin(dataset.boxes.image, scored).any()):
        raise TrilabelError(f"split {scoring.split!r} has no boxes, which the pointing game needs")
    for row in spec.rows:
        split = splits.of(row.config)
        if np.isin(scored, np.concatenate((split.train, split.val))).any():
            raise TrilabelError(
                f"{row.name}: images of split {scoring.split!r} are also used to learn or to choose the epoch; score "
                "another split (--test), or hold out validation images (--val 0.2)"
            )
    warn_of_refusals(spec, splits)


def warn_of_refusals(spec: Spec, splits: TrainingSplits) -> None:
    """Says at once which rows cannot learn from which labels, which would only show in the end: the others can run."""
    for labels in dict.fromkeys(name for row in spec.rows for name in spec.labels_of(row)):
        hidden: dict[tuple[str, str], TrainingSplit] = {}  # by what makes the splits of rows differ
        for row in spec.rows:
            config, key = row.config, (row.config.train_split, row.config.val)
            if labels not in spec.labels_of(row) or config.method == "auto":
                continue
            if key not in hidden:
                split = splits.of(config)
                hidden[key] = split if labels == ALL else split.hide(labels, spec.hide_seed_of(spec.seeds[0]))
            learned, validation = hidden[key].labels, hidden[key].dataset.labels[hidden[key].val]
            try:
                check_method(config.method, config.settings, learned, validation)
            except TrilabelError as error:
                log.warning(f"{row.name}, {labels}: cannot be trained: {error}")


def check_spec(spec: Spec) -> None:
    """Raises an error for names, seeds, settings and searches of rows that are wrong for any data."""
    names = [row.name for row in spec.rows]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise TrilabelError(f"two rows are named {min(repeated)!r}; give each a unique name")
    for row, _, seed in spec.cells():
        with_changes(row.config, {"seed": seed}, row.name)
    for row in spec.rows:
        _check_search(spec, row)
        _check_names(row.config, row.name)


def _check_search(spec: Spec, row: MethodRow) -> None:
    for name in (*spec.search, *(row.grid or {})):
        if name in _NEVER_SEARCHED:
            raise TrilabelError(f"{row.name}: {name} cannot be searched or changed in search runs")
    trials = spec.trials(row)
    if trials and row.config.val == "none":
        raise TrilabelError(f"{row.name}: a search needs validation images, and val is none")
    for tried in trials:
        _check_names(spec.search_config(row, tried), row.name)


def _check_names(config: Config, row: str) -> None:
    """Raises an error for unknown components and settings; whether they fit the labels is checked when a run starts."""
    try:
        if config.method != "auto":
            settings_of(METHODS.find(config.method).Settings, config.settings, config.method)
        check_head(config.head, config.head_settings)
        check_graph(config.graph, config.graph_settings)
        if config.relabel != "none":
            check_relabel(config.relabel, config.relabel_settings)
    except TrilabelError as error:
        raise TrilabelError(f"{row}: {error}") from None
