"""The published figures that belong beside the rows of a comparison."""

from collections.abc import Sequence
from dataclasses import replace

from trilabel.compare.published import figures
from trilabel.compare.results import Reference
from trilabel.compare.spec import Spec
from trilabel.config import SETTINGS_OF
from trilabel.errors import unknown_name_error


def references(spec: Spec, published: Sequence[str], metrics: Sequence[str]) -> list[Reference]:
    """The published figures of the spec's rows on these data sets: of the same parts with the same settings.

    For the row's own recipe also if settings differ, because papers searched them; but not those for which the paper
    says which settings they have. What a paper prints several times is shown once.
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
            same_settings = all(getattr(theirs, name) == getattr(row.config, name) for name in SETTINGS_OF.values())
            searched = figure.recipe == row.recipe and not figure.settings
            if same_parts and (same_settings or searched) and figure.labels in spec.labels_of(row):
                source = f"{figure.source}, {figure.data}"
                note = figure.settings if same_settings else "with its own settings of the method"
                shown = Reference(row.name, figure.labels, figure.metric, figure.value, source, note)
                found.setdefault((figure.paper, figure.data, replace(shown, source="")), shown)
    return list(found.values())
