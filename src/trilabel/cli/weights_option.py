"""What `--weights` of `train` and `compare` means: a path, a name, "hub", "none", or nothing and a default."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from trilabel.cli.arguments import absolute_path
from trilabel.cli.user_folder import default_weights, fetched, is_name
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
    known = not Path(weights).exists() and is_name(weights) and fetched(weights).is_file()
    found = str(fetched(weights)) if known else absolute_path(weights)
    if "backbone" not in written:
        return replace(config, weights=found, backbone="auto")
    if config.backbone == "tiny" and not (Path(str(found)) / "config.json").is_file():  # the folder of a run
        raise TrilabelError(f"{weights}: --backbone tiny has no pretrained weights; leave --backbone or --weights out")
    return replace(config, weights=found)


def _with_default(config: Config, written: Collection[str]) -> Config:
    default = default_weights()
    if default is None or ("recipe" in written and config.backbone == "tiny"):  # `small` asks for no weights
        return config
    chosen = config.backbone if "backbone" in written else default.backbone
    if chosen.partition("+")[0] != default.backbone:
        log.info(f"the default weights are for {default.backbone}, not for {chosen}, and are not used")
        return config
    if not Path(default.weights).exists():
        raise TrilabelError(
            f"{default.weights}: the default weights are gone; pass --weights none, or forget them with "
            "`trilabel weights --forget`"
        )
    log.info(f"weights: {default.weights}, the default ({default.backbone}); --weights none starts without")
    return replace(config, weights=default.weights, backbone=chosen)
