"""The checks that all of our methods, heads and formats pass, for those of your own.

Each raises an AssertionError that says what is wrong and in which case. They need no test framework; METHOD_CHECKS and
FORMAT_CHECKS are the single checks, for a test of each.
"""

from trilabel.testing.formats import FORMAT_CHECKS, FormatCase, check_format
from trilabel.testing.heads import check_head
from trilabel.testing.method_case import MethodCase
from trilabel.testing.methods import METHOD_CHECKS, check_method

__all__ = [
    "FORMAT_CHECKS",
    "METHOD_CHECKS",
    "FormatCase",
    "MethodCase",
    "check_format",
    "check_head",
    "check_method",
]
