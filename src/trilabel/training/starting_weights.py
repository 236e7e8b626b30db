"""Which backbone a run has: the one that its weights are for, unless the user says which."""

from dataclasses import replace
from pathlib import Path

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.models.backbone import BackboneName, is_run
from trilabel.models.recognize import recognize
from trilabel.training.run_folder import RunFolder

_NOT_CHOSEN = ("auto", "tiny")  # tiny, the default, has no file of weights: whoever gives one means another


def with_backbone(config: Config) -> Config:
    """The configuration with the backbone that its weights are for.

    One that was named is kept, or refused if it is clearly another variant of the one that the weights are for.
    """
    weights = config.weights
    if weights is None or weights == "hub":
        if config.backbone == "auto" and weights == "hub":
            raise TrilabelError("weights from the hub: name the backbone, such as --backbone resnet50")
        return replace(config, backbone="tiny") if config.backbone == "auto" else config
    if is_run(weights):
        own = RunFolder(Path(weights)).read().config.backbone if config.backbone in _NOT_CHOSEN else config.backbone
        return replace(config, backbone=own)
    if config.backbone in _NOT_CHOSEN:
        found = recognize(weights)
        log.info(f"backbone: {found.backbone}, {found.how} ({weights})")
        return replace(config, backbone=found.backbone)
    _check_variant(config.backbone, weights)
    return config


def as_started(config: Config, folder: RunFolder) -> Config:
    """The configuration of a run that resumes: its backbone, or its classes, were chosen when it started."""
    if not folder.is_described():
        return config
    started = folder.read().config.backbone
    chosen = config.backbone in _NOT_CHOSEN or (
        config.stages == "auto" and config.backbone == BackboneName.read(started).network
    )
    return replace(config, backbone=started) if chosen else config


def _check_variant(named: str, weights: str) -> None:
    """Refuses a variant that the statistics of the weights clearly speak against; named with -v1 it is only told."""
    try:
        found = recognize(weights)
    except TrilabelError:  # if it does not fit, the backbone says so when it is made
        return
    name = BackboneName.read(named)
    variant, right = name.network.removesuffix("-v1.5"), found.backbone
    if not found.by_statistics or variant not in found.discrepancies or variant == right:
        return
    times = found.discrepancies[variant] / found.discrepancies[right]
    off = f"the batch norms of these weights are {times:.1f} times as far from their statistics in"
    also = named.removeprefix(name.network)  # its classes
    if right == f"{name.network}-v1":
        raise TrilabelError(
            f"{weights}: {off} {variant} as in {right} (strides in the 1×1 convolutions, as in Keras); pass --backbone "
            f"{right}{also}, or --backbone {variant}-v1.5{also} to insist"
        )
    log.warning(f"{weights}: {off} {name.network} as in {right}: try --backbone {right}{also}")
