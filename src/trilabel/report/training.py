"""The course of a run, from the records of its epochs: the picture and the table of `trilabel report`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trilabel.report.panels import Lines
from trilabel.training.record import EpochRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

History = Sequence[EpochRecord]
_TARGETS = {"left_out": "left out", "as_present": "treated as present"}
_CAPTIONS = {
    "loss": "What training makes small: the mean over the steps of an epoch. Compare it within a run only.",
    "scores": "Scores of images that were not learned from, over their known labels. The best epoch's model is kept.",
    "costs": "Mean loss of labels by what they truly are. Rising for hidden positives: they are learned as absent.",
    "became": "What the method made of unknown labels, and how much of that was right where the truth is known.",
}
_KINDS = ("known_positives", "true_negatives", "hidden_positives")


HIDDEN = ("hidden_positives", "hidden_negatives")  # kinds of unknown labels whose truth is known


def picture(history: History, best: EpochRecord | None = None) -> "Figure":
    """Loss, validation scores, the loss of labels by their true value, and how unknown labels were treated.

    best: the epoch whose model is kept, which the picture marks.
    """
    from trilabel.report import plots  # matplotlib takes a second to import, which the page does without

    return plots.lines(panels(history), [record.stage for record in history], place_of(best, history))


def panels(history: History) -> list[Lines]:
    """What the picture draws, a panel each; those that have nothing to show are left out."""
    scores = {name: _validation(history, name) for name in ("mAP", "CF1")}
    costs = {kind.replace("_", " "): _mean_losses(history, kind) for kind in _KINDS}
    became: dict[str, list[float | None]] = {}
    for name, words in _TARGETS.items():
        became[words], became[f"{words}, rightly"] = _shares(history, name), _rightly(history, name)
    found = [
        Lines("Training", "loss", {"loss": _losses(history)}, _CAPTIONS["loss"]),
        Lines("Validation", "%", _present(scores), _CAPTIONS["scores"]),
        Lines("Loss of labels as known or assumed", "mean loss", _present(costs), _CAPTIONS["costs"]),
        Lines("How unknown labels were treated", "%", _present(became), _CAPTIONS["became"]),
    ]
    return [panel for panel in found if panel.series]


def place_of(best: EpochRecord | None, history: History) -> int | None:
    """The epoch of a record, counted from 1 through all stages; None if it is not there."""
    return next((number for number, record in enumerate(history, 1) if best and _same_epoch(record, best)), None)


def _same_epoch(one: EpochRecord, other: EpochRecord) -> bool:
    return (one.stage, one.epoch) == (other.stage, other.epoch)


def table(history: History) -> tuple[list[str], list[list[str]]]:
    """(header, a row per epoch) with the columns that contain values."""
    columns: dict[str, Sequence[float | None]] = {"loss": _losses(history)}
    columns |= {f"val {name} %": _validation(history, name) for name in ("mAP", "CF1")}
    for name, words in _TARGETS.items():
        columns[f"unknown {words} %"], columns[f"{words} rightly %"] = _shares(history, name), _rightly(history, name)
    columns |= {f"{kind.replace('_', ' ')} above 0.5 %": _above_half(history, kind) for kind in HIDDEN}
    columns |= {f"loss of {kind.replace('_', ' ')}": _mean_losses(history, kind) for kind in _KINDS}
    shown = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    rows = [
        [record.stage, str(record.epoch), *(_text(values[place], name) for name, values in shown.items())]
        for place, record in enumerate(history)
    ]
    return ["stage", "epoch", *shown], rows


def soft_targets(history: History) -> list[str]:
    """Lines on targets between present and absent, in the last epoch that had any: rates, number, precision, error."""
    record = next((record for record in reversed(history) if "unknown_target" in record.parts and record.unknown), None)
    if record is None or record.unknown is None:
        return []
    lines, parts, unknown = [], record.parts, record.unknown
    for kind, word in (("positives", "present"), ("negatives", "absent")):
        if (name := f"{kind}_known") in parts:
            low, mean, high = (parts.get(key, parts[name]) for key in (f"{name}_lowest", name, f"{name}_highest"))
            spread = f" ({low:.2f} to {high:.2f})" if high - low >= 0.005 else ""
            lines.append(f"{word} labels are known {mean:.2f} of the time{spread}")
    right = "" if unknown.as_present_right is None else f", {100 * unknown.as_present_right:.1f} % of them rightly"
    lines.append(f"targets of unknown labels above 0.5, {record.stage} {record.epoch}: {unknown.as_present:,}{right}")
    if unknown.calibration_error is not None:
        lines.append(f"calibration error of the targets of unknown labels: {100 * unknown.calibration_error:.1f} %")
    return lines


def relabellings(history: History) -> tuple[list[str], list[list[str]]]:
    """(header, a row for each relabelling): labels added, labels used, and their accuracy (Durand 2019, table 2)."""
    rates = {
        "positives_right": "positives right %",
        "negatives_right": "negatives right %",
        "true_positive_rate": "TP %",
        "true_negative_rate": "TN %",
    }
    found = [(record, record.relabelled) for record in history if record.relabelled is not None]
    shown = [name for name in rates if any(getattr(done, name) is not None for _, done in found)]
    rows = [
        [
            *(record.stage, str(record.epoch), f"{done.positives:,}", f"{done.negatives:,}"),
            f"{100 * done.used_share:.1f}",
            *(_text(_percent(getattr(done, name)), "%") for name in shown),
        ]
        for record, done in found
    ]
    header = ["relabelled in", "before epoch", "positives added", "negatives added", "labels used %"]
    return [*header, *(rates[name] for name in shown)], rows


def _shares(history: History, target: str) -> list[float | None]:
    """Of the unknown labels of each epoch, the share in % with this target; None if there is none."""
    return [_percent(record.unknown.share(target) or None) if record.unknown else None for record in history]


def _rightly(history: History, target: str) -> list[float | None]:
    return [_percent(getattr(record.unknown, f"{target}_right", None)) for record in history]


def _validation(history: History, name: str) -> list[float | None]:
    return [_percent(record.val.get(name)) for record in history]


def _mean_losses(history: History, kind: str) -> list[float | None]:
    return [record.mean_loss.get(kind) for record in history]


def _above_half(history: History, kind: str) -> list[float | None]:
    """Of the hidden labels of this kind, the share in % with a probability of 0.5 or more in each epoch."""
    below = [below_half(record.probabilities.get(kind, ())) for record in history]
    return [None if share is None else 100 * (1 - share) for share in below]


def below_half(counts: Sequence[int]) -> float | None:
    """Share of the labels of a histogram over [0, 1] with a probability below 0.5; None if there are none."""
    total = sum(counts)
    return sum(counts[: len(counts) // 2]) / total if total else None


def _losses(history: History) -> list[float | None]:
    return [record.loss for record in history]


def _present(series: Mapping[str, Sequence[float | None]]) -> dict[str, Sequence[float | None]]:
    return {name: values for name, values in series.items() if any(value is not None for value in values)}


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _text(value: float | None, column: str) -> str:
    return "—" if value is None else f"{value:.1f}" if "%" in column else f"{value:.4f}"
