"""How sure a model is of positives, negatives and unknown labels: histograms of its probabilities after an epoch."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from trilabel.report.plots import COLORS
from trilabel.training.record import EpochRecord

_COLORS = {"known_positives": 0, "positives": 0, "known_negatives": 1, "negatives": 1, "unknown": 6}
_FLOOR = 0.7  # a little below one label, where a logarithmic scale must end


def has_some(record: EpochRecord) -> bool:
    """Whether an epoch's record has anything to draw."""
    return bool(_panels(record))


def _panels(record: EpochRecord) -> dict[str, Mapping[str, list[int]]]:
    panels = {"Training images": record.probabilities, "Validation images": record.val_probabilities}
    return {title: counts for title, counts in panels.items() if counts}


def histograms(record: EpochRecord) -> Figure:
    """Counts of labels by probability, in equal bins over [0, 1]; for positives the legend shows how many are missed.

    Counts are on a logarithmic scale: unknown labels outnumber known ones by orders of magnitude.
    """
    panels = _panels(record)
    figure = Figure(figsize=(0.4 + 4.8 * len(panels), 4.0), layout="constrained")
    for axes, (title, by_kind) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for kind, counts in by_kind.items():
            edges, color = np.linspace(0, 1, len(counts) + 1), COLORS[_COLORS[kind]]
            axes.stairs(counts, edges, baseline=_FLOOR, fill=True, color=color, alpha=0.18)
            axes.stairs(counts, edges, baseline=None, color=color, linewidth=1.4, label=_legend(kind, counts))
        axes.set_yscale("log", nonpositive="clip")
        axes.set_ylim(bottom=_FLOOR)
        axes.set_xlim(0, 1)
        axes.set_xlabel("probability of being present")
        axes.set_ylabel("labels")
        axes.set_title(f"{title}, epoch {record.epoch}", loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        # Below the axes: any bin may be full, so no corner inside is sure to be free.
        axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=len(by_kind))
    return figure


def below_half(counts: Sequence[int]) -> float | None:
    """Share of the labels with a probability below 0.5; None if there are none."""
    total = sum(counts)
    return sum(counts[: len(counts) // 2]) / total if total else None


def _legend(kind: str, counts: Sequence[int]) -> str:
    words, share = kind.replace("_", " "), below_half(counts)
    return f"{words} ({100 * share:.1f} % below 0.5)" if kind.endswith("positives") and share is not None else words
