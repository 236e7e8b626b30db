"""The record of a finished epoch: one typed value, a line of metrics.jsonl."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from trilabel.errors import TrilabelError
from trilabel.settings import filled

_ALWAYS = {"stage", "epoch", "loss", "lr", "seconds"}  # in every line, zero or not

_HISTOGRAMS = {"known_positives", "known_negatives", "unknown", "hidden_positives", "hidden_negatives"}
_HISTOGRAMS |= {"positives", "negatives"}  # of validation


@dataclass(frozen=True)
class UnknownTargets:
    """The targets of the unknown labels of an epoch and, if the truth is known, how often they were right.

    Leaving a label out counts as right if treating it as absent would have been wrong.
    """

    as_absent: int = 0
    left_out: int = 0
    as_present: int = 0
    as_absent_right: float | None = None
    left_out_right: float | None = None
    as_present_right: float | None = None
    calibration_error: float | None = None
    """Of targets between 0 and 1: by how much their mean differs from the share that is present, in the mean over 20
    bins of targets."""

    def share(self, name: str) -> float:
        """Share of the unknown labels with this target ("as_absent", "left_out" or "as_present")."""
        count: int = getattr(self, name)
        return count / max(1, self.as_absent + self.left_out + self.as_present)


@dataclass(frozen=True)
class Relabelled:
    """Weak labels that relabelling filled in, and their accuracy, if the truth is known (Durand 2019, table 2)."""

    positives: int
    negatives: int
    used_share: float  # of all labels, known or weak
    positives_right: float | None = None  # share of the weak positives that are present in truth
    negatives_right: float | None = None
    true_positive_rate: float | None = None  # of the weakly labelled that are present in truth
    true_negative_rate: float | None = None


@dataclass(frozen=True)
class Example:
    """A training image that is followed, in one epoch: some of its labels, in the same order in each list."""

    image: str
    classes: list[str]
    labels: list[int]  # as known: +1, −1, 0
    logits: list[float]
    truth: list[int] = field(default_factory=list)  # empty where no label was hidden on purpose
    targets: list[int] = field(default_factory=list)  # what labels were scored as; empty if the method does not choose

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back; without truth and targets where there are none."""
        return {name: value for name, value in vars(self).items() if value or name not in ("truth", "targets")}

    @classmethod
    def from_json(cls, values: Any) -> "Example":
        """What `to_json` wrote; anything else is refused."""
        read = filled(cls, values, "an example")
        signs = (*read.labels, *read.truth, *read.targets)
        lengths = {
            len(read.classes),
            len(read.labels),
            len(read.logits),
            *map(len, filter(None, (read.truth, read.targets))),
        }
        if len(lengths) > 1 or not set(signs) <= {-1, 0, 1} or not all(map(math.isfinite, read.logits)):
            raise TrilabelError(f"there is no example {repr(values)[:80]}")
        return read


@dataclass(frozen=True)
class EpochRecord:
    """One epoch: losses, time, the treatment of unknown labels, validation."""

    stage: str
    epoch: int  # counts from 1 in each stage
    loss: float  # mean over the steps
    parts: Mapping[str, float] = field(default_factory=dict)  # further scalars that the method's steps returned
    lr: float = 0.0  # base learning rate of the last step
    seconds: float = 0.0  # of training
    images_left_out: int = 0  # could not be read
    relabelled: Relabelled | None = None  # before the first step
    probabilities: Mapping[str, list[int]] = field(default_factory=dict)
    """Histograms over [0, 1] of the training labels: known_positives, known_negatives, unknown and, of the unknown ones
    whose truth is known, hidden_positives and hidden_negatives."""
    unknown: UnknownTargets | None = None  # only of methods that choose
    mean_loss: Mapping[str, float] = field(default_factory=dict)
    """By kind of label (known_positives, true_negatives, hidden_positives), where the truth is known."""
    highest_loss_in_first_epoch: Mapping[str, float] = field(default_factory=dict)
    """By kind of label, the share whose loss was highest in the first epoch."""
    examples: list[Example] = field(default_factory=list)  # a few images, the same in every epoch
    val: Mapping[str, Any] = field(default_factory=dict)  # the result of `metrics.evaluate`; empty without validation
    val_probabilities: Mapping[str, list[int]] = field(default_factory=dict)  # histograms: positives, negatives
    val_unknown_as_absent: bool = False  # no validation label is known to be absent, so unknown counted as absent
    val_seconds: float = 0.0

    def metric(self, name: str) -> float:
        """A validation metric to compare epochs by; −∞ if it is undefined."""
        value = self.val.get(name)
        return float("-inf") if value is None else float(value)

    def describe(self, epochs: int, select: str) -> str:
        """One line for a person; `epochs` of the stage, `select` the metric that chooses the best."""
        words = [f"{self.stage}, epoch {self.epoch} of {epochs}", f"loss {self.loss:.4f}"]
        shown = dict.fromkeys([select, "mAP", "CF1", "OF1"])
        words += [f"{name} {self.val[name]:.1%}" for name in shown if isinstance(self.val.get(name), float)]
        return "  ".join([*words, f"{self.seconds + self.val_seconds:.1f} s"])

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `from_json` reads back; empty fields are left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        default = EpochRecord(self.stage, self.epoch, self.loss)
        kept = {name: value for name, value in values.items() if name in _ALWAYS or value != getattr(default, name)}
        for name in ("unknown", "relabelled"):
            if name in kept:
                kept[name] = {key: value for key, value in asdict(kept[name]).items() if value is not None}
        if self.examples:
            kept["examples"] = [each.to_json() for each in self.examples]
        return kept

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "EpochRecord":
        """The record that `to_json` wrote; anything else is refused."""
        if not isinstance(values, Mapping):
            raise TrilabelError("the record of an epoch is not a dictionary")
        nested: dict[str, Any] = {}
        if isinstance(values.get("examples"), list):
            nested["examples"] = [Example.from_json(each) for each in values["examples"]]
        if "unknown" in values:
            nested["unknown"] = filled(UnknownTargets, values["unknown"], "unknown")
        if "relabelled" in values:
            nested["relabelled"] = filled(Relabelled, values["relabelled"], "relabelled")
        record = filled(cls, {**values, **nested}, "the record of an epoch")
        for name, value in record.val.items():
            if not (value is None or isinstance(value, list if name == "per_class_ap" else int | float)):
                raise TrilabelError(f"{name} of validation cannot be {repr(value)[:80]}")
        for kind, counts in (*record.probabilities.items(), *record.val_probabilities.items()):
            if kind not in _HISTOGRAMS or not all(0 <= count < 2**62 for count in counts):
                raise TrilabelError(f"there is no histogram {kind!r} with {repr(counts)[:80]}")
        return record
