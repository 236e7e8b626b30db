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
        optimizer="adamw",
        weight_decay=1e-3,
        lr_schedule="one-cycle",
        channels_last=True,
        erase=0.0,  # things of a few pixels would be erased whole
    )


def fine_tune() -> Config:
    """Photographs: a pretrained ResNet-50 at 448 pixels. Give it weights: --weights FILE, or hub to download."""
    return Config(
        backbone="resnet50",
        image_size=448,
        batch_size=16,
        epochs=10,
        optimizer="adam",
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
    optimizer="adam",
    lr=1e-5,
    linear_lr=1e-3,
)
_COLE_GRID = "Give ImageNet --weights. Grid: lr 1e-2 … 1e-5, batch 8 or 16."
# Its losses: where they stand in the paper, what they are, the method, its settings.
_COLE_LOSSES: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bce": ("table 1", "BCE, all labels known", "known-only", {"normalize": "all"}),
    "bce-ls": ("table 1", "BCE-LS, all labels known", "known-only", {"normalize": "all", "smoothing": 0.1}),
    "iun": ("table 1", "IUN, one present and all negatives known (--hide single-positive=1,C for C classes)",
            "known-only", {"normalize": "all"}),
    "iu": ("table 1", "IU, one present and one absent known (--hide single-positive=1,1)",
           "known-only", {"normalize": "all"}),
    "an": ("table 1", "AN, unknown counts as absent", "assume-negative", {}),
    "an-ls": ("table 1", "AN-LS, smoothing 0.1 as released", "assume-negative", {"smoothing": 0.1}),
    "an-ls-asymmetric": ("table A1", "AN-LS of negatives alone", "assume-negative", {"smoothing_negatives": 0.1}),
    "wan": ("table 1", "WAN, negatives weigh 1 ÷ (classes − 1)", "assume-negative", {"weight": None}),
    "pr": ("table A1", "PR, pairwise ranking", "ranking", {}),
    "epr": ("table 1", "EPR, expected positives", "expected-positive", {}),
    "role": ("table 1", "ROLE, estimates learn 10 times as fast", "role", {}),
}  # fmt: skip


def _cole2021() -> Iterator[tuple[str, Callable[[], Config]]]:
    for loss, (table, what, method, settings) in _COLE_LOSSES.items():
        config = replace(_COLE, method=method, settings=settings)
        yield f"cole2021-{loss}", _named(f"Cole 2021, {table} (fine-tuned): {what}. {_COLE_GRID}", config)
        linear = replace(config, stages="linear", epochs=25)
        about = f"Cole 2021, {table} (linear): {what}; 25 epochs on fixed features. {_COLE_GRID}"
        yield f"cole2021-{loss}-linear", _named(about, linear)
        if loss in ("an-ls", "role"):
            init = replace(config, stages="linear-then-fine-tune", linear_epochs=25, epochs=5)
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
        init = replace(config, stages="linear-then-fine-tune", linear_epochs=25)
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


# ---- Durand 2019

# ResNet-101 with WELDON at 448 pixels, SGD at 0.01, a tenth of it after 10 of 20 epochs, mirroring (section 4, A.2).
_DURAND = Config(
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
_DURAND_GRID = "Give ImageNet --weights. Grid: value (the weight at 10 % known) 3 … 50, gamma −1 … 3."
_PLAIN = "Give ImageNet --weights. A baseline."
_UNCERTAIN = {"relabel": "uncertainty", "relabel_settings": {"threshold": 0.3}}  # before epochs 10 and 15 of 20
_DURAND_PARTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "": ("table 4", "everything: partial-BCE, GNN, relabelling by uncertainty", {"graph": "gnn", **_UNCERTAIN}),
    "-bce": ("table 4", "plain BCE of the known labels", {"settings": {"normalize": "all"}}),
    "-bce-linear": ("table 4", "plain BCE, not fine-tuned", {"settings": {"normalize": "all"}, "stages": "linear"}),
    "-partial-bce": ("table 4", "partial-BCE alone", {}),
    "-gnn": ("table 4", "partial-BCE and GNN", {"graph": "gnn"}),
    "-relabel": ("table 4", "partial-BCE and relabelling by uncertainty", _UNCERTAIN),
    "-score": ("table 2 [a]", "relabelling by score", {"relabel": "score"}),
    "-proportion": ("table 2 [b]", "relabelling of the surest 80 %", {"relabel": "proportion"}),
    "-positive": ("table 2 [c]", "relabelling of positives only", {"relabel": "positive"}),
    "-ensemble": ("table 2 [d]", "relabelling by an ensemble; name runs: --set relabel.runs=RUN,RUN",
                  {"relabel": "ensemble"}),
    "-two-steps": ("table 2 (2 steps)", "everything relabelled at once", {"relabel": "all"}),
}  # fmt: skip


