"""The stages of a run: a linear one on features computed once, fine-tuning, and the warm-up that some methods need."""

from dataclasses import dataclass, replace

from trilabel.config import Config
from trilabel.errors import TrilabelError


@dataclass(frozen=True)
class Stage:
    """A part of training with one set of trained parameters."""

    name: str
    epochs: int
    lr: float
    linear: bool = False  # only the head, on features computed once
    warm_up: bool = False  # only for what the method learns about the labels; the model is then reset
    goes_on: bool = False  # with a head that the stage before has taught


def plan_stages(config: Config, warm_up_epochs: int = 0) -> list[Stage]:
    """The stages that `config.stages` names, in order; a method's warm-up is like the first of them and precedes it.

    >>> [(stage.name, stage.epochs) for stage in plan_stages(Config(stages="linear-then-fine-tune"), 3)]
    [('warm-up', 3), ('linear', 25), ('fine-tune', 10)]
    """
    stages = _stages(config)
    if warm_up_epochs:
        stages.insert(0, replace(stages[0], name="warm-up", epochs=warm_up_epochs, warm_up=True))
    return stages


def _stages(config: Config) -> list[Stage]:
    linear_lr = config.lr * config.head_lr_scale if config.linear_lr is None else config.linear_lr
    fine_tune = Stage("fine-tune", config.epochs, config.lr)
    match config.stages:
        case "fine-tune":
            return [fine_tune]
        case "linear":
            return [Stage("linear", config.epochs, linear_lr, linear=True)]
        case "linear-then-fine-tune":
            return [Stage("linear", config.linear_epochs, linear_lr, linear=True), replace(fine_tune, goes_on=True)]
        case "auto":  # `train` has chosen by now
            raise TrilabelError(
                "stages: auto is chosen by `train` alone; here use --recipe fine-tune, or name the stages"
            )
