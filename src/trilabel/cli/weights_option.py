"""What `--weights` of `train` and `compare` means: a path, a name, "hub", "none", or nothing and a default."""

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from trilabel.cli.arguments import absolute_path
from trilabel.cli.user_folder import default_weights, fetched
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.log import log


def with_weights(config: Config, written: Collection[str], real_images: bool) -> Config:
    """The configuration with the weights that are meant; the backbone is then theirs, unless it was given.

    written: the options on the command line.
    """
    weights = config.weights
    if weights == "none":
        return replace(config, weights=None)
    if weights is None:
        return _with_default(config, written) if real_images and "weights" not in written else config
    if weights == "hub":
        return config
    found = absolute_path(weights)
    if not Path(weights).exists() and _is_name(weights):
        found = str(fetched(weights))
        if not Path(found).is_file():
            raise TrilabelError(
                f"{weights}: no such file, and no weights were fetched under this name; `trilabel weights` lists what "
                f"can be had, `trilabel weights {weights} --fetch` fetches"
            )
    return replace(config, weights=found, backbone=config.backbone if "backbone" in written else "auto")


def _with_default(config: Config, written: Collection[str]) -> Config:
    default = default_weights()
    if default is None or ("recipe" in written and config.backbone == "tiny"):  # `small` asks for no weights
        return config
    if "backbone" in written and config.backbone != default.backbone:
        log.info(f"the default weights are for {default.backbone}, not for {config.backbone}, and are not used")
        return config
    if not Path(default.weights).exists():
        raise TrilabelError(
            f"{default.weights}: the default weights are gone; pass --weights none, or forget them with "
            "`trilabel weights --forget`"
        )
    log.info(f"weights: {default.weights}, the default ({default.backbone}); --weights none starts without")
    return replace(config, weights=default.weights, backbone=default.backbone)


def _is_name(text: str) -> bool:
    return not any(separator in text for separator in (os.sep, "/")) and not text.endswith(".safetensors")
