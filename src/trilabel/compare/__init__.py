"""Comparisons: methods × label settings × seeds on one data set, a run a cell, beside the published figures."""

from trilabel.compare.runner import Comparison
from trilabel.compare.spec import ALL, Plan, Row, read_plan, row_of, with_grids

__all__ = ["ALL", "Comparison", "Plan", "Row", "read_plan", "row_of", "with_grids"]
