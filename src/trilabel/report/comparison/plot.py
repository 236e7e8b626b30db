"""The plot of a comparison."""

import math

from matplotlib.figure import Figure

from trilabel.compare.results import ComparisonResults, known_labels
from trilabel.report.comparison.dot_plot import dot_plot
from trilabel.report.comparison.line_plot import line_plot
from trilabel.report.comparison.series import series_of


def plot(results: ComparisonResults, metric: str) -> Figure:
    """A metric over the share of known labels; if all settings know as many, the methods sorted by their mean."""
    settings = known_labels(results.cells)
    series = series_of(results, settings, metric)
    shares = [setting.share for setting in settings]
    all_equal = not shares or math.isclose(min(shares), max(shares), rel_tol=0.01)
    return (dot_plot if all_equal else line_plot)(settings, series, f"{metric} %")
