"""Kim et al. 2022, Large Loss Matters in Weakly Supervised Multi-Label Classification."""

from dataclasses import replace
from typing import Any

from trilabel.recipes._named import Recipe, Recipes, named
from trilabel.recipes.cole2021 import BASE as COLE

_GRID = "Give ImageNet --weights. Grid: {}lr 1e-2 … 1e-5."
_END_TO_END, _LINEAR_INIT, _OPEN_IMAGES = "end to end", "LinearInit", "Open Images"
_ALL = (_END_TO_END, _LINEAR_INIT, _OPEN_IMAGES)
# Its methods: a description, the method, its settings, where the paper trained it. What it took over from Cole 2021 and
# Huynh 2020 are recipes of these.
_METHODS: dict[str, tuple[str, str, dict[str, Any], tuple[str, ...]]] = {
    "an": ("naive AN, the baseline", "assume-negative", {}, _ALL),
    "wan": ("WAN, a baseline", "assume-negative", {"weight": None}, (_LINEAR_INIT, _OPEN_IMAGES)),
    "an-ls": ("LSAN, a baseline", "assume-negative", {"smoothing": 0.1}, (_OPEN_IMAGES,)),
    "epr": ("EPR, a baseline", "expected-positive", {}, (_LINEAR_INIT,)),
    "ll-r": ("LL-R, large losses are left out", "large-loss", {"mode": "reject"}, _ALL),
    "ll-ct": ("LL-Ct, large losses count as present in that step", "large-loss", {"mode": "correct"}, _ALL),
    "ll-cp": ("LL-Cp, large losses count as present for good", "large-loss", {"mode": "correct-for-good"}, _ALL),
}
# Which of its grid the paper took is not said. At 0 every unknown label is large, so of 20 epochs: the highest start.
_ABSOLUTE = {"start": 1.5, "delta": 0.1}
_ABSOLUTE_LONG = {"start": 2.0, "delta": 0.1}


def _recipes() -> Recipes:
    # As Cole 2021, and the head learns 10 times as fast (appendix A).
    base = replace(COLE, head_lr_scale=10)
    # ResNet-101 at 224 pixels, 288 images a step on 4 GPUs (section 4.2).
    large = replace(
        base, backbone="resnet101", image_size=224, val="auto", batch_size=72, devices=4, epochs=20, lr=2e-5
    )
    for name, (what, method, settings, places) in _METHODS.items():
        config = replace(base, method=method, settings=settings)
        ours = method == "large-loss"
        grid = _GRID.format("delta 0.1 … 0.5, " if ours else "")
        if _END_TO_END in places:
            yield f"kim2022-{name}", named(f"Kim 2022, table 2 (end to end): {what}. {grid}", config)
        if _LINEAR_INIT in places:
            init = replace(config, stages="linear-then-fine-tune", linear_epochs=25)
            about = f"Kim 2022, table 2 (LinearInit): {what}; 25 linear epochs, then 10 of fine-tuning. {grid}"
            yield f"kim2022-{name}-linear-init", named(about, init)
        if _OPEN_IMAGES in places:
            changes = {"delta": 0.01} if ours else {}
            open_images = replace(large, method=method, settings=settings | changes)
            grid = "Grid: delta 0.005, 0.01." if ours else ""
            about = f"Kim 2022, table 3 (Open Images V3): {what}. Give ImageNet --weights. {grid}".rstrip()
            yield f"kim2022-openimages-{name}", named(about, open_images)
        if ours:
            chosen = "Of the grid our choice, since the paper does not say."
            grid = _GRID.format("start 1, 1.5, 2, delta 0.1, 0.15, 0.2, ")
            about = f"{what}, by an absolute threshold. {chosen} {grid}"
            absolute = replace(config, settings=settings | _ABSOLUTE)
            yield f"kim2022-{name}-absolute", named(f"Kim 2022, appendix table 1: {about}", absolute)
            absolute = replace(large, method=method, settings=settings | _ABSOLUTE_LONG)
            about = about.replace(", lr 1e-2 … 1e-5", "")
            yield f"kim2022-openimages-{name}-absolute", named(f"Kim 2022, appendix table 2: {about}", absolute)


RECIPES: dict[str, Recipe] = dict(_recipes())
