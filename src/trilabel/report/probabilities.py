"""How sure a model is of positives, negatives and unknown labels: histograms of its probabilities after an epoch."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from trilabel.report.plots import COLORS, epoch_axis
from trilabel.report.training import HIDDEN, below_half
from trilabel.training.diagnosis import BINS
from trilabel.training.record import EpochRecord

_COLORS = {"known_positives": 0, "positives": 0, "known_negatives": 1, "negatives": 1, "unknown": 6}
_COLORS |= {"hidden_positives": 2, "hidden_negatives": 4}
_LOWEST_SHARE = 1e-3  # of the labels of an epoch that colors tell apart
_FLOOR = 0.7  # a little below one label, where a logarithmic scale must end


def has_some(record: EpochRecord) -> bool:
    """Whether an epoch's record has anything to draw."""
    return bool(_panels(record))


def _panels(record: EpochRecord, in_folds: bool = False) -> dict[str, Mapping[str, list[int]]]:
    # Titles of panels have one line for each 40 letters or so.
    judged = "Training images, each scored\nwithout having learned it" if in_folds else "Validation images"
    panels = {"Training images": record.probabilities, judged: record.val_probabilities}
    return {title: counts for title, counts in panels.items() if counts}


def caption(history: Sequence[EpochRecord]) -> str:
    """What the figure of this history shows."""
    below = "; in a second row unknown labels whose truth is known, epoch by epoch" if _hidden(history) else ""
    return (
        f"How probable the model finds labels, by what is known of them, after the best epoch{below}. The further "
        "positives stand from negatives, the better it tells them apart."
    )


def histograms(record: EpochRecord, history: Sequence[EpochRecord] = (), in_folds: bool = False) -> Figure:
    """Counts of labels by probability after an epoch and, of hidden labels, over all epochs of the history.

    in_folds: the run held no image out, but scored each training image by a head that was fitted without it.
    """
    panels, courses = _panels(record, in_folds), _hidden(history)
    columns, rows = max(len(panels), len(courses)), 1 + bool(courses)
    figure = Figure(figsize=(0.4 + 4.8 * columns, 4.0 * rows), layout="constrained")
    below, drawn = figure.subplots(rows, columns, squeeze=False), None
    for axes, (title, by_kind) in zip(below[0], panels.items(), strict=False):
        _draw_counts(axes, f"{title}, epoch {record.epoch}", by_kind)
    for axes, (kind, each) in zip(below[-1], courses.items(), strict=False):
        drawn = _draw_course(axes, kind, each, [one.stage for one in history])
    for axes in below.flat:
        if not axes.has_data():
            axes.set_axis_off()
    if drawn is not None:
        figure.colorbar(drawn, ax=below[-1], label="share of the labels in an epoch", extend="min", aspect=30)
    return figure


def _draw_counts(axes: Any, title: str, by_kind: Mapping[str, list[int]]) -> None:
    """In equal bins over [0, 1]; for positives the legend shows how many are missed.

    Counts are on a logarithmic scale: unknown labels outnumber known ones by orders of magnitude.
    """
    shown = {kind: counts for kind, counts in by_kind.items() if kind != "unknown" or not _all_told(by_kind)}
    for kind, counts in shown.items():
        edges, color = np.linspace(0, 1, len(counts) + 1), COLORS[_COLORS[kind]]
        axes.stairs(counts, edges, baseline=_FLOOR, fill=True, color=color, alpha=0.18)
        axes.stairs(counts, edges, baseline=None, color=color, linewidth=1.4, label=_legend(kind, counts))
    axes.set_yscale("log", nonpositive="clip")
    axes.set_ylim(bottom=_FLOOR)
    axes.set_xlim(0, 1)
    axes.set_xlabel("probability of being present")
    axes.set_ylabel("labels")
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    # Below the axes: any bin may be full, so no corner inside is sure to be free.
    columns = min(len(shown), 3) if len(shown) != 4 else 2
    axes.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns)


def _all_told(by_kind: Mapping[str, list[int]]) -> bool:
    """Whether the truth of all unknown labels is known, so that they need not be drawn once more."""
    told = sum(sum(by_kind.get(kind, ())) for kind in HIDDEN)
    return 0 < told == sum(by_kind.get("unknown", ()))


def _hidden(history: Sequence[EpochRecord]) -> dict[str, NDArray[np.float64]]:
    """Of hidden positives and negatives, if there are any: epochs × bins, the share of the epoch's labels."""
    found = {}
    for kind in HIDDEN:
        counts = [np.array(record.probabilities.get(kind, [0] * BINS), np.float64) for record in history]
        if any(each.any() for each in counts):
            found[kind] = np.array([each / max(1, each.sum()) for each in counts])
    return found


def _draw_course(axes: Any, kind: str, shares: NDArray[np.float64], stages: Sequence[str]) -> Any:
    """A column for each epoch, white where there is no label (Cole 2021, figure 2)."""
    edges = np.arange(len(shares) + 1) + 0.5, np.linspace(0, 1, shares.shape[1] + 1)
    seen = np.ma.masked_equal(shares.T, 0)
    drawn = axes.pcolormesh(*edges, seen, cmap="viridis_r", norm=LogNorm(_LOWEST_SHARE, 1))
    epoch_axis(axes, stages)
    axes.set_ylabel("probability of being present")
    axes.set_title(f"Unknown labels: {kind.replace('_', ' ')}", loc="left", fontsize=10)
    return drawn


def _legend(kind: str, counts: Sequence[int]) -> str:
    words, share = kind.replace("_", " "), below_half(counts)
    return f"{words} ({100 * share:.1f} % below 0.5)" if kind.endswith("positives") and share is not None else words
