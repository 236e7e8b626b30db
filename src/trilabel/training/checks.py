"""Checks, before anything slow starts, that method, head, graph and relabelling exist and are compatible."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import torch

from trilabel.config import Config
from trilabel.data.memory import free_memory
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS, check_method
from trilabel.models import GRAPHS, HEADS, check_graph, check_head
from trilabel.models.backbone import is_run
from trilabel.plugin_files import beside
from trilabel.printable import plural
from trilabel.training.epoch_log import check_log
from trilabel.training.relabelling import Relabelling
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import FOLDS
from trilabel.training.stages import plan_stages
from trilabel.training.strategies import check_relabel

_SLOW_HEAD = 5e-4  # below this rate, 25 epochs on fixed features leave a head far from where it would end


def check_components(config: Config, labels: Labels, resumes: bool = False, validation: Labels | None = None) -> Any:
    """Raises an error for components that do not exist, cannot learn from such labels, or are incompatible.

    Returns the method's settings as its dataclass.
    resumes: the run has a checkpoint, and no longer needs the weights that it started from. validation: labels of the
    validation images.
    """
    _refuse_misplaced_settings(config)
    settings = check_method(config.method, config.settings, labels, validation)
    check_head(config.head, config.head_settings)
    check_graph(config.graph, config.graph_settings)
    if config.keep_head and not resumes:
        _check_kept_head(config, labels)
    _check_head_of_method(config)
    _check_maps(config, settings)
    _check_relabelling(config)
    _check_refits(config)
    check_folds(config, len(labels))
    check_log(config)
    return settings


def check_memory(
    config: Config, settings: Any, labels: Labels, features: int, device: torch.device, processes: int
) -> None:
    """Raises an error if what the method and relabelling remember of the images does not fit where it is kept.

    settings: those of the method. features: of the model. processes: how many on this machine keep a copy each.
    """
    method, host = METHODS[config.method], torch.device("cpu")
    needed = method.memory_needed(settings, labels, features)
    if config.relabel != "none":
        needed += Relabelling.memory_needed(labels)
    # It is made in the host's memory, and copied there (on the CPU: once more) to be written to a checkpoint.
    places = {host: 2 * needed} if device.type == "cpu" else {device: needed, host: needed}
    for place, size in places.items():
        if size > (free := free_memory(place, processes)):
            raise TrilabelError(
                f"method {config.method!r} remembers something of each of {labels.shape[0]:,} images × "
                f"{labels.shape[1]:,} classes: {size / 1e9:,.1f} GB in each process, and {free / 1e9:,.1f} GB are free "
                f"({'memory' if place == host else place}); {method.less_memory}"
            )


def too_short(config: Config, settings: Any) -> list[str]:
    """What the user should know of stages that end before the method's own part begins. settings: the method's."""
    warnings, begun = [], False
    for stage in plan_stages(config):
        setting, epochs = METHODS[config.method].begins_after(settings, begun)
        if stage.epochs <= epochs:
            warnings.append(
                f"method {config.method!r} begins after {setting}={epochs} epochs of a stage, and {stage.name} has "
                f"{stage.epochs}: until then known labels alone count; pass more --epochs or --set {setting}=0"
            )
        begun = begun or stage.epochs > epochs
    return warnings


def slow_head(config: Config) -> list[str]:
    """A warning if a head learns at the rate of fine-tuning, where everything else is fixed: it would hardly move."""
    normalizes = config.head == "gap" and config.graph == "none" and config.head_settings.get("normalize")
    if config.stages != "linear-then-fine-tune" or normalizes or config.linear_lr is not None:
        return []
    lr = config.lr * config.head_lr_scale
    little = f"the linear stage learns at {lr:g}, which is little for a head alone; pass --linear-lr 1e-3"
    return [little] if lr < _SLOW_HEAD else []


def _check_kept_head(config: Config, labels: Labels) -> None:
    if config.weights is None or not is_run(config.weights):
        given = "" if config.weights is None else f", not {config.weights}"
        raise TrilabelError(f"keep_head starts from the head of a trained run: pass --weights RUN{given}")
    if RunFolder(Path(config.weights)).read().classes != list(labels.classes):
        raise TrilabelError(f"{config.weights}: keep_head needs a run on the same classes in the same order")


def _check_head_of_method(config: Config) -> None:
    heads = [beside(head, config.method) for head in METHODS[config.method].heads]
    if heads and config.head not in heads:
        raise TrilabelError(f"method {config.method!r} needs --head {' or '.join(heads)}, not {config.head!r}")
    if heads and config.graph != "none":
        raise TrilabelError(
            f"method {config.method!r} needs the output of its head: it cannot be combined with a graph"
        )


def _check_maps(config: Config, settings: Any) -> None:
    linear = any(stage.linear for stage in plan_stages(config))
    if linear and METHODS[config.method].needs_maps(settings) and not HEADS[config.head].keeps_map:
        heads = " or ".join(sorted(name for name, head in HEADS.usable() if head.keeps_map))
        raise TrilabelError(
            f"method {config.method!r} with these settings needs class maps, and for head {config.head!r} the linear "
            f"stage computes none; use --stages fine-tune, or --head {heads}"
        )


def _check_relabelling(config: Config) -> None:
    if config.relabel == "none":
        if config.relabel_settings:
            names = ", ".join(config.relabel_settings)
            raise TrilabelError(f"{names}: settings of relabelling, but relabel is none; pass --relabel score")
        return
    check_relabel(config.relabel, config.relabel_settings, [stage.epochs for stage in plan_stages(config)])
    if config.relabel == "ensemble" and config.stages != "fine-tune":
        raise TrilabelError("relabelling by ensemble needs images, and a linear stage has only features; fine-tune")


def _refuse_misplaced_settings(config: Config) -> None:
    """Raises an error for a setting of the method that belongs to another component."""
    if config.method not in METHODS:
        return
    others = {"head": HEADS.get(config.head), "graph": GRAPHS.get(config.graph)}
    own = {f.name for f in fields(METHODS[config.method].Settings)}
    for setting in set(config.settings) - own:
        for component, kind in others.items():
            if kind is not None and setting in {f.name for f in fields(kind.Settings)}:
                raise TrilabelError(
                    f"method {config.method!r} has no setting {setting!r}, but the {component} has: "
                    f"--set {component}.{setting}=…, or {component}_settings in a Config"
                )


def check_folds(config: Config, images: int) -> None:
    """Refuses to fit heads to parts of too few images. images: to learn from."""
    if config.val == FOLDS and images < 2:
        raise TrilabelError(
            f"--val {FOLDS} fits heads to parts of the images, and {plural(images, 'image')} has none; "
            "give more images, or pass --val none"
        )


def _check_refits(config: Config) -> None:
    """Refuses what cannot be fitted again and again in seconds."""
    if config.val != FOLDS:
        return
    if config.stages not in ("auto", "linear") or config.relabel != "none" or config.keep_head:
        raise TrilabelError(
            f"--val {FOLDS} fits a head to parts of the images, which needs --stages linear, no --relabel and no "
            "--keep-head; hold a share of the images out instead, such as --val 0.2"
        )
