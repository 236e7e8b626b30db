"""Huynh & Elhamifar 2020, Interactive Multi-Label CNN Learning with Partial Labels."""

from dataclasses import replace
from typing import Any

from trilabel.config import Config
from trilabel.recipes._named import Recipe, Recipes, named

# Everything starts from the logistic model and is refined; the rate's decay by 0.8 whenever validation falls is left
# out, since there are 1 to 4 epochs (section 4.3). End to end on Open Images the released code has a rate of 1e-5.
_BASE = Config(
    backbone="resnet101", image_size=224, batch_size=32, epochs=1, optimizer="rmsprop", lr=1e-3, keep_head=True
)
_FROM_LOGISTIC = "Give --weights RUN, a run of huynh2020-{}-logistic."
# No warm-up, since all start from the logistic model; the rate of A is that of the released code.
_IMCL: dict[str, Any] = {"label_weight": 1.0, "feature_weight": 0.5, "neighbors": 5, "warm_up": 0, "graph_lr": 0.5}
_METHODS: dict[str, tuple[str, dict[str, Any]]] = {
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
        },
    ),
    "imcl": ("IMCL", {"method": "imcl", "settings": _IMCL}),
}
# What the paper shows of each data set, how it is trained, the settings of IMCL.
_SETS: dict[str, tuple[str, Config, dict[str, Any]]] = {
    "openimages": ("table 1", _BASE, {}),
    "cub": (
        "figure 3",
        replace(_BASE, lr=0.01, epochs=3),
        {"label_weight": 2.0, "feature_weight": 0.5, "neighbors": 5, "graph": "identity", "learn_graph": False},
    ),
    # The paper has batches of 1 here, in which no image has a neighbor; its code looks for neighbors in a dictionary
    # of 10,000 images. Ours are batches of 32, as for the other two, and a memory.
    "coco": (
        "figure 4",
        replace(_BASE, backbone="vgg16", lr=0.01, lr_schedule="step", lr_step_epochs=2, epochs=4),
        {"label_weight": 0.5, "feature_weight": 0.5, "neighbors": 3, "memory": 10_000, "graph_lr": 0.01},
    ),
}
# Trained on CUB too, where they "performed worse than other baselines".
_NOT_DRAWN = {("cub", name) for name in ("latent-noise-visual", "latent-noise-relevance", "wsabie")}
_GRID = "Grid: label_weight and feature_weight 0 … 2, neighbors 3 … 7."


def _recipes() -> Recipes:
    for data, (place, base, imcl) in _SETS.items():
        logistic = replace(base, method="known-only", settings={"normalize": "all"}, keep_head=False, epochs=10)
        logistic = replace(logistic, lr_schedule="constant")
        about = f"Huynh 2020, {place}: logistic, the baseline that all others start from. Give ImageNet --weights."
        yield f"huynh2020-{data}-logistic", named(about, logistic)
        for name, (what, parts) in _METHODS.items():
            config = replace(base, **parts)
            if config.head != "gap":  # its head is not the logistic model's
                config = replace(config, keep_head=False)
            if config.relabel != "none":  # labelling and training alternate, from the logistic model on
                config = replace(config, relabel_settings={"epochs": [*range(1, config.epochs + 1)]})
            config = replace(config, settings={**config.settings, **(imcl if name == "imcl" else {})})
            rest = _FROM_LOGISTIC.format(data) + (f" {_GRID}" if name == "imcl" else " A baseline.")
            shown = "section 4.6, not drawn in figure 3" if (data, name) in _NOT_DRAWN else place
            yield f"huynh2020-{data}-{name}", named(f"Huynh 2020, {shown} (end to end): {what}. {rest}", config)
            if data == "openimages":
                linear = replace(config, stages="linear")
                about = f"Huynh 2020, {place} (fixed features): {what}. {rest}"
                yield f"huynh2020-{data}-{name}-linear", named(about, linear)
    side = replace(_SETS["cub"][1], method="imcl", settings={**_IMCL, **_SETS["cub"][2], "side_weight": 10.0})
    about = f"Huynh 2020, figure 3: IMCL with the species as side information (--set side=FILE, image,group). {_GRID}"
    yield "huynh2020-cub-imcl-side", named(f"{about} {_FROM_LOGISTIC.format('cub')}", side)


RECIPES: dict[str, Recipe] = dict(_recipes())
