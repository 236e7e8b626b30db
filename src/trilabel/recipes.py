"""Recipes: functions that return a full training configuration, under the names that users give.

A recipe of a paper has that paper's settings; where the paper searched over a grid, the value that is right for the
ImageNet weights at hand must be found on validation (the docstring names the grid).
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from trilabel.config import Config
from trilabel.errors import TrilabelError


def small() -> Config:
    """A tiny network on 64-pixel images: minutes on a CPU, no weights needed."""
    return Config(
        epochs=12,
        batch_size=32,
        lr=4e-3,
        optimiser="adamw",
        weight_decay=1e-3,
        lr_schedule="one-cycle",
        channels_last=True,
    )


def fine_tune() -> Config:
    """Photographs: a pretrained ResNet-50 at 448 pixels. Give it weights: --weights FILE, or hub to download."""
    return Config(
        backbone="resnet50",
        image_size=448,
        batch_size=16,
        epochs=10,
        optimiser="adam",
        lr=2e-5,
        head_lr_scale=10,
        lr_schedule="cosine",
        ema=0.999,
        precision="bf16",
        channels_last=True,
    )


def _named(about: str, config: Config) -> Callable[[], Config]:
    """A recipe that is one of a family."""

    def recipe() -> Config:
        return config

    recipe.__doc__ = about
    return recipe


# ---- Cole 2021

# ResNet-50 at 448 pixels, Adam, constant rate, mirroring only, 20 % of the training images to choose by (section 6.1).
_COLE = Config(
    backbone="resnet50",
    image_size=448,
    val="0.2",
    batch_size=16,
    epochs=10,
    optimiser="adam",
    lr=1e-5,
    linear_lr=1e-3,
)
_COLE_GRID = "Give ImageNet --weights. Grid: lr 1e-2 … 1e-5, batch 8 or 16."
# Its losses: where they stand in the paper, what they are, the method, its settings.
_COLE_LOSSES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bce": ("table 1", "BCE, all labels known", "known-only", {"normalise": "all"}),
    "bce-ls": ("table 1", "BCE-LS, all labels known", "known-only", {"normalise": "all", "smoothing": 0.1}),
    "iun": ("table 1", "IUN, one present and all absents known (--hide single-positive=1,C for C classes)",
            "known-only", {"normalise": "all"}),
    "iu": ("table 1", "IU, one present and one absent known (--hide single-positive=1,1)",
           "known-only", {"normalise": "all"}),
    "an": ("table 1", "AN, unknown counts as absent", "assume-negative", {}),
    "an-ls": ("table 1", "AN-LS, smoothing 0.1 as released", "assume-negative", {"smoothing": 0.1}),
    "an-ls-asymmetric": ("table A1", "AN-LS of assumed absents alone", "assume-negative", {"smoothing_negatives": 0.1}),
    "wan": ("table 1", "WAN, absents weigh 1 ÷ (classes − 1)", "assume-negative", {"weight": None}),
    "pr": ("table A1", "PR, pairwise ranking", "ranking", {}),
    "epr": ("table 1", "EPR, expected positives", "expected-positive", {}),
    "role": ("table 1", "ROLE, estimates learn 10 times as fast", "role", {}),
}  # fmt: skip


def _cole2021() -> Iterator[tuple[str, Callable[[], Config]]]:
    for loss, (table, what, method, settings) in _COLE_LOSSES.items():
        config = replace(_COLE, method=method, settings=settings)
        yield f"cole2021-{loss}", _named(f"Cole 2021, {table} (fine-tuned): {what}. {_COLE_GRID}", config)
        linear = replace(config, plan="linear", epochs=25)
        about = f"Cole 2021, {table} (linear): {what}; 25 epochs on fixed features. {_COLE_GRID}"
        yield f"cole2021-{loss}-linear", _named(about, linear)
        if loss in ("an-ls", "role"):
            init = replace(config, plan="linear-then-fine-tune", linear_epochs=25, epochs=5)
            about = f"Cole 2021, table 1: {what}; + LinearInit, 25 linear epochs, then 5 of fine-tuning. {_COLE_GRID}"
            yield f"cole2021-{loss}-linear-init", _named(about, init)


# ---- Kim 2022

_KIM_GRID = "Give ImageNet --weights. Grid: {}lr 1e-2 … 1e-5."
_KIM_METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an": ("naive AN, the baseline", "assume-negative", {}),
    "ll-r": ("LL-R, large losses are left out", "large-loss", {"mode": "reject"}),
    "ll-ct": ("LL-Ct, large losses count as present in that step", "large-loss", {"mode": "correct"}),
    "ll-cp": ("LL-Cp, large losses count as present for good", "large-loss", {"mode": "correct-for-good"}),
}


def _kim2022() -> Iterator[tuple[str, Callable[[], Config]]]:
    # As Cole 2021, and the head learns 10 times as fast (appendix A).
    base = replace(_COLE, head_lr_scale=10)
    # ResNet-101 at 224 pixels, 288 images a step on 4 GPUs (section 4.2).
    large = replace(
        base, backbone="resnet101", image_size=224, val="auto", batch_size=72, devices=4, epochs=20, lr=2e-5
    )
    for name, (what, method, settings) in _KIM_METHODS.items():
        config = replace(base, method=method, settings=settings)
        grid = _KIM_GRID.format("delta 0.1 … 0.5, " if settings else "")
        yield f"kim2022-{name}", _named(f"Kim 2022, table 2 (end to end): {what}. {grid}", config)
        init = replace(config, plan="linear-then-fine-tune", linear_epochs=25)
        about = f"Kim 2022, table 2 (LinearInit): {what}; 25 linear epochs, then 10 of fine-tuning. {grid}"
        yield f"kim2022-{name}-linear-init", _named(about, init)
        changes = {"delta": 0.01} if settings else {}
        open_images = replace(large, method=method, settings=settings | changes)
        grid = "Grid: delta 0.005, 0.01." if settings else ""
        about = f"Kim 2022, table 3 (Open Images V3): {what}. Give ImageNet --weights. {grid}".rstrip()
        yield f"kim2022-openimages-{name}", _named(about, open_images)
        if settings:
            absolute = replace(config, settings=settings | {"start": 1.5, "delta": 0.1})
            about = f"Kim 2022, appendix B: {what}, by an absolute threshold. Grid: start 1 … 2, delta 0.1 … 0.2."
            yield f"kim2022-{name}-absolute", _named(about, absolute)


RECIPES: dict[str, Callable[[], Config]] = {
    "small": small,
    "fine-tune": fine_tune,
    **dict(_cole2021()),
    **dict(_kim2022()),
}


def resolve(recipe: str | Config) -> Config:
    """A configuration from a recipe's name; a configuration stays what it is."""
    if isinstance(recipe, Config):
        return recipe
    if recipe not in RECIPES:
        close = get_close_matches(recipe, RECIPES, 4, 0.3) or ["small", "fine-tune"]
        raise TrilabelError(f"no recipe named {recipe!r}; try {', '.join(close)}; `trilabel recipes` lists all")
    return RECIPES[recipe]()
