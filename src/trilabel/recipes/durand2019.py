"""Durand et al. 2019, Learning a Deep ConvNet for Multi-label Classification with Partial Labels."""

from dataclasses import replace
from typing import Any

from trilabel.config import Config
from trilabel.recipes._named import BASELINE, Recipe, Recipes, named

# ResNet-101 with WELDON at 448 pixels, SGD at 0.01, a tenth of it after 10 of 20 epochs, mirroring (section 4, A.2).
_BASE = Config(
    method="known-only",
    settings={"normalize": "share"},
    backbone="resnet101",
    head="weldon",
    image_size=448,
    batch_size=16,
    epochs=20,
    optimizer="sgd",
    lr=0.01,
    lr_schedule="step",
    lr_step_epochs=10,
)
_GRID = "Give ImageNet --weights. Grid: value (the weight at 10 % known) 3 … 50, gamma −1 … 3."
_UNCERTAINTY = {"relabel": "uncertainty", "relabel_settings": {"threshold": 0.3}}  # before epochs 10 and 15 of 20
_PARTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "": ("table 4", "everything: partial-BCE, GNN, relabelling by uncertainty", {"graph": "gnn", **_UNCERTAINTY}),
    "-bce": ("table 4", "plain BCE of the known labels", {"settings": {"normalize": "all"}}),
    "-bce-linear": ("table 4", "plain BCE, not fine-tuned", {"settings": {"normalize": "all"}, "stages": "linear"}),
    "-partial-bce": ("table 4", "partial-BCE alone", {}),
    "-gnn": ("table 4", "partial-BCE and GNN", {"graph": "gnn"}),
    "-relabel": ("table 4", "partial-BCE and relabelling by uncertainty", _UNCERTAINTY),
    "-score": ("table 2 [a]", "relabelling by score", {"relabel": "score"}),
    "-proportion": ("table 2 [b]", "relabelling of the surest 80 %", {"relabel": "proportion"}),
    "-positive": ("table 2 [c]", "relabelling of positives only", {"relabel": "positive"}),
    "-ensemble": ("table 2 [d]", "relabelling by an ensemble; name runs: --set relabel.runs=RUN,RUN",
                  {"relabel": "ensemble"}),
    "-two-steps": ("table 2 (2 steps)", "everything relabelled at once", {"relabel": "all"}),
}  # fmt: skip
_OPEN_IMAGES = {"": "-gnn", "-bce": "-bce", "-partial-bce": "-partial-bce"}  # its rows, and the parts of each


def _recipes() -> Recipes:
    for name, (table, what, parts) in _PARTS.items():
        config = replace(_BASE, **parts)
        if table.startswith("table 2"):
            once = {"epochs": [10]} if parts["relabel"] == "all" else {}
            config = replace(config, graph="gnn", relabel_settings=once)
        yield f"durand2019{name}", named(f"Durand 2019, {table}: {what}. {_grid(config)}", config)
    for name, of in _OPEN_IMAGES.items():
        _, what, parts = _PARTS[of]
        # 1.7 million images: fewer than 5 epochs, stopped when validation does not improve (A.2).
        large = replace(_BASE, **parts, epochs=5, patience=1)
        about = f"Durand 2019, table 3 (Open Images, 600 classes): {what}. {_grid(large)}"
        yield f"durand2019-openimages{name}", named(about, large)


def _grid(config: Config) -> str:
    return BASELINE if config.settings["normalize"] == "all" else _GRID


RECIPES: dict[str, Recipe] = dict(_recipes())
