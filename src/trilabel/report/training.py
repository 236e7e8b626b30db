"""How a run went, from the records of its epochs: the picture and the table of `trilabel report`."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from trilabel.report import plots

Record = Mapping[str, Any]
_SCORED = {"left_out": "left out", "as_present": "taken for present"}
_COSTS = {"known_present": "known positives", "true_absent": "true negatives", "hidden_present": "hidden positives"}


def picture(history: Sequence[Record]) -> Figure:
    """Validation scores, the loss of labels by what they are in truth, and what became of unknown labels."""
    scores = {name: _of(history, "val", name, 100) for name in ("mAP", "CF1")}
    costs = {words: _of(history, "mean_loss", name) for name, words in _COSTS.items()}
    became: dict[str, list[float | None]] = {}
    for name, words in _SCORED.items():
        became[words] = [_share_of(record, name) for record in history]
        became[f"{words}, rightly"] = _of(history, "unknown", f"{name}_right", 100)
    panels = [
        plots.Lines("Validation", "%", _present(scores)),
        plots.Lines("What labels cost as known or assumed", "mean loss", _present(costs)),
        plots.Lines("What became of unknown labels", "%", _present(became)),
    ]
    there = [panel for panel in panels if panel.series] or [plots.Lines("Training", "loss", {"loss": _losses(history)})]
    return plots.lines(there, [record["stage"] for record in history])


def table(history: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """(header, a row an epoch) with the columns that have something to say."""
    columns: dict[str, Sequence[float | None]] = {"loss": _losses(history)}
    columns |= {f"val {name} %": _of(history, "val", name, 100) for name in ("mAP", "CF1")}
    for name, words in _SCORED.items():
        columns[f"unknown {words} %"] = [_share_of(record, name) for record in history]
        columns[f"{words} rightly %"] = _of(history, "unknown", f"{name}_right", 100)
    columns |= {f"loss of {words}": _of(history, "mean_loss", name) for name, words in _COSTS.items()}
    shown = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    rows = [
        [record["stage"], str(record["epoch"]), *(_text(values[place], name) for name, values in shown.items())]
        for place, record in enumerate(history)
    ]
    return ["stage", "epoch", *shown], rows


def relabellings(history: Sequence[Record]) -> tuple[list[str], list[list[str]]]:
    """(header, a row for each relabelling): what was added, what is used now, and how right it is (Durand, table 2)."""
    rates = {
        "present_right": "positives right %",
        "absent_right": "negatives right %",
        "true_positive_rate": "TP %",
        "true_negative_rate": "TN %",
    }
    found = [(record, record["relabelled"]) for record in history if "relabelled" in record]
    shown = [name for name in rates if any(summary.get(name) is not None for _, summary in found)]
    rows = [
        [
            *(record["stage"], str(record["epoch"]), f"{summary['present']:,}", f"{summary['absent']:,}"),
            f"{100 * summary['used_share']:.1f}",
            *("—" if summary.get(name) is None else f"{100 * summary[name]:.1f}" for name in shown),
        ]
        for record, summary in found
    ]
    header = ["relabelled in", "before epoch", "positives added", "negatives added", "labels used %"]
    return [*header, *(rates[name] for name in shown)], rows


def _share_of(record: Record, name: str) -> float | None:
    """Of the unknown labels of an epoch, the share in % that was scored so; None where none was."""
    unknown = record.get("unknown", {})
    total = sum(unknown.get(kind, 0) for kind in ("as_absent", "left_out", "as_present"))
    return 100 * unknown[name] / total if unknown.get(name) else None


def _of(history: Sequence[Record], group: str, name: str, scale: float = 1) -> list[float | None]:
    values = [record.get(group, {}).get(name) for record in history]
    return [None if value is None else scale * value for value in values]


def _losses(history: Sequence[Record]) -> list[float | None]:
    return [record["loss"] for record in history]


def _present(series: Mapping[str, Sequence[float | None]]) -> dict[str, Sequence[float | None]]:
    return {name: values for name, values in series.items() if any(value is not None for value in values)}


def _text(value: float | None, column: str) -> str:
    return "—" if value is None else f"{value:.1f}" if "%" in column else f"{value:.4f}"
