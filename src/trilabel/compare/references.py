"""The published figures that belong beside the rows of a comparison."""

from collections.abc import Sequence

from trilabel.compare.published import figures
from trilabel.compare.results import Reference
from trilabel.compare.spec import Spec
from trilabel.config import SETTINGS_OF
from trilabel.errors import unknown_name_error
from trilabel.recipes import resolve


def references(spec: Spec, published: Sequence[str], metrics: Sequence[str]) -> list[Reference]:
    """The published figures of the spec's rows on these data sets: of the same parts with the same settings.

    For the row's own recipe also if settings differ, because papers searched them.
    """
    found: list[Reference] = []
    known = sorted({figure.data for figure in figures()})
    for name in published:
        if name not in known:
            raise unknown_name_error("data set with published figures", name, known)
    wanted = [figure for figure in figures() if figure.data in published and figure.metric in metrics and figure.recipe]
    for row in spec.rows:
        for figure in wanted:
            theirs = resolve(figure.recipe)
            same_parts = all(getattr(theirs, part) == getattr(row.config, part) for part in (*SETTINGS_OF, "stages"))
            same_settings = all(getattr(theirs, name) == getattr(row.config, name) for name in SETTINGS_OF.values())
            comparable = same_parts and (same_settings or figure.recipe == row.recipe)
            if comparable and figure.labels in spec.labels_of(row):
                source = f"{figure.source}, {figure.data}"
                note = "" if same_settings else "with its own settings of the method"
                found.append(Reference(row.name, figure.labels, figure.metric, figure.value, source, note))
    return found
