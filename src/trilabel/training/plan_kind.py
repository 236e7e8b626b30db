"""Which kind of training the recipe `photos` takes: by weights, images and device alone, before anything is read."""

from typing import Literal

from trilabel.config import Config
from trilabel.models.device import choose_device

HELD_OUT_SHARE = 0.2  # of the training images, to choose the epoch of fine-tuning on
_ENOUGH_TO_FINE_TUNE = 1000  # images to learn from on a GPU; with fewer, a head on the features of all is better
_FEW_TO_CROSS_VALIDATE = 20_000  # images; of more, a part can be held out and is hardly missed

PlanKind = Literal["small network", "fine-tuning", "linear head"]


def plan_kind(config: Config, images: int) -> PlanKind:
    """For so many images to learn from."""
    if config.weights is None:
        return "small network"
    on_gpu = choose_device(config.device).type == "cuda"
    return "fine-tuning" if on_gpu and images >= _ENOUGH_TO_FINE_TUNE else "linear head"


def holds_nothing_out(config: Config, images: int) -> bool:
    """Whether all training images are learned from, and heads fitted to parts of them say how good the result is."""
    left = int(images * (1 - HELD_OUT_SHARE))
    if config.stages != "auto" or plan_kind(config, left) != "linear head" or images > _FEW_TO_CROSS_VALIDATE:
        return False
    # What these start from has learned from all images.
    return not config.keep_head and config.rounds == 1 and not config.teachers and config.relabel == "none"
