"""`trilabel evaluate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import trilabel as tl
from trilabel.cli.arguments import (
    Broken,
    OptionalDataPath,
    RunPath,
    Trust,
    UsageError,
    require_positive,
    require_probability,
)
from trilabel.cli.data_options import DataOptions, Reading, read_data_or_own
from trilabel.cli.render import percent, print_json, print_line, print_metrics, print_table
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.plugin_files import trust
from trilabel.printable import plural


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Scores the best model of a run on a split, over its known labels.

    Example: trilabel evaluate runs/first labels.csv --images photos --split test
    """

    run: RunPath
    """The run folder, a model folder, or an exported .onnx or .pt2 file."""
    data: OptionalDataPath = ""
    """The data to score on; none: the data that the run was trained on, with no labels hidden."""
    split: str = "test"
    """The split to score."""
    threshold: float | None = None
    """Probability from which a class counts as predicted present (for F1 and similar metrics; mAP needs none); none:
    the one that the run fitted for each class."""
    calibrated: bool = True
    """Correct probabilities as the run fitted it; --no-calibrated: as the network gives them (with --threshold 0.5 this
    is how papers report F1, and compare)."""
    common_classes: bool = False
    """Score only the classes that data and model have in common."""
    per_class: bool = False
    """Also list the average precision of each class, how sure it is, and the known labels that it rests on."""
    pointing: bool = False
    """Also play the pointing game: is the highest value of the class activation map of a present class inside one of
    its boxes? Needs boxes."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out and counted."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    devices: int = 1
    """How many GPUs (or CPU processes) of this machine to use."""
    trust: Trust = ()
    json: bool = False
    """Print all metrics as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        require_probability(threshold=self.threshold)
        require_positive(devices=self.devices)
        if not self.calibrated and self.threshold is None:
            raise UsageError(
                "--no-calibrated: the fitted thresholds are of calibrated probabilities; give --threshold 0.5"
            )
        trust(self.trust)  # the run's own data may be in a format of theirs
        dataset = read_data_or_own(self.data, self.reading.chosen(), self.run)
        if not self.data and self.split not in ("all", *dataset.splits):
            names = ", ".join(dataset.splits) or "none"
            raise TrilabelError(
                f"no split named {self.split!r} in the run's data (it has: {names}); name one of these, or train again "
                f"with --splits {self.split}=0.2, which sets images apart"
            )
        result = tl.load(self.run, self.device, self.trust).evaluate(
            dataset,
            self.split,
            self.threshold,
            self.common_classes,
            broken=self.broken,
            pointing=self.pointing,
            intervals=self.per_class,
            calibrated=self.calibrated,
            devices=self.devices,
        )
        for doubt in result["warnings"]:
            log.warning(doubt)
        if self.json:
            return print_json(result)
        images = plural(result["images"], "image")
        print_metrics(result, f"{self.split}: {images}, {result['known_share']:.1%} of labels known")
        print_line(_decided(result))
        if self.pointing:
            pairs = plural(result["pointing_game_pairs"], "present class of an image", "present classes of images")
            print_line(f"pointing game: {percent(result['pointing_game'])} % of {pairs} peak inside one of their boxes")
        if self.per_class:
            self._print_classes(result)
        return None

    def _print_classes(self, result: Mapping[str, Any]) -> None:
        columns: dict[str, Sequence[Any]] = {
            "class": result["class_names"],
            "AP %": list(map(percent, result["per_class_ap"])),
            "95 % interval": _intervals(result["per_class_ap_low"], result["per_class_ap_high"]),
            "present": [f"{count:,}" for count in result["per_class_positives"]],
            "absent": [f"{count:,}" for count in result["per_class_negatives"]],
        }
        if self.pointing:
            shares = result["per_class_pointing_game"]
            columns["pointing %"] = [percent(shares.get(name)) for name in result["class_names"]]
        print_table(list(columns), list(zip(*columns.values(), strict=True)))
        print_line("present, absent: known labels that the AP rests on; its interval: if such images were drawn again")


def _decided(result: Mapping[str, Any]) -> str:
    """One line on how classes were decided, and how far probabilities are off."""
    limits, error = result["threshold"], percent(result["calibration_error"])
    how = f"{limits:g}" if isinstance(limits, float) else f"{min(limits):.2f} to {max(limits):.2f}, fitted by class"
    return f"present from probability {how}; calibration error of probabilities {error} %"


def _intervals(low: Sequence[float | None], high: Sequence[float | None]) -> list[str]:
    return ["—" if a is None or b is None else f"{percent(a)} … {percent(b)}" for a, b in zip(low, high, strict=True)]
