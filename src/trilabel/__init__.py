"""trilabel: multi-label image classifiers from labels that are present (+1), absent (−1) or unknown (0).

Everything public hangs here and is imported on first use, so that `import trilabel` and `trilabel --help` stay fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trilabel import data, losses, metrics, recipes, simulate
    from trilabel.config import Config
    from trilabel.engine import train
    from trilabel.errors import TrilabelError
    from trilabel.expected import expected_positives
    from trilabel.labels import Labels
    from trilabel.predict import Model, load
    from trilabel.run_folder import Run

__version__ = "0.1.0"

_MODULES = ("data", "losses", "metrics", "recipes", "simulate")
_NAMES = {
    "Config": "config",
    "Labels": "labels",
    "Model": "predict",
    "Run": "run_folder",
    "TrilabelError": "errors",
    "expected_positives": "expected",
    "load": "predict",
    "train": "engine",
}

__all__ = [
    "Config",
    "Labels",
    "Model",
    "Run",
    "TrilabelError",
    "data",
    "expected_positives",
    "load",
    "losses",
    "metrics",
    "recipes",
    "simulate",
    "train",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"trilabel.{name}")
    if name in _NAMES:
        return getattr(import_module(f"trilabel.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'trilabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
