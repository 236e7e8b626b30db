"""The version of trilabel, on its own so that any room may read it."""

__version__ = "0.1.0"
