"""Cole et al. 2021, Multi-Label Learning from Single Positive Labels."""

from dataclasses import replace
from typing import Any

from trilabel.config import Config
from trilabel.recipes._named import Recipe, Recipes, named

# ResNet-50 at 448 pixels, Adam, constant rate, mirroring only, 20 % of the training images to choose by (section 6.1).
BASE = Config(
    backbone="resnet50",
    image_size=448,
    val="0.2",
    batch_size=16,
    epochs=10,
    optimizer="adam",
    lr=1e-5,
    linear_lr=1e-3,
)
_GRID = "Give ImageNet --weights. Grid: lr 1e-2 … 1e-5, batch 8 or 16."
# Its losses: the table of the paper, a description, the method, its settings.
_LOSSES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bce": ("table 1", "BCE, all labels known", "known-only", {"normalize": "all"}),
    "bce-ls": ("table 1", "BCE-LS, all labels known", "known-only", {"normalize": "all", "smoothing": 0.1}),
    "iun": ("table 1", "IUN, one positive and all negatives known (--hide single-positive=1,C for C classes)",
            "known-only", {"normalize": "all"}),
    "iu": ("table 1", "IU, one positive and one negative known (--hide single-positive=1,1)",
           "known-only", {"normalize": "all"}),
    "an": ("table 1", "AN, unknown counts as absent", "assume-negative", {}),
    "an-ls": ("table 1", "AN-LS, smoothing 0.1 as released", "assume-negative", {"smoothing": 0.1}),
    "an-ls-asymmetric": ("table A1", "AN-LS of negatives alone", "assume-negative", {"smoothing_negatives": 0.1}),
    "wan": ("table 1", "WAN, negatives weigh 1 ÷ (classes − 1)", "assume-negative", {"weight": None}),
    "pr": ("table A1", "PR, pairwise ranking", "ranking", {}),
    "epr": ("table 1", "EPR, expected positives", "expected-positive", {}),
    "role": ("table 1", "ROLE, estimates learn 10 times as fast", "role", {"lr_scale": 10.0}),
}  # fmt: skip


def _recipes() -> Recipes:
    for loss, (table, what, method, settings) in _LOSSES.items():
        config = replace(BASE, method=method, settings=settings)
        still = ", which hardly moves them here; --set lr_scale=none does" if loss == "role" else ""
        yield f"cole2021-{loss}", named(f"Cole 2021, {table} (fine-tuned): {what}{still}. {_GRID}", config)
        linear = replace(config, stages="linear", epochs=25)
        about = f"Cole 2021, {table} (linear): {what}; 25 epochs on fixed features. {_GRID}"
        yield f"cole2021-{loss}-linear", named(about, linear)
        if loss in ("an-ls", "role"):
            init = replace(config, stages="linear-then-fine-tune", linear_epochs=25, epochs=5)
            about = f"Cole 2021, table 1: {what}; + LinearInit, 25 linear epochs, then 5 of fine-tuning. {_GRID}"
            yield f"cole2021-{loss}-linear-init", named(about, init)


RECIPES: dict[str, Recipe] = dict(_recipes())
