"""What would fail in the end is refused before anything slow begins."""

import numpy as np

from trilabel.compare.spec import ALL, Plan, changed
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.labels import simulate
from trilabel.methods import METHODS
from trilabel.models import check_graph, check_head
from trilabel.settings import settings_of
from trilabel.training.splits import split_for_training
from trilabel.training.strategies import check_relabel

_NEVER_SEARCHED = ("seed", "val", "train_split", "select")


def check(dataset: Dataset, plan: Plan, test: str, pointing: bool) -> None:
    """Refuses splits, boxes, label settings, seeds and searches that do not go with the data or each other."""
    scored = dataset.rows_of(test)
    if not len(scored):
        raise TrilabelError(f"split {test!r} has no images to score")
    if pointing and (dataset.boxes is None or not np.isin(dataset.boxes.image, scored).any()):
        raise TrilabelError(f"split {test!r} has no boxes: the pointing game needs to know where objects are")
    names = [row.name for row in plan.rows]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TrilabelError(f"two rows are called {min(twice)!r}; give each a name of its own")
    for labels in {labels for row in plan.rows for labels in (*plan.labels_of(row), *plan.searched_in(row))} - {ALL}:
        simulate.apply(dataset.labels[:1], labels, plan.hide_seed)
    for row, _, seed in plan.cells():
        changed(row.config, {"seed": seed}, row.name)
    for row in plan.rows:
        trials = plan.trials(row)
        for name in (*plan.search, *(row.grid or {})):
            if name in _NEVER_SEARCHED:
                raise TrilabelError(f"{row.name}: {name} cannot be searched, or be another in search runs")
        for tried in ({}, *trials):
            _check_names(
                changed(changed(row.config, plan.search if tried else {}, row.name), tried, row.name), row.name
            )
        _, learned, chosen_by = split_for_training(dataset, row.config)
        if np.isin(scored, np.concatenate((learned, chosen_by))).any():
            raise TrilabelError(
                f"{row.name}: images of split {test!r} are also learned from or choose the epoch; score another split "
                "(--test), or set validation images apart (--val 0.2)"
            )
        if trials and row.config.val == "none":
            raise TrilabelError(f"{row.name}: a search needs validation images, and val is none")


def _check_names(config: Config, row: str) -> None:
    """Refuses parts and settings that there are not; what the labels allow is seen when a run begins."""
    try:
        if config.method != "auto":
            if config.method not in METHODS:
                raise unknown_name_error("method", config.method, METHODS)
            settings_of(METHODS[config.method].Settings, config.settings, config.method)
        check_head(config.head, config.head_settings)
        check_graph(config.graph, config.graph_settings)
        if config.relabel != "none":
            check_relabel(config.relabel, config.relabel_settings)
    except TrilabelError as error:
        raise TrilabelError(f"{row}: {error}") from None
