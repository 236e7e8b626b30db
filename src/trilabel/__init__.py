"""trilabel: multi-label image classifiers from labels that are present (+1), absent (−1) or unknown (0).

Public names are imported on first use, so that `import trilabel` and `trilabel --help` stay fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from trilabel.version import __version__

if TYPE_CHECKING:
    from trilabel import data, estimator, losses, metrics, recipes
    from trilabel.config import Config
    from trilabel.data.formats import register_format
    from trilabel.errors import TrilabelError
    from trilabel.estimator import TriLabelClassifier
    from trilabel.inference.completion.api import complete
    from trilabel.inference.export.api import export
    from trilabel.inference.loading import load
    from trilabel.inference.predictor import Model
    from trilabel.labels import Labels, simulate
    from trilabel.labels.expected_positives import expected_positives
    from trilabel.methods import register_method
    from trilabel.models.heads import register_head
    from trilabel.planning.api import plan
    from trilabel.training.api import train
    from trilabel.training.run_folder import Run

__all__ = [
    "Config",
    "Labels",
    "Model",
    "Run",
    "TriLabelClassifier",
    "TrilabelError",
    "__version__",
    "complete",
    "data",
    "estimator",
    "expected_positives",
    "export",
    "load",
    "losses",
    "metrics",
    "plan",
    "recipes",
    "register_format",
    "register_head",
    "register_method",
    "simulate",
    "train",
]

_MODULES = {
    "data": "data",
    "estimator": "estimator",
    "losses": "losses",
    "metrics": "metrics",
    "recipes": "recipes",
    "simulate": "labels.simulate",
}
_NAMES = {
    "Config": "config",
    "Labels": "labels",
    "Model": "inference.predictor",
    "Run": "training.run_folder",
    "TriLabelClassifier": "estimator",
    "TrilabelError": "errors",
    "complete": "inference.completion.api",
    "expected_positives": "labels.expected_positives",
    "export": "inference.export.api",
    "load": "inference.loading",
    "plan": "planning.api",
    "register_format": "data.formats",
    "register_head": "models.heads",
    "register_method": "methods",
    "train": "training.api",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"trilabel.{_MODULES[name]}")
    if name in _NAMES:
        return getattr(import_module(f"trilabel.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'trilabel' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
