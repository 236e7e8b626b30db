"""Tables that a finished run writes for people: weak labels, and relations between labels."""

from typing import Any

import scipy.sparse as sp

from trilabel.data.formats.csv_table.writing import write_known
from trilabel.data.side_tables import label_graph
from trilabel.data.spreadsheet_cells import count_formulas, formula_note
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.methods import Method
from trilabel.training.relabelling import Relabelling
from trilabel.training.run_folder import RunFolder

_MOST_WEAK_LABELS = 20_000_000  # a table of this size takes half a gigabyte and a minute


def write_exports(folder: RunFolder, labels: Labels, method: Method[Any], relabelling: Relabelling | None) -> None:
    """Writes weak labels and the label graph of the best epoch, if the run has them.

    Weak labels of relabelling take precedence over those of the method.
    """
    folder.refuse_if_removed()
    weak = method.weak_labels() if relabelling is None else _weak_labels(folder, relabelling)
    if weak is not None:
        write_known(Labels.from_csr(weak, labels.classes, labels.ids), folder.weak_labels)
    graph = method.label_graph()
    if graph is not None:
        label_graph.write(graph, labels.classes, folder.label_graph)
    if (weak is not None or graph is not None) and (count := count_formulas(labels.classes, labels.ids)):
        log.warning(f"{folder.path}: {formula_note(count, offered=False)} if you open its tables in one")


def _weak_labels(folder: RunFolder, relabelling: Relabelling) -> sp.csr_array | None:
    count = relabelling.count()
    if not count:
        log.info("the best epoch has no weak labels (it may be from before relabelling): no table is written")
        return None
    if count > _MOST_WEAK_LABELS:
        log.info(f"{count:,} weak labels: too many for a table; they are in {folder.best}")
        return None
    return relabelling.weak_labels()
