"""The values that the papers searched on validation, by recipe."""

from collections.abc import Mapping
from typing import Any

from trilabel.recipes import RECIPES, resolve

SearchGrid = Mapping[str, tuple[Any, ...]]  # values to try for a field of Config, or for "settings.NAME" or similar

_RATES: SearchGrid = {"lr": (1e-2, 1e-3, 1e-4, 1e-5)}
_COLE: SearchGrid = {**_RATES, "batch_size": (8, 16)}
_DELTA: SearchGrid = {"settings.delta": (0.1, 0.2, 0.3, 0.4, 0.5)}
_ABSOLUTE: SearchGrid = {"settings.start": (1.0, 1.5, 2.0), "settings.delta": (0.1, 0.15, 0.2)}
# g(0.1) from 3 to 50 works equally well (section 4.3), γ from −1 to 3 (figure 6): some values from these ranges.
_DURAND: SearchGrid = {"settings.value": (3.0, 5.0, 20.0, 50.0), "settings.gamma": (-1.0, 1.0, 3.0)}
_HUYNH: SearchGrid = {
    "settings.label_weight": (0.0, 0.5, 1.0, 2.0),
    "settings.feature_weight": (0.0, 0.5, 1.0, 2.0),
    "settings.neighbors": (3, 5, 7),
}
_SALIENCY: SearchGrid = {"head_settings.alpha": (0.1, 0.2, 0.3, 0.4, 0.5), "head_settings.k": (1, 2, 3, 4, 5)}
_THRESHOLD: SearchGrid = {"settings.threshold": (0.5, 0.6, 0.7, 0.8, 0.9)}


def published_grid(recipe: str) -> SearchGrid:
    """The values that the recipe's paper searched; empty if it searched none, or if there is no such recipe.

    >>> published_grid("wang2023-cr")
    {'settings.threshold': (0.5, 0.6, 0.7, 0.8, 0.9)}
    """
    if recipe not in RECIPES:
        return {}
    config, paper = resolve(recipe), recipe.partition("-")[0]
    match paper:
        case "cole2021":
            return _COLE
        case "kim2022" if "openimages" in recipe and "start" in config.settings:
            return _ABSOLUTE
        case "kim2022" if "openimages" in recipe:
            return {"settings.delta": (0.005, 0.01)} if config.method == "large-loss" else {}
        case "kim2022" if config.method == "large-loss":
            return {**(_ABSOLUTE if "start" in config.settings else _DELTA), **_RATES}
        case "kim2022":
            return _RATES
        case "durand2019" if config.settings.get("normalize") == "share":
            return _DURAND
        case "huynh2020" if config.method == "imcl":
            return _HUYNH
        case "wang2023":
            saliency = _SALIENCY if config.head == "saliency" else {}
            return {**saliency, **(_THRESHOLD if config.method == "self-training" else {})}
    return {}
