"""The recipe `photos`: how to train, by what there is: images, weights, a GPU or the cores of a CPU."""

import time
from dataclasses import fields, replace

import torch
from torch import Tensor

from trilabel.config import Config
from trilabel.data.images import worker_count
from trilabel.log import log
from trilabel.methods import METHODS
from trilabel.models import create_backbone
from trilabel.models.backbone import BackboneName, with_own_classes
from trilabel.models.device import choose_device
from trilabel.printable import plural
from trilabel.recipes import fine_tune, linear_then_fine_tune, photos, small
from trilabel.recipes.own import POOLING
from trilabel.settings import settings_of
from trilabel.training.plan_kind import holds_nothing_out, plan_kind
from trilabel.training.splits import FOLDS, TrainingSplit
from trilabel.training.time_left import describe_seconds

_MANY = 20_000  # images from which larger batches and fewer epochs are enough
_IMAGES_TO_LEARN_FROM = 25_000  # epochs × images of fine-tuning: 5 epochs of VOC 2012's 4,574
_SIZES = (320, 224)  # pixels on a side; a head on features of 448 was worse with 320 photographs
_SECONDS = 600  # that computing features may take
_LONG = 3600  # seconds from which a cheaper way is named
_TRAINING_STEP = 3.3  # as many times a forward pass as a step of training takes
_DECODING = 0.012  # seconds of one core for a photograph


def with_plan(config: Config, split: TrainingSplit) -> Config:
    """The configuration with everything chosen that `photos` leaves open; what the user has set stays."""
    if config.stages != "auto":
        return config
    images, device = len(split.train), choose_device(config.device)
    scored = images + len(split.val)
    learns_from_all = not len(split.val) and holds_nothing_out(config, images)
    kind = "linear head" if learns_from_all else plan_kind(config, images)
    if kind != "small network" and _pools_anew(config):
        config = replace(config, backbone=with_own_classes(config.backbone, config.weights))
    network = _in_words(config.backbone)
    if kind == "small network":
        chosen, why, seconds = small(), "no pretrained weights, so a small network on 64-pixel images", 0.0
        log.warning(
            "no pretrained weights: on photographs a network that starts from nothing stays far behind one that has "
            "seen many; --weights FILE, or see `trilabel weights`"
        )
    elif kind == "fine-tuning":
        chosen = _with_own_choices(config, _fine_tuning(config, images))
        size, first = int(chosen.image_size or 0), chosen.stages == "linear-then-fine-tune"
        why = f"fine-tuning {network} at {size} pixels for {plural(chosen.epochs, 'epoch')} on the GPU"
        why = f"a linear head fitted to features computed once, then {why}" if first else why
        step = _seconds_of_image(config, size, device)
        seconds = step * ((_TRAINING_STEP * images + len(split.val)) * chosen.epochs + scored * first)
    else:
        size, step = _feature_size(config, scored, device)
        chosen = replace(small(), stages="linear", epochs=10, image_size=size, batch_size=32)
        if _pools_anew(config):
            chosen = replace(chosen, head_settings=POOLING)
        if learns_from_all:
            chosen = replace(chosen, val=FOLDS if images > 1 else "none")  # of one image there are no parts
        why = f"features of {network} at {size} pixels, computed once, and a linear head fitted to them"
        seconds = step * scored
    seconds += scored * _DECODING / max(1, worker_count(config.workers))
    where = "1 GPU" if device.type == "cuda" else f"{torch.get_num_threads()} cores"
    log.info(f"plan: {why} ({plural(images, 'image')} to learn from, {where}); --recipe NAME trains in another way")
    log.info(f"      this takes about {describe_seconds(seconds)}")
    if seconds > _LONG:
        log.info("      to be faster: fewer images first (--hide images=0.1), --image-size 224, or a smaller backbone")
    return _with_own_choices(config, chosen)


def _with_own_choices(config: Config, chosen: Config) -> Config:
    """What was chosen, with what the user has set otherwise than the recipe."""
    start = photos()
    own = {f.name: getattr(config, f.name) for f in fields(Config)}
    kept = {name: value for name, value in own.items() if value != getattr(start, name)}
    return replace(chosen, **{**kept, "backbone": config.backbone, "weights": config.weights})


def _fine_tuning(config: Config, images: int) -> Config:
    """What was best on VOC 2012 (4,574 images) and COCO (7,200).

    The steps for many images were best for COCO (25,200) from a new head; from a fitted one they are scaled likewise.
    """
    if _begins_linear(config):
        start = linear_then_fine_tune()
    else:
        head = config.head if config.keep_head or config.head_settings else "saliency"
        start = replace(fine_tune(), head=head, ema=0.997, lr=5e-5)
    if images >= _MANY:
        return replace(start, batch_size=64, lr=2 * start.lr, epochs=4)
    return replace(start, epochs=min(15, max(5, round(_IMAGES_TO_LEARN_FROM / images))))


def _begins_linear(config: Config) -> bool:
    """Whether a head can be fitted to features first, which the method's steps must be able to do without images."""
    if not _pools_anew(config) or config.relabel == "ensemble":
        return False
    if config.method == "auto":
        return True
    method = METHODS.find(config.method)
    return not method.heads and not method.needs_maps(settings_of(method.Settings, config.settings, config.method))


def _in_words(backbone: str) -> str:
    name = BackboneName.read(backbone)
    return f"{name.network} and its {plural(name.classes, 'class')}" if name.classes else name.network


def _pools_anew(config: Config) -> bool:
    """Whether the head is a new one, and how it pools is left open."""
    return config.head == "gap" and config.graph == "none" and not config.head_settings and not config.keep_head


def _feature_size(config: Config, images: int, device: torch.device) -> tuple[int, float]:
    """(pixels per side, seconds for an image): the largest with which features do not take long."""
    if config.image_size is not None:
        return config.image_size, _seconds_of_image(config, config.image_size, device)
    smallest = _seconds_of_image(config, _SIZES[-1], device)
    seconds = {size: smallest * (size / _SIZES[-1]) ** 2 for size in _SIZES}
    best = next((size for size in _SIZES if seconds[size] * images <= _SECONDS), _SIZES[-1])
    return best, seconds[best]


@torch.inference_mode()
def _seconds_of_image(config: Config, size: int, device: torch.device) -> float:
    """How long the backbone takes for an image, measured; random weights are as fast.

    On a CPU by the time of its cores, so that what else runs there at the moment changes nothing.
    """
    backbone = create_backbone(config.backbone, None, size)
    backbone = backbone.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    on_gpu = device.type == "cuda"
    clock, share = (time.perf_counter, 1) if on_gpu else (time.process_time, torch.get_num_threads())
    batch: Tensor = torch.zeros(16 if on_gpu else 4, 3, size, size, device=device)
    batch = batch.contiguous(memory_format=torch.channels_last)
    taken = []
    for _ in range(3):
        begun = clock()
        with torch.autocast("cuda", torch.bfloat16, enabled=on_gpu and config.precision == "bf16"):
            backbone(batch)
        if on_gpu:
            torch.cuda.synchronize()
        taken.append((clock() - begun) / share)
    return min(taken) / len(batch)
