"""What a run chooses by itself where the user left it open: by which labels are known, and by what it starts from."""

from dataclasses import replace
from pathlib import Path

from trilabel.config import Config
from trilabel.log import log
from trilabel.methods import choose_method
from trilabel.models.backbone import is_run
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import TrainingSplit


def with_method(config: Config, split: TrainingSplit) -> Config:
    """The configuration with a method instead of "auto"."""
    validation = split.dataset.labels[split.val]
    chosen = choose_method(split.labels, validation, config.settings, config.relabel != "none")
    config = replace(config, method=chosen.method, settings=chosen.settings)
    given = "".join(f" {name}={'none' if value is None else value}" for name, value in config.settings.items())
    log.info(f"method: {config.method}{given} (chosen by which labels are known; see `trilabel methods`)")
    if chosen.note:
        log.info(chosen.note)
    return config


def with_normalized_features(config: Config, started: RunFolder | None) -> Config:
    """The configuration with a head that normalizes, if it begins with a linear stage that is to choose its own rate.

    A head that is kept stays as it was trained. started: the folder of a run that resumes, which stays with what it was
    started with.
    """
    if config.head != "gap" or config.graph != "none" or config.head_settings:
        return config
    own_rate = config.stages != "fine-tune" and config.linear_lr is None
    if config.keep_head:
        kept = config.weights or ""
        own_rate = is_run(kept) and _normalizes(RunFolder(Path(kept)))
    if started is not None and started.last.exists():
        own_rate = _normalizes(started)
    return replace(config, head_settings={"normalize": True}) if own_rate else config


def _normalizes(run: RunFolder) -> bool:
    return bool(run.read().config.head_settings.get("normalize"))
