"""Mean and sample deviation over seeds."""

from math import isfinite, sqrt

from trilabel.compare.results import CellResult


def seed_statistics_by_loops(
    cells: list[CellResult], metric: str
) -> list[tuple[str, str, int, int, float | None, float | None]]:
    """(row, labels, runs with the metric, runs without, mean, deviation) for each (row, labels)."""
    answer, seen = [], []
    for first in cells:
        if (first.row, first.labels) in seen:
            continue
        seen.append((first.row, first.labels))
        values, without, total, squares = [], 0, 0.0, 0.0
        for other in cells:
            if (other.row, other.labels) == (first.row, first.labels):
                value = other.metrics.get(metric)
                if value is None or not isfinite(value):
                    without += 1
                else:
                    values.append(100 * value)
        for value in values:
            total += value
        mean = total / len(values) if values else None
        for value in values:
            squares += (value - mean) ** 2
        deviation = sqrt(squares / (len(values) - 1)) if len(values) > 1 else None
        answer.append((first.row, first.labels, len(values), without, mean, deviation))
    return answer
