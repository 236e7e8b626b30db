"""Styles, scripts and templates of pages: files of the package. `tokens.css` is for every page."""

from importlib.resources import files


def asset(name: str) -> str:
    """The text of a file in `assets/`, such as "tokens.css"."""
    return files("trilabel.report").joinpath("assets", name).read_text(encoding="utf-8")
