"""Config: everything that shapes a training run, in one frozen, flat value that saves as JSON.

Nothing heavy is imported here: the command line reads it to print help.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from trilabel.errors import TrilabelError

_POSITIVE = (
    *("epochs", "linear_epochs", "batch_size", "accumulate", "lr", "linear_lr"),
    *("lr_step_epochs", "lr_step_factor", "clip_gradient", "image_size", "patience", "devices"),
)
# The parts of a run that have settings of their own, and where a Config keeps them.
SETTINGS_OF = {"method": "settings", "head": "head_settings", "graph": "graph_settings", "relabel": "relabel_settings"}
_NOT_NEGATIVE = ("head_lr_scale", "workers", "weight_decay", "momentum", "seed", "save_minutes")


@dataclass(frozen=True)
class Config:
    """Settings of a training run. Recipes return one; `dataclasses.replace` changes one."""

    method: str = "auto"
    """How to learn from labels with holes (see `trilabel methods`); auto chooses by what is known."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the method, by name."""

    backbone: str = "tiny"
    """"tiny" (small images, CPU) or any timm model name; "-v1" behind a timm ResNet strides in its 1×1 convolutions."""
    weights: str | None = None
    """Weights of the backbone: a .safetensors file, a folder with one, the folder of a run of the same backbone, or
    "hub" to download; none: random."""
    keep_head: bool = False
    """Where `weights` is a run on the same classes: start from its head too, if it is of the same kind (as gap, weldon
    and saliency are)."""
    head: str = "gap"
    """What turns feature maps into class scores (see `trilabel parts`)."""
    head_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the head, by name."""
    graph: str = "none"
    """What lets the scores of an image's classes speak to each other: none or gnn."""
    graph_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the graph, by name."""
    relabel: str = "none"
    """How easy unknown labels are filled in between epochs (see `trilabel parts`); none: not at all."""
    relabel_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of relabelling, by name."""
    image_size: int | None = None
    """Images are resized to this many pixels square; none: what the backbone was made for."""

    train_split: str = "train"
    """The split to learn from."""
    val: str = "auto"
    """The split that chooses the epoch: its name, a share of the training images such as 0.2, "auto" or "none"."""
    cache: Literal["auto", "none", "memory", "device"] = "auto"
    """Keep decoded images nowhere, in memory or on the device."""
    workers: int | None = None
    """Processes that decode images; none: as many as there are cores, 16 at most."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does: stop the run, or be left out and counted."""
    flip: bool = True
    """Mirror half of the training images."""
    augment: Literal["weak", "strong"] = "weak"
    """weak: mirror and crop. strong: two random changes of color or shape and an erased rectangle on top; methods that
    compare two views have both."""
    erase: float = 0.33
    """Largest share of an image that a rectangle erases in a strong view, 0 for none. It hides small objects whole, and
    their labels become false."""
    crop: float = 1.0
    """Random crops keep at least this share of a training image's area; 1 does not crop."""

    stages: Literal["fine-tune", "linear", "linear-then-fine-tune"] = "fine-tune"
    """Train everything, only the head on features computed once, or first the one and then the other."""
    epochs: int = 10
    """Passes over the training images (of the last stage)."""
    linear_epochs: int = 25
    """Epochs of the linear stage of linear-then-fine-tune."""
    batch_size: int = 32
    """Images a step and process."""
    accumulate: int = 1
    """Batches added up before the weights change."""
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adamw"
    """rmsprop: with decay 0.9 and ε 1, as Huynh 2020 used it."""
    lr: float = 1e-3
    """Learning rate of the backbone."""
    head_lr_scale: float = 1.0
    """Learning rate of the head, as a multiple of the backbone's."""
    linear_lr: float | None = None
    """Learning rate of the head in the linear stage; none: lr × head_lr_scale."""
    weight_decay: float = 0.0
    momentum: float = 0.9
    """Of sgd and rmsprop."""
    lr_schedule: Literal["constant", "step", "cosine", "one-cycle"] = "constant"
    lr_step_epochs: int = 10
    """Epochs between two drops of the step schedule."""
    lr_step_factor: float = 0.1
    """What a drop of the step schedule multiplies the learning rate by."""
    clip_gradient: float | None = None
    """Longest allowed gradient (its norm)."""
    ema: float = 0.0
    """Decay of the running mean of the weights, which is then what is scored and kept; 0 keeps none."""

    select: str = "mAP"
    """The validation metric that chooses the best epoch."""
    patience: int | None = None
    """Stop after this many epochs without a better one."""
    seed: int = 0
    device: str = "auto"
    """"auto", "cpu" or "cuda"."""
    devices: int = 1
    """How many devices (or CPU processes) to train on."""
    precision: Literal["32", "bf16"] = "32"
    channels_last: bool = False
    compile: bool = False
    """Compile the model with torch.compile."""
    save_minutes: float = 10.0
    """A checkpoint is saved after each epoch, and this often inside long ones."""

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            if get_origin(kind) is Literal and getattr(self, name) not in get_args(kind):
                raise TrilabelError(f"{name} is {', '.join(get_args(kind))}; not {getattr(self, name)!r}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise TrilabelError(f"{name} must be more than 0, not {value}")
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise TrilabelError(f"{name} must be 0 or more, not {value}")
        if not 0 < self.crop <= 1:
            raise TrilabelError(f"crop is a share of the area, in (0, 1], not {self.crop}")
        if not 0 <= self.erase <= 1:
            raise TrilabelError(f"erase is a share of the area, in [0, 1], not {self.erase}")
        if not 0 <= self.ema < 1:
            raise TrilabelError(f"ema is a decay in [0, 1), not {self.ema}")

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Config":
        """The configuration that `to_json` wrote; a name it does not know is an error."""
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise TrilabelError(
                f"unknown settings {', '.join(sorted(unknown))}: written by another version of trilabel?"
            )
        return cls(**values)
