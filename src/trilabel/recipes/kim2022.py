"""Kim et al. 2022, Large Loss Matters in Weakly Supervised Multi-Label Classification."""

from dataclasses import replace
from typing import Any

from trilabel.recipes._named import Recipe, Recipes, named
from trilabel.recipes.cole2021 import BASE as COLE

_GRID = "Give ImageNet --weights. Grid: {}lr 1e-2 … 1e-5."
_METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "an": ("naive AN, the baseline", "assume-negative", {}),
    "ll-r": ("LL-R, large losses are left out", "large-loss", {"mode": "reject"}),
    "ll-ct": ("LL-Ct, large losses count as present in that step", "large-loss", {"mode": "correct"}),
    "ll-cp": ("LL-Cp, large losses count as present for good", "large-loss", {"mode": "correct-for-good"}),
}


def _recipes() -> Recipes:
    # As Cole 2021, and the head learns 10 times as fast (appendix A).
    base = replace(COLE, head_lr_scale=10)
    # ResNet-101 at 224 pixels, 288 images a step on 4 GPUs (section 4.2).
    large = replace(
        base, backbone="resnet101", image_size=224, val="auto", batch_size=72, devices=4, epochs=20, lr=2e-5
    )
    for name, (what, method, settings) in _METHODS.items():
        config = replace(base, method=method, settings=settings)
        grid = _GRID.format("delta 0.1 … 0.5, " if settings else "")
        yield f"kim2022-{name}", named(f"Kim 2022, table 2 (end to end): {what}. {grid}", config)
        init = replace(config, stages="linear-then-fine-tune", linear_epochs=25)
        about = f"Kim 2022, table 2 (LinearInit): {what}; 25 linear epochs, then 10 of fine-tuning. {grid}"
        yield f"kim2022-{name}-linear-init", named(about, init)
        changes = {"delta": 0.01} if settings else {}
        open_images = replace(large, method=method, settings=settings | changes)
        grid = "Grid: delta 0.005, 0.01." if settings else ""
        about = f"Kim 2022, table 3 (Open Images V3): {what}. Give ImageNet --weights. {grid}".rstrip()
        yield f"kim2022-openimages-{name}", named(about, open_images)
        if settings:
            absolute = replace(config, settings=settings | {"start": 1.5, "delta": 0.1})
            about = f"Kim 2022, appendix B: {what}, by an absolute threshold. Grid: start 1 … 2, delta 0.1 … 0.2."
            yield f"kim2022-{name}-absolute", named(about, absolute)


RECIPES: dict[str, Recipe] = dict(_recipes())
