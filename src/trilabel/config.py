"""Config: everything that shapes a training run, in one frozen, flat value that is saved as JSON.

Nothing slow is imported here, because the command line needs this module to print help.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

from trilabel.errors import TrilabelError
from trilabel.settings import filled

# The components of a run that have their own settings, and the field of a Config that contains these.
SETTINGS_OF = {"method": "settings", "head": "head_settings", "graph": "graph_settings", "relabel": "relabel_settings"}
# The fields that make a method what it is; the others say how it is trained.
METHOD_FIELDS = (*SETTINGS_OF, *SETTINGS_OF.values(), "augment", "stages", "linear_epochs")
TeacherViews = Literal["mirror", "crops"]
LARGEST_IMAGE = 10_000  # pixels on a side, whoever asks for it
_POSITIVE = (
    *("epochs", "linear_epochs", "batch_size", "accumulate", "lr", "linear_lr"),
    *("lr_step_epochs", "lr_step_factor", "clip_gradient", "image_size", "patience", "devices", "rounds", "folds"),
)
_AT_MOST = {  # more than anybody needs, and little enough that a stranger's configuration cannot fill the memory
    "image_size": LARGEST_IMAGE,
    "batch_size": 1 << 20,
    "workers": 1024,
    "devices": 1024,
    "rounds": 2,
    "folds": 100,
}
_NOT_NEGATIVE = ("head_lr_scale", "workers", "weight_decay", "momentum", "seed", "save_minutes")


@dataclass(frozen=True)
class Config:
    """The settings of a training run. Recipes return one; `dataclasses.replace` makes one that differs.

    >>> Config(epochs=3).lr
    0.001
    """

    method: str = "auto"
    """How to learn from partly unknown labels (see `trilabel methods`); auto: chosen by which labels are known."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the method, by name."""

    backbone: str = "tiny"
    """"tiny" (small images, CPU), any timm model name, or "auto": the one that the weights are for. A timm ResNet with
    "-v1" appended has its strides in the 1×1 convolutions."""
    weights: str | None = None
    """Pretrained weights of the backbone: a .safetensors file, a folder with one, the folder of a run, a name that
    `trilabel weights` fetched, or "hub" to download. none: random weights; not given to `train`: those that `trilabel
    weights --default` chose, if any, else random ones. They say which backbone, unless you do."""
    keep_head: bool = False
    """If `weights` is a run on the same classes: also start from its head, provided that it has the same parameters
    (gap, weldon and saliency do)."""
    head: str = "gap"
    """How feature maps become class scores (see `trilabel components`)."""
    head_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the head, by name."""
    graph: str = "none"
    """How the class scores of an image influence each other: none or gnn."""
    graph_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the graph, by name."""
    relabel: str = "none"
    """How easy unknown labels are filled in between epochs (see `trilabel components`); none: they are not."""
    relabel_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of relabelling, by name."""
    image_size: int | None = None
    """Images are resized to a square of this many pixels; none: the backbone's own size."""

    train_split: str = "train"
    """The split to train on."""
    val: str = "auto"
    """The split that selects the best epoch: its name, a share of the training images such as 0.2, or "none"; "folds"
    (linear stage only): learn from all images, and have heads fitted to parts of them score the rest; "auto"."""
    cache: Literal["auto", "none", "memory", "device"] = "auto"
    """Where decoded images are cached: nowhere, in memory or on the device; auto: wherever they fit."""
    workers: int | None = None
    """Number of processes that decode images; none: one per core, at most 16."""
    broken: Literal["stop", "skip"] = "stop"
    """Whether a missing or broken image stops the run, or is left out and counted."""
    flip: bool = True
    """Mirror a random half of the training images."""
    augment: Literal["weak", "strong"] = "weak"
    """weak: mirror and crop. strong: also two random changes of color or shape, and an erased rectangle. Methods
    that compare two views use both."""
    erase: float = 0.33
    """Largest share of an image that a strong view erases, 0 for none. A rectangle that hides a small object makes its
    label wrong."""
    crop: float = 1.0
    """Random crops keep at least this share of the area of a training image; 1: no crops."""

    stages: Literal["auto", "fine-tune", "linear", "linear-then-fine-tune"] = "fine-tune"
    """What to train: everything; only the head, on features computed once; or first the head, then everything. auto
    (the recipe `photos`): this and what belongs to it is chosen by images, weights and device."""
    epochs: int = 10
    """Number of passes over the training images in the last stage."""
    linear_epochs: int = 25
    """Number of epochs of the linear stage of linear-then-fine-tune."""
    batch_size: int = 32
    """Images per step in each process."""
    accumulate: int = 1
    """Number of batches whose gradients are added up for one step."""
    optimizer: Literal["adam", "adamw", "sgd", "rmsprop"] = "adamw"
    """The optimizer; rmsprop has decay 0.9 and ε 1, as in Huynh 2020."""
    lr: float = 1e-3
    """Learning rate of the backbone."""
    head_lr_scale: float = 1.0
    """Learning rate of the head, as a multiple of the backbone's."""
    linear_lr: float | None = None
    """Learning rate of the head in the linear stage. none: head gap is fitted to normalized features in at least 100
    steps of its own size, as far as known labels bear; other heads learn at `lr` × `head_lr_scale`."""
    weight_decay: float = 0.0
    """Weight decay (L2 for adam, sgd and rmsprop, decoupled for adamw)."""
    momentum: float = 0.9
    """Momentum of sgd and rmsprop."""
    lr_schedule: Literal["constant", "step", "cosine", "one-cycle"] = "constant"
    """How the learning rate changes over the epochs."""
    lr_step_epochs: int = 10
    """Epochs between two drops of the learning rate in the step schedule."""
    lr_step_factor: float = 0.1
    """The step schedule multiplies the learning rate by this at each drop."""
    clip_gradient: float | None = None
    """Largest norm of the gradient; a longer gradient is scaled down to it."""
    ema: float = 0.0
    """Decay of the exponential moving average of the weights, which is then scored and saved; 0: no average."""

    rounds: int = 1
    """2: train again from the start, on what the first run believes of the unknown labels; takes twice as long, and
    the time of scoring the training images twice."""
    teachers: tuple[str, ...] = ()
    """Folders of runs on the same classes, of any method, whose scores are averaged to teach this run; with --rounds 2
    beside its own first round."""
    teacher_views: TeacherViews = "mirror"
    """What teachers see of an image: it and its mirror image; crops: also nine crops of it, which finds small objects
    and takes ten times as long to score."""
    folds: int = 1
    """With --rounds 2: so many first runs, each on all but its part of the images, which it then scores (cross-fitting,
    so that no image is scored by a model that learned its labels)."""

    select: str = "mAP"
    """The validation metric that chooses the best epoch."""
    patience: int | None = None
    """Stop after this many epochs without improvement."""
    seed: int = 0
    """Seed of everything random in training."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    devices: int = 1
    """How many devices (or CPU processes) of this machine to train on; under torchrun, as many as it starts."""
    sync_batch_norm: bool = False
    """With several GPUs: batch norm over the images of all of them, as if they were one batch."""
    precision: Literal["32", "bf16"] = "32"
    """32-bit numbers, or bfloat16 where that is safe (automatic mixed precision)."""
    channels_last: bool = False
    """Keep images channels-last in memory, which is faster for most backbones."""
    compile: bool = False
    """Compile the model with torch.compile."""
    log: Literal["none", "csv", "tensorboard", "wandb"] = "none"
    """Also write the numbers of each epoch to metrics.csv, for TensorBoard (folder tensorboard of the run) or to
    Weights & Biases (which sends them to its server); these two need their packages."""
    save_minutes: float = 10.0
    """Minutes between checkpoints within an epoch; one is saved after each epoch in any case."""

    def __post_init__(self) -> None:
        for name, choices in _choices().items():
            if getattr(self, name) not in choices:
                raise TrilabelError(f"{name} must be one of {', '.join(choices)}, not {getattr(self, name)!r}")
        for name in _POSITIVE:
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise TrilabelError(f"{name} must be more than 0, not {value}")
        for name in _NOT_NEGATIVE:
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise TrilabelError(f"{name} must be 0 or more, not {value}")
        for name, most in _AT_MOST.items():
            if (getattr(self, name) or 0) > most:
                raise TrilabelError(f"{name} must be at most {most:,}, not {getattr(self, name):,}")
        if not 0 < self.crop <= 1:
            raise TrilabelError(f"crop must be a share of the area, above 0 and up to 1, not {self.crop}")
        if not 0 <= self.erase <= 1:
            raise TrilabelError(f"erase must be a share of the area, from 0 to 1, not {self.erase}")
        if not 0 <= self.ema < 1:
            raise TrilabelError(f"ema must be a decay, from 0 to below 1, not {self.ema}")

    def to_json(self) -> dict[str, Any]:
        """A dictionary for JSON that `from_json` reads back."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Config":
        """The configuration that `to_json` wrote; an unknown name is an error."""
        unknown = set(values) - {f.name for f in fields(cls)}
        if unknown:
            raise TrilabelError(
                f"unknown settings {', '.join(sorted(unknown))}: written by another version of trilabel?"
            )
        return filled(cls, values, "config")


@cache
def _choices() -> dict[str, tuple[str, ...]]:
    """The fields that take one of a few values, and these values."""
    return {name: get_args(kind) for name, kind in get_type_hints(Config).items() if get_origin(kind) is Literal}
