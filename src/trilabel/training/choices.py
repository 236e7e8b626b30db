"""What a run chooses by itself where the user left it open: by which labels are known, and by what it starts from."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from trilabel.config import Config
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.labels import Labels
from trilabel.log import log
from trilabel.methods import Choice, choose_method
from trilabel.methods.posterior import PosteriorSettings
from trilabel.methods.posterior.sources import find_source
from trilabel.models.backbone import is_run
from trilabel.settings import settings_of
from trilabel.training.plan import with_plan
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import TrainingSplit
from trilabel.training.starting_weights import as_started, with_backbone
from trilabel.training.teachers import only_taught


def changed(config: Config, changes: Mapping[str, Any]) -> Config:
    """The configuration with other values of some fields."""
    names = [f.name for f in fields(Config)]
    for name in changes:
        if name not in names:
            raise unknown_name_error("setting of a run", name, names)
    return replace(config, **changes)


def with_choices(config: Config, split: TrainingSplit, started: RunFolder | None) -> Config:
    """The configuration with nothing left open: backbone, plan, method, head.

    started: the folder of a run that resumes, which stays with what it was started with.
    """
    if started is not None and started.is_described():
        config = started.read().config if config.stages == "auto" else as_started(config, started)
    else:
        config = with_plan(with_backbone(config), split)
    config = with_method(config, split) if config.method == "auto" else config
    return with_normalized_features(config, started)


def with_method(config: Config, split: TrainingSplit, to_be_answered: bool = False) -> Config:
    """The configuration with a method instead of "auto".

    to_be_answered: labels that people answered are still to come, by which it must not choose again.
    """
    validation = split.dataset.labels[split.val]
    if only_taught(config):  # of `posterior` only how it finds rates is used
        chosen = Choice("posterior", dict(config.settings))
    else:
        chosen = choose_method(split.labels, validation, config.settings, config.relabel != "none")
    settings = dict(chosen.settings)
    open_rates = chosen.method == "posterior" and "rates" not in settings
    if to_be_answered and open_rates and _are_one_of_k(settings, split.labels, validation):
        # Images with one positive each no longer look so once some have two; other sources stay what they are.
        settings["rates"] = "one-of-k"
    config = replace(config, method=chosen.method, settings=settings)
    given = "".join(f" {name}={'none' if value is None else value}" for name, value in config.settings.items())
    if only_taught(config):
        log.info(f"method: taught, by the runs of --teachers; rates of known labels as posterior finds them{given}")
        return config
    log.info(f"method: {config.method}{given} (chosen by which labels are known; see `trilabel methods`)")
    if chosen.note:
        log.info(chosen.note)
    return config


def _are_one_of_k(settings: Mapping[str, Any], labels: Labels, validation: Labels) -> bool:
    """Whether `posterior` takes the known positives of an image as drawn from all that it has."""
    try:
        return find_source(settings_of(PosteriorSettings, settings, "posterior"), labels, validation).kind == "one-of-k"
    except TrilabelError:  # told where the rates are needed
        return False


def with_normalized_features(config: Config, started: RunFolder | None) -> Config:
    """The configuration with a head that normalizes, if it begins with a linear stage that is to choose its own rate.

    A head that is kept stays as it was trained. started: the folder of a run that resumes, which stays with what it was
    started with.
    """
    if config.head != "gap" or config.graph != "none" or config.head_settings:
        return config
    own_rate = config.stages != "fine-tune" and config.linear_lr is None
    settings: Mapping[str, Any] = {"normalize": True} if own_rate else {}
    if config.keep_head:
        kept = config.weights or ""
        settings = _pooling(RunFolder(Path(kept))) if is_run(kept) else {}
    if started is not None and started.last.exists():
        settings = _pooling(started)
    return replace(config, head_settings=settings)


def _pooling(run: RunFolder) -> Mapping[str, Any]:
    """How its head gap, or another with the same weights, makes features of a map."""
    settings = run.read().config.head_settings
    return {name: settings[name] for name in ("normalize", "power", "contrast") if settings.get(name)}
