"""The published figures that belong beside a plan's rows."""

from collections.abc import Sequence

from trilabel.compare.plan import PARTS, Plan
from trilabel.config import Config
from trilabel.errors import no_such
from trilabel.published import figures
from trilabel.recipes import resolve
from trilabel.report.comparison import Reference


def references(plan: Plan, published: Sequence[str], metrics: Sequence[str]) -> list[Reference]:
    """The published figures of the plan's rows on these data sets: of the row's recipe, or of the very same method."""
    found: list[Reference] = []
    known = sorted({figure.data for figure in figures()})
    for name in published:
        if name not in known:
            raise no_such("data set with published figures", name, known)
    wanted = [figure for figure in figures() if figure.data in published and figure.metric in metrics and figure.recipe]
    for row in plan.rows:
        for figure in wanted:
            same = figure.recipe == row.recipe or _same_method(figure.recipe, row.config)
            if same and figure.labels in plan.labels_of(row):
                source = f"{figure.source}, {figure.data}"
                found.append(Reference(row.name, figure.labels, figure.metric, figure.value, source))
    return found


def _same_method(recipe: str, config: Config) -> bool:
    published = resolve(recipe)
    return all(getattr(published, part) == getattr(config, part) for part in PARTS)
