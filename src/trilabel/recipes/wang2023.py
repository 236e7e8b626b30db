"""Wang et al. 2023, Saliency Regularization for Self-Training with Partial Annotations."""

from dataclasses import replace
from typing import Any

from trilabel.config import Config
from trilabel.recipes._named import BASELINE, Recipe, Recipes, named

_BATCH = {"normalize": "batch"}
# ResNet-101, SGD with momentum 0.9 and weight decay 0.0001, 32 images a step (section 4.1). Rate, epochs and crops are
# in its supplement, which we do not have: 0.01 with a cosine over 20 epochs and crops of at least half are our choice.
_BASE = Config(
    method="known-only",
    settings=_BATCH,
    backbone="resnet101",
    image_size=448,
    crop=0.5,
    batch_size=32,
    epochs=20,
    optimizer="sgd",
    lr=0.01,
    weight_decay=1e-4,
    lr_schedule="cosine",
    precision="bf16",
    channels_last=True,
)
# What the released code of SST, HST and SARB trains with. It freezes all of the network but its last stage, which is
# not done here, and crops squares of five sizes; crops of at least a quarter come closest.
_RELEASED: dict[str, Any] = {
    "optimizer": "adam",
    "lr": 1e-5,
    "weight_decay": 5e-4,
    "lr_schedule": "step",
    "batch_size": 8,
    "crop": 0.25,
}
_GRIDS = {"saliency": "head.alpha 0.1 … 0.5, head.k 1 … 5", "self-training": "threshold 0.5 … 0.9"}
# The equation of its loss (9) has the mean of each image, the rows of table 2 that of a batch (BN-BCE), which is taken.
_PARTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "": ("table 2", "saliency and consistency, the full method", {"method": "self-training", "head": "saliency",
                                                                "settings": {**_BATCH, "threshold": 0.6}}),
    "-s-bce": ("table 2", "S-BCE, ÷ images × classes", {"settings": {"normalize": "all"}}),
    "-bn-bce": ("table 2", "BN-BCE, the mean of a batch's known labels", {}),
    "-pl": ("table 2", "BN-BCE and pseudo-labels on the same view",
            {"method": "self-training", "settings": {**_BATCH, "pseudo": "same-view"}}),
    "-cr": ("table 2", "BN-BCE and consistency, no saliency", {"method": "self-training", "settings": _BATCH}),
    "-sr": ("table 2", "BN-BCE and saliency", {"head": "saliency"}),
    "-sr-cr-plain": ("table 2", "BN-BCE, saliency, and consistency without saliency",
                     {"method": "self-training", "head": "saliency",
                      "settings": {**_BATCH, "labeled_by": "gap", "learned_by": "gap"}}),
    "-gcn-ml": ("table 1", "GCN-ML; word vectors by --set head.vectors=FILE", {"head": "gcn"}),
    "-ssgrl": ("table 1", "SSGRL; word vectors by --set head.vectors=FILE",
               {**_RELEASED, "head": "semantic", "head_settings": {"channels": None}, "batch_size": 4, "epochs": 200,
                "lr_schedule": "constant", "weight_decay": 0.0, "image_size": 576, "flip": False}),
    "-sst": ("table 1", "SST; word vectors by --set head.vectors=FILE",
             {**_RELEASED, "head": "semantic", "method": "semantic-transfer", "settings": {"mean": "all"}}),
    "-hst": ("table 1", "HST; word vectors by --set head.vectors=FILE",
             {**_RELEASED, "head": "semantic", "method": "heterogeneous-transfer", "batch_size": 32,
              "settings": {"threshold": 1.0, "threshold_lr": 1e-5}}),
    "-sarb": ("table 1", "SARB; word vectors by --set head.vectors=FILE",
              {**_RELEASED, "head": "semantic", "method": "semantic-blending", "settings": {}}),
    "-sarb-star": ("table 1", "SARB* (taken to be DSRB); word vectors by --set head.vectors=FILE",
                   {**_RELEASED, "head": "semantic", "method": "semantic-blending",
                    "settings": {"kind": "quadrants"}}),
    # Durand 2019 without its GNN; which way of relabelling was used is not said, Durand recommends this one.
    "-plcl": ("table 1", "PLCL, partial-BCE and relabelling by uncertainty",
              {"settings": {"normalize": "share"}, "relabel": "uncertainty"}),
    "-splc": ("table 1", "SPLC", {"method": "splc", "settings": {"unknown": "ignore"}}),
    "-csl": ("table 1", "CSL", {"method": "selective", "settings": {}}),
    "-asl": ("section 3.3", "ASL", {"method": "asymmetric", "settings": {"unknown": "ignore"}}),
    "-focal": ("figure 5", "focal loss", {"method": "focal", "settings": {"unknown": "ignore"}}),
}  # fmt: skip


def _recipes() -> Recipes:
    for name, (place, what, parts) in _PARTS.items():
        config = replace(_BASE, **parts)
        yield f"wang2023{name}", named(f"Wang 2023, {place}: {what}. {_grid(config)}", config)
    for name in ("", "-csl"):
        _, what, parts = _PARTS[name]
        config = replace(_BASE, **parts, image_size=224)
        about = f"Wang 2023, table 4 (Open Images V3): {what}, at 224 pixels. {_grid(config)}"
        yield f"wang2023-openimages{name}", named(about, config)


def _grid(config: Config) -> str:
    grids = [_GRIDS[part] for part in (config.head, config.method) if part in _GRIDS]
    return f"Give ImageNet --weights. Grid: {', '.join(grids)}." if grids else BASELINE


RECIPES: dict[str, Recipe] = dict(_recipes())
