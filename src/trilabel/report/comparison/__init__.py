"""Tables and plots of a comparison: methods × label settings, beside the published figures."""

from trilabel.report.comparison.files import run_and_report, write_plot, write_tables
from trilabel.report.comparison.live import live_table

__all__ = ["live_table", "run_and_report", "write_plot", "write_tables"]
