"""The published figures that belong beside the rows of a comparison."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from trilabel.compare.published import figures
from trilabel.compare.results import Reference
from trilabel.compare.spec import Spec
from trilabel.config import SETTINGS_OF, Config
from trilabel.errors import unknown_name_error
from trilabel.methods import METHODS
from trilabel.models import check_graph, check_head
from trilabel.settings import settings_of
from trilabel.training.strategies import STRATEGIES, RelabelSettings


def references(spec: Spec, published: Sequence[str], metrics: Sequence[str]) -> list[Reference]:
    """The published figures of the spec's rows on these data sets: of the same parts with the same settings.

    For the row's own recipe also if settings differ, because papers searched them; but not those for which the paper
    says which settings they have (`PublishedFigure.settings`). What a paper prints several times is shown once.
    """
    found: dict[tuple[str, str, Reference], Reference] = {}
    known = sorted({figure.data for figure in figures()})
    for name in published:
        if name not in known:
            raise unknown_name_error("data set with published figures", name, known)
    wanted = [figure for figure in figures() if figure.data in published and figure.metric in metrics and figure.recipe]
    configs = [figure.config for figure in wanted]
    for row in spec.rows:
        for figure, theirs in zip(wanted, configs, strict=True):
            same_parts = all(getattr(theirs, part) == getattr(row.config, part) for part in (*SETTINGS_OF, "stages"))
            if not same_parts or figure.labels not in spec.labels_of(row):
                continue
            same_settings = settings_in_full(theirs) == settings_in_full(row.config)
            if same_settings or (figure.recipe == row.recipe and not figure.settings):
                source = f"{figure.source}, {figure.data}"
                note = figure.settings if same_settings else "with its own settings of the method"
                shown = Reference(row.name, figure.labels, figure.metric, figure.value, source, note)
                found.setdefault((figure.paper, figure.data, replace(shown, source="")), shown)
    return list(found.values())


def settings_in_full(config: Config) -> tuple[Any, ...]:
    """The settings of all parts, with their defaults; without the runs of an ensemble, which are no two alike."""
    method = settings_of(METHODS[config.method].Settings, config.settings, config.method)
    relabel: RelabelSettings = settings_of(RelabelSettings, config.relabel_settings, config.relabel, "relabelling")
    if relabel.threshold is None and config.relabel in STRATEGIES:
        relabel = replace(relabel, threshold=STRATEGIES[config.relabel].threshold)
    head, graph = check_head(config.head, config.head_settings), check_graph(config.graph, config.graph_settings)
    return method, head, graph, replace(relabel, runs=())
