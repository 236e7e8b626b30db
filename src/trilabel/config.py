"""Config: everything that shapes a training run, in one frozen, flat value that saves as JSON.

Nothing heavy is imported here: the command line reads it to print help.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
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
class NoSettings:
    """For a part that has none."""


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
    """weak: mirror and crop. strong: two random changes of colour or shape and an erased rectangle on top; methods that
    compare two views have both."""
    erase: float = 0.33
    """Largest share of an image that a rectangle erases in a strong view, 0 for none. It hides small objects whole, and
    their labels become false."""
    crop: float = 1.0
    """Random crops keep at least this share of a training image's area; 1 does not crop."""

    plan: Literal["fine-tune", "linear", "linear-then-fine-tune"] = "fine-tune"
    """Train everything, only the head on features computed once, or first the one and then the other."""
    epochs: int = 10
    """Passes over the training images (of the last stage of the plan)."""
    linear_epochs: int = 25
    """Epochs of the linear stage of linear-then-fine-tune."""
    batch_size: int = 32
    """Images a step and process."""
    accumulate: int = 1
    """Batches added up before the weights change."""
    optimiser: Literal["adam", "adamw", "sgd", "rmsprop"] = "adamw"
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


def settings_of(kind: type[Any], values: Mapping[str, Any], name: str, part: str = "method") -> Any:
    """The settings dataclass of a method (or another part) filled from names and values; a wrong name is an error.

    Values may be text (from a command line): they are read as the type that the field has by default, or as "none"
    where the field may be.
    """
    known, hints = {f.name: f for f in fields(kind)}, get_type_hints(kind)
    parsed: dict[str, Any] = {}
    for setting, value in values.items():
        if setting not in known:
            others = f"it has: {', '.join(known)}" if known else "it has none at all"
            near = get_close_matches(setting, known, 1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise TrilabelError(f"{part} {name!r} has no setting {setting!r}; {others}{meant}")
        what = f"setting {setting!r} of {part} {name!r}"
        kinds = get_args(hints[setting]) or (hints[setting],)
        several = next((kind for kind in (hints[setting], *kinds) if get_origin(kind) is tuple), None)
        if (value is None or str(value).lower() == "none") and type(None) in kinds:
            parsed[setting] = None
        elif several is not None:
            items = value.split(",") if isinstance(value, str) else value if isinstance(value, Sequence) else [value]
            parsed[setting] = tuple(read_as(None, get_args(several)[0], item, what) for item in items if item != "")
        else:
            parsed[setting] = read_as(known[setting].default, hints[setting], value, what)
    return kind(**parsed)


def read_as(default: Any, hint: Any, value: Any, what: str) -> Any:
    """A value that may be text, as the type that the hint and the default say; `what` it is stands in errors."""
    kinds = get_args(hint) or (hint,)
    if get_origin(hint) is Literal:
        if value not in kinds:
            raise TrilabelError(f"{what} is {', '.join(kinds)}; not {value!r}")
        return value
    if value is None and type(None) in kinds:
        return None
    if isinstance(default, bool):
        if str(value).lower() in ("true", "false"):
            return str(value).lower() == "true"
        raise TrilabelError(f"{what} is true or false, not {value!r}")
    if str in kinds:
        return value
    whole = int in kinds
    try:
        number = float(value)
        if not math.isfinite(number) or (whole and number != int(number)):
            raise ValueError
    except (TypeError, ValueError):
        raise TrilabelError(f"{what} is a {'whole' if whole else 'finite'} number, not {value!r}") from None
    return int(number) if whole else number
