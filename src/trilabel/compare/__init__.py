"""Comparisons: methods × label settings × seeds on one data set, one run per cell, beside the published figures."""

from trilabel.compare.results import CellKey, CellResult, ComparisonResults, Reference, Trial
from trilabel.compare.runner import Comparison
from trilabel.compare.spec import ALL, MethodRow, Spec, method_row, recipe_row, with_grids
from trilabel.compare.spec_file import read_spec

__all__ = [
    "ALL",
    "CellKey",
    "CellResult",
    "Comparison",
    "ComparisonResults",
    "MethodRow",
    "Reference",
    "Spec",
    "Trial",
    "method_row",
    "read_spec",
    "recipe_row",
    "with_grids",
]