def _durand2019() -> Iterator[tuple[str, Callable[[], Config]]]:
    for name, (table, what, parts) in _DURAND_PARTS.items():
        config = replace(_DURAND, **parts)
        if table.startswith("table 2"):
            once = {"epochs": [10]} if parts["relabel"] == "all" else {}
            config = replace(config, graph="gnn", relabel_settings=once)
        grid = _PLAIN if config.settings["normalize"] == "all" else _DURAND_GRID
        yield f"durand2019{name}", _named(f"Durand 2019, {table}: {what}. {grid}", config)
    # 1.7 million images: fewer than 5 epochs, stopped when validation does not improve (A.2).
    large = replace(_DURAND, graph="gnn", epochs=5, patience=1)
    about = f"Durand 2019, table 3 (Open Images, 600 classes): partial-BCE and GNN. {_DURAND_GRID}"
    yield "durand2019-openimages", _named(about, large)


# ---- Huynh & Elhamifar 2020

# Everything starts from the logistic model and is refined; the rate's decay by 0.8 whenever validation falls is left
# out, since there are 1 to 4 epochs (section 4.3). End to end on Open Images the released code has a rate of 1e-5.
_HUYNH = Config(
    backbone="resnet101", image_size=224, batch_size=32, epochs=1, optimizer="rmsprop", lr=1e-3, keep_head=True
)
_FROM_LOGISTIC = "Give --weights RUN, a run of huynh2020-{}-logistic."
_HUYNH_METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "latent-noise-visual": ("latent noise, scored by what is seen", {"method": "latent-noise", "head": "latent-noise"}),
    "latent-noise-relevance": (
        "latent noise, scored by what would be reported",
        {"method": "latent-noise", "head": "latent-noise", "head_settings": {"score": "relevance"}},
    ),
    "cnn-rnn": ("CNN-RNN", {"method": "label-rnn", "head": "label-rnn"}),
    "lsep": ("LSEP", {"method": "ranking", "settings": {"loss": "lsep", "unknown": "ignore"}}),
    "fast0tag": (
        "Fast0Tag; word vectors by --set head.vectors=FILE",
        {
            "method": "ranking",
            "settings": {"loss": "ranknet", "unknown": "ignore"},
            "head": "embedding",
            "head_settings": {"layers": 2},
        },
    ),
    "wsabie": (
        "WSABIE; word vectors by --set head.vectors=FILE",
        {"method": "ranking", "settings": {"loss": "warp", "unknown": "ignore"}, "head": "embedding"},
    ),
    "curriculum": (
        "curriculum labelling by score",
        {
            "method": "known-only",
            "settings": {"normalize": "all"},
            "relabel": "score",
            "relabel_settings": {"epochs": [1]},
        },
    ),
    "imcl": ("IMCL", {"method": "imcl", "settings": {"label_weight": 1.0, "feature_weight": 0.5, "neighbors": 5}}),
}


def _huynh2020() -> Iterator[tuple[str, Callable[[], Config]]]:
    sets: dict[str, tuple[str, Config, dict[str, Any]]] = {
        "openimages": ("table 1", _HUYNH, {}),
        "cub": (
            "figure 3",
            replace(_HUYNH, lr=0.01, epochs=3),
            {"label_weight": 2.0, "feature_weight": 0.5, "neighbors": 5, "graph": "identity"},
        ),
        # The paper says batches of 1 here, in which no image has a neighbour, and the released code looks for them in a
        # dictionary of 10,000 images: batches of 32 as for the other two, and a memory.
        "coco": (
            "figure 4",
            replace(_HUYNH, backbone="vgg16", lr=0.01, lr_schedule="step", lr_step_epochs=2, epochs=4),
            {"label_weight": 0.5, "feature_weight": 0.5, "neighbors": 3, "memory": 10_000},
        ),
    }
    grid = "Grid: label_weight and feature_weight 0 … 2, neighbors 3 … 7."
    for data, (place, base, imcl) in sets.items():
        logistic = replace(base, method="known-only", settings={"normalize": "all"}, keep_head=False, epochs=10)
        logistic = replace(logistic, lr_schedule="constant")
        about = f"Huynh 2020, {place}: logistic, the baseline that all others start from. Give ImageNet --weights."
        yield f"huynh2020-{data}-logistic", _named(about, logistic)
        for name, (what, parts) in _HUYNH_METHODS.items():
            if data != "openimages" and name != "imcl":
                continue
            config = replace(base, **parts)
            if config.head != "gap":  # its head is not the logistic model's
                config = replace(config, keep_head=False)
            config = replace(config, settings={**config.settings, **(imcl if name == "imcl" else {})})
            rest = _FROM_LOGISTIC.format(data) + (f" {grid}" if name == "imcl" else " A baseline.")
            yield f"huynh2020-{data}-{name}", _named(f"Huynh 2020, {place} (end to end): {what}. {rest}", config)
            if data == "openimages":
                linear = replace(config, stages="linear")
                about = f"Huynh 2020, {place} (fixed features): {what}. {rest}"
                yield f"huynh2020-{data}-{name}-linear", _named(about, linear)
    side = replace(sets["cub"][1], method="imcl", settings={**sets["cub"][2], "side_weight": 10.0})
    about = f"Huynh 2020, figure 3: IMCL with the species as side information (--set side=FILE, image,group). {grid}"
    yield "huynh2020-cub-imcl-side", _named(f"{about} {_FROM_LOGISTIC.format('cub')}", side)


