"""Commands that use a trained model's scores."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from trilabel.cli.common import Source, UsageError, read_data_or_own
from trilabel.cli.render import percent, print_json, print_metrics, print_table
from trilabel.errors import TrilabelError


@dataclass(frozen=True, kw_only=True)
class Evaluate(Source):
    """Scores a run's best model on a split, over its known labels.

    Example: trilabel evaluate runs/first labels.csv --images photos --split test
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")] = ""
    """The data to score on; none: what the run was trained on, with nothing hidden."""
    split: str = "test"
    """The split to score."""
    threshold: float = 0.5
    """Probability from which a class counts as predicted (F1 and the like; mAP needs none)."""
    common_classes: bool = False
    """Score only classes that data and model share."""
    per_class: bool = False
    """Also list the average precision of each class."""
    pointing: bool = False
    """Also play the pointing game: does the class map of a present class peak inside a box of it? Needs boxes."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does."""
    device: str = "auto"
    json: bool = False
    """Print all metrics as JSON."""

    def __call__(self) -> None:
        import numpy as np

        from trilabel.inference.predictor import load
        from trilabel.log import log, truncate_list

        dataset = read_data_or_own(self.data, self.options(), self.run)
        model = load(self.run, self.device)
        result = model.evaluate(
            dataset, self.split, self.threshold, self.common_classes, broken=self.broken, pointing=self.pointing
        )
        present, absent = dataset.labels[dataset.rows_of(self.split)].counts_per_class()
        one_sided = [dataset.classes[int(column)] for column in np.flatnonzero((present > 0) & (absent == 0))]
        if absent.any() and one_sided:
            log.warning(
                f"{truncate_list(one_sided)}: no negative of them is known in split {self.split!r}, so their AP is 100 "
                "whatever is predicted, and mAP too high"
            )
        if not absent.any():
            log.warning(
                f"no label of split {self.split!r} is known to be absent, so no prediction can be wrong: only the "
                "recall says something; label some images fully"
            )
        if self.json:
            return print_json(result)
        print_metrics(result, f"{self.split}: {result['images']:,} images, {result['known_share']:.1%} of labels known")
        if self.pointing:
            pairs = f"{result['pointing_game_pairs']:,} present classes of images"
            print(f"pointing game: {percent(result['pointing_game'])} % of {pairs} peak inside a box of theirs")
        if self.per_class:
            kept = [name for name in dataset.classes if name not in result["left_out_classes"]]
            rows = [[name, percent(value)] for name, value in zip(kept, result["per_class_ap"], strict=True)]
            if self.pointing:
                shares = result["per_class_pointing_game"]
                rows = [[*row, percent(shares.get(row[0]))] for row in rows]
            print_table(["class", "AP %", *(["pointing %"] if self.pointing else [])], rows)
        return None


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Predicts the classes of images, to a table (.csv) or records (.json).

    Example: trilabel predict runs/first photos --out predictions.csv
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    images: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="IMAGES …")]
    """A folder (searched with its sub-folders), or image files."""
    out: Path | None = None
    """Where to write: .csv or .json; none: a line an image on standard output."""
    threshold: float = 0.5
    """Probability from which a class is listed as present."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does."""
    batch_size: int = 64
    workers: int | None = None
    device: str = "auto"
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the records as JSON."""

    def __call__(self) -> None:
        from trilabel.data.image_paths import find_images
        from trilabel.inference.predictor import load
        from trilabel.log import log

        if not self.images:
            raise UsageError("name a folder of images, or image files")
        if self.out is not None and self.out.suffix not in (".csv", ".json"):
            raise UsageError(f"--out {self.out}: the name must end in .csv or .json")
        if self.out is not None and self.out.exists() and not self.overwrite:
            raise TrilabelError(f"{self.out}: this file exists; choose another, or pass --overwrite")
        model = load(self.run, self.device)
        files = [file for given in self.images for file in find_images(given)]
        found = model.predict(files, self.batch_size, self.workers, self.broken)
        if found.left_out:
            log.warning(f"{len(found.left_out)} images left out; the first: {found.left_out[0]}")
        if self.out is not None:
            found.to_csv(self.out) if self.out.suffix == ".csv" else found.to_json(self.out, self.threshold)
        if self.json:
            return print_json(found.to_records(self.threshold))
        if self.out is not None:
            return print(f"{self.out}: {len(found.ids):,} images × {len(found.classes):,} classes")
        for record in found.to_records(self.threshold):
            classes = "  ".join(f"{name} {record['scores'][name]:.2f}" for name in record["present"])
            print(f"{record['image']}\t{classes or '(none)'}")
        return None
