"""`trilabel evaluate`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import trilabel as tl
from trilabel.cli.arguments import Broken, OptionalDataPath, RunPath, require_probability
from trilabel.cli.data_options import DataOptions, Reading, read_data_or_own
from trilabel.cli.render import percent, print_json, print_line, print_metrics, print_table
from trilabel.log import log, truncate_list

if TYPE_CHECKING:
    from trilabel.data import Dataset


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Scores the best model of a run on a split, over its known labels.

    Example: trilabel evaluate runs/first labels.csv --images photos --split test
    """

    run: RunPath
    """The run folder."""
    data: OptionalDataPath = ""
    """The data to score on; none: the data that the run was trained on, with no labels hidden."""
    split: str = "test"
    """The split to score."""
    threshold: float = 0.5
    """Probability from which a class counts as predicted present (for F1 and similar metrics; mAP needs none)."""
    common_classes: bool = False
    """Score only the classes that data and model have in common."""
    per_class: bool = False
    """Also list the average precision of each class."""
    pointing: bool = False
    """Also play the pointing game: is the highest value of the class activation map of a present class inside one of
    its boxes? Needs boxes."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out and counted."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    json: bool = False
    """Print all metrics as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        require_probability(threshold=self.threshold)
        dataset = read_data_or_own(self.data, self.reading.chosen(), self.run)
        result = tl.load(self.run, self.device).evaluate(
            dataset, self.split, self.threshold, self.common_classes, broken=self.broken, pointing=self.pointing
        )
        _warn_where_nothing_can_be_wrong(dataset, self.split)
        if self.json:
            return print_json(result)
        print_metrics(result, f"{self.split}: {result['images']:,} images, {result['known_share']:.1%} of labels known")
        if self.pointing:
            pairs = f"{result['pointing_game_pairs']:,} present classes of images"
            print_line(f"pointing game: {percent(result['pointing_game'])} % of {pairs} peak inside one of their boxes")
        if self.per_class:
            self._print_classes(result, dataset.classes)
        return None

    def _print_classes(self, result: Mapping[str, Any], classes: Sequence[str]) -> None:
        kept = [name for name in classes if name not in result["left_out_classes"]]
        rows = [[name, percent(value)] for name, value in zip(kept, result["per_class_ap"], strict=True)]
        if self.pointing:
            shares = result["per_class_pointing_game"]
            rows = [[*row, percent(shares.get(row[0]))] for row in rows]
        print_table(["class", "AP %", *(["pointing %"] if self.pointing else [])], rows)


def _warn_where_nothing_can_be_wrong(dataset: "Dataset", split: str) -> None:
    """Without known negatives every order of the images is perfect, and so is the average precision."""
    positives, negatives = dataset.labels[dataset.rows_of(split)].counts_per_class()
    if not negatives.any():
        log.warning(
            f"no label of split {split!r} is known to be absent, so no prediction can be wrong: only recall is "
            "meaningful; label some images fully"
        )
        return
    pairs = zip(dataset.classes, positives, negatives, strict=True)
    if one_sided := [name for name, present, absent in pairs if present and not absent]:
        log.warning(
            f"{truncate_list(one_sided)}: split {split!r} has no known negative of them, so their AP is 100 whatever "
            "is predicted, and mAP is too high"
        )
