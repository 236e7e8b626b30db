"""What a reader has to know about the numbers of a comparison: how to read them, and how they were obtained."""

from collections.abc import Sequence

from trilabel.compare import Comparison, Spec
from trilabel.compare.results import ComparisonResults, SeedStatistics, known_labels, seed_statistics
from trilabel.metrics import GROUP_METRICS
from trilabel.report.comparison.formatting import percent

_GROUPS = (
    "G1 to G5: mAP of a fifth of the classes each, from those with the fewest known training labels in this label "
    "setting (G1) to those with the most (G5)."
)

_NO_GROUPS = (
    "mAP by groups of classes (G1 to G5) is missing in {} runs: they finished before it was recorded, or no class of a "
    "group has a known positive."
)


def legend(results: ComparisonResults) -> list[str]:
    """How to read the table: seeds, bold numbers, how many labels were known, which runs are left out."""
    if not results.cells:
        return ["No run has finished."]
    statistics = [one for metric in results.metrics for one in seed_statistics(results.cells, metric)]
    counts = [one.seeds for one in statistics if one.seeds]
    most, least = max(counts, default=0), min(counts, default=0)
    seeds = f"mean ± sample deviation over {most if least == most else f'{least} to {most}'} seeds"
    near = ", and every mean closer to it than the larger of the two deviations" if most > 1 else ""
    known = [f"{one.labels}: {one.count:,.0f} ({percent(one.share)})" for one in known_labels(results.cells)]
    return [
        f"Test metrics in %, {seeds if most > 1 else 'of one seed'}.",
        f"Bold: the best mean of a column{near}.",
        f"Known training labels: {'; '.join(known)}.",
        *([_GROUPS] if results.groups else []),
        *_left_out(statistics),
        *_without_groups(results),
    ]


def _left_out(statistics: Sequence[SeedStatistics]) -> list[str]:
    """Which runs have no value of a metric; groups of classes are told of elsewhere."""
    metrics: dict[str, list[str]] = {}
    for one in statistics:
        if one.left_out and one.metric not in GROUP_METRICS:
            runs = f"{one.left_out} of {one.left_out + one.seeds} runs of {one.row}, {one.labels}"
            metrics.setdefault(runs, []).append(one.metric)
    return [f"Left out: {runs}: no {', '.join(names)}." for runs, names in metrics.items()]


def _without_groups(results: ComparisonResults) -> list[str]:
    groups = [metric for metric in results.metrics if metric in GROUP_METRICS]
    count = sum(any(cell.metrics.get(metric) is None for metric in groups) for cell in results.cells)
    return [_NO_GROUPS.format(f"{count} of {len(results.cells)}")] if count else []


def protocol(comparison: Comparison) -> list[str]:
    """How the numbers were obtained: the scored split, the choice of the epoch, the search, failures."""
    dataset, spec, split = comparison.dataset, comparison.spec, comparison.scoring.split
    known = dataset.labels[dataset.rows_of(split)].known_share
    remarks = [f"Scored on split {split}" + (f", {known:.1%} of whose labels are known." if known < 1 else ".")]
    last = [row.name for row in spec.rows if row.config.val == "none"]
    if len(last) < len(spec.rows):
        remarks.append("The epoch is chosen on validation images, of which no label was hidden.")
    if last:
        remarks.append(f"The last epoch is used, without validation images: {'; '.join(last)}.")
    if comparison.trials:
        seconds = sum(trial.seconds for trial in comparison.trials)
        changes = ", ".join(f"{name} {value}" for name, value in spec.search.items())
        remarks.append(
            f"Searched on validation images only, with seed {spec.rows[0].config.seed}: "
            f"{len(comparison.trials)} runs, {seconds:,.0f} s, at most {spec.budget} per method and label setting"
            + (f"; search runs have {changes}." if changes else ".")
        )
        remarks += _searched(spec)
    return remarks + [f"{row}, {labels} failed: {error}" for row, labels, error in comparison.failures()]


def _searched(spec: Spec) -> list[str]:
    """The grids that were searched, each with its rows."""
    rows: dict[str, list[str]] = {}
    for row in spec.rows:
        if count := len(spec.trials(row)):
            grid = "; ".join(f"{name}: {', '.join(map(str, values))}" for name, values in (row.grid or {}).items())
            rows.setdefault(f"{count} runs each of {grid}", []).append(row.name)
    return [f"Searched in {what}, for: {'; '.join(names)}." for what, names in rows.items()]