# ---- Wang 2023

# ResNet-101, SGD with momentum 0.9 and weight decay 0.0001, 32 images a step (section 4.1). Rate, epochs and crops are
# in its supplement, which is not at hand: 0.01 with a cosine over 20 epochs and crops of at least half are ours.
_WANG = Config(
    method="known-only",
    settings={"normalize": "batch"},
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
_BATCH = {"normalize": "batch"}
_WANG_GRIDS = {"saliency": "head.alpha 0.1 … 0.5, head.k 1 … 5", "self-training": "threshold 0.5 … 0.9"}
_WANG_PARTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "": ("table 2", "saliency and consistency, the full method", {"method": "self-training", "head": "saliency",
                                                                "settings": {"threshold": 0.6}}),
    "-s-bce": ("table 2", "S-BCE, ÷ images × classes", {"settings": {"normalize": "all"}}),
    "-bn-bce": ("table 2", "BN-BCE, the mean of a batch's known labels", {}),
    "-pl": ("table 2", "BN-BCE and pseudo-labels on the same view",
            {"method": "self-training", "settings": {**_BATCH, "pseudo": "same-view"}}),
    "-cr": ("table 2", "BN-BCE and consistency, no saliency", {"method": "self-training", "settings": _BATCH}),
    "-sr": ("table 2", "BN-BCE and saliency", {"head": "saliency"}),
    "-sr-cr-plain": ("table 2", "BN-BCE, saliency, and consistency without saliency",
                     {"method": "self-training", "head": "saliency",
                      "settings": {**_BATCH, "labeled_by": "gap", "learned_by": "gap"}}),
    "-cr-saliency-labels": ("table 2", "BN-BCE and consistency, saliency in the pseudo-labels only",
                            {"method": "self-training", "settings": {**_BATCH, "labeled_by": "saliency"}}),
    "-gcn-ml": ("table 1", "GCN-ML, a baseline; word vectors by --set head.vectors=FILE", {"head": "gcn"}),
    "-splc": ("table 1", "SPLC, a baseline", {"method": "splc", "settings": {}}),
    "-csl": ("table 1", "CSL, a baseline", {"method": "selective", "settings": {}}),
    "-focal": ("figure 5", "focal loss, a baseline", {"method": "focal", "settings": {"unknown": "ignore"}}),
}  # fmt: skip


def _wang2023() -> Iterator[tuple[str, Callable[[], Config]]]:
    for name, (place, what, parts) in _WANG_PARTS.items():
        config = replace(_WANG, **parts)
        yield f"wang2023{name}", _named(f"Wang 2023, {place}: {what}. {_wang_grid(config)}", config)
    full = replace(_WANG, **_WANG_PARTS[""][2], image_size=224)
    about = f"Wang 2023, table 4 (Open Images V3): the full method, at 224 pixels. {_wang_grid(full)}"
    yield "wang2023-openimages", _named(about, full)


def _wang_grid(config: Config) -> str:
    grids = [_WANG_GRIDS[part] for part in (config.head, config.method) if part in _WANG_GRIDS]
    return f"Give ImageNet --weights. Grid: {', '.join(grids)}." if grids else _PLAIN


RECIPES: dict[str, Callable[[], Config]] = {
    "small": small,
    "fine-tune": fine_tune,
    **dict(_cole2021()),
    **dict(_kim2022()),
    **dict(_durand2019()),
    **dict(_huynh2020()),
    **dict(_wang2023()),
}


def resolve(recipe: str | Config) -> Config:
    """A configuration from a recipe's name; a configuration stays what it is."""
    if isinstance(recipe, Config):
        return recipe
    if recipe not in RECIPES:
        close = get_close_matches(recipe, RECIPES, 4, 0.3) or ["small", "fine-tune"]
        raise TrilabelError(f"no recipe named {recipe!r}; try {', '.join(close)}; `trilabel recipes` lists all")
    return RECIPES[recipe]()
