"""Where a user's own files of trilabel are on this system."""

import os
import sys
from pathlib import Path

from trilabel.errors import TrilabelError

HOME = "TRILABEL_HOME"  # the environment variable that puts everything into one folder


def user_folder(xdg: str, below_home: str, windows: str) -> Path:
    """The user's folder for files of one kind: by variables of Linux (`xdg`) and Windows, or below the home folder."""
    if own := os.environ.get(HOME):
        return Path(own).absolute()
    if sys.platform == "win32":
        base = os.environ.get(windows)
        return (Path(base) if base else _home()) / "trilabel"
    if sys.platform == "darwin":
        return _home() / "Library/Application Support/trilabel"
    base = os.environ.get(xdg, "")
    return (Path(base) if Path(base).is_absolute() else _home() / below_home) / "trilabel"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        raise TrilabelError(f"this user has no home folder; name one in the environment variable {HOME}") from None
