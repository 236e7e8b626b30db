"""The three-valued label matrix: present (+1), absent (−1), unknown (0), and operations on it."""

from trilabel.labels.matrix import Labels
from trilabel.labels.names import Names

__all__ = ["Labels", "Names"]
