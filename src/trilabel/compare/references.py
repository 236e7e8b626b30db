"""The published figures that belong beside a plan's rows."""

from collections.abc import Sequence

from trilabel.compare.published import figures
from trilabel.compare.spec import Plan
from trilabel.config import SETTINGS_OF
from trilabel.errors import unknown_name_error
from trilabel.recipes import resolve
from trilabel.report.comparison import Reference


def references(plan: Plan, published: Sequence[str], metrics: Sequence[str]) -> list[Reference]:
    """The published figures of the plan's rows on these data sets: of the very same parts, with the same settings.

    Those of the row's own recipe also where settings differ: papers searched them.
    """
    found: list[Reference] = []
    known = sorted({figure.data for figure in figures()})
    for name in published:
        if name not in known:
            raise unknown_name_error("data set with published figures", name, known)
    wanted = [figure for figure in figures() if figure.data in published and figure.metric in metrics and figure.recipe]
    for row in plan.rows:
        for figure in wanted:
            theirs = resolve(figure.recipe)
            same = all(getattr(theirs, part) == getattr(row.config, part) for part in (*SETTINGS_OF, "stages"))
            equal = all(getattr(theirs, part) == getattr(row.config, part) for part in SETTINGS_OF.values())
            if same and (equal or figure.recipe == row.recipe) and figure.labels in plan.labels_of(row):
                source = f"{figure.source}, {figure.data}"
                note = "" if equal else "with its own settings of the method"
                found.append(Reference(row.name, figure.labels, figure.metric, figure.value, source, note))
    return found
