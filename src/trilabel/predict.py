"""Using a trained model: scores for files, arrays or data sets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel import checkpoint, metrics
from trilabel.data.dataset import Dataset
from trilabel.data.folder import find_images
from trilabel.data.images import ImageSource, Trouble, open_images, resized
from trilabel.data.views import Views
from trilabel.errors import TrilabelError
from trilabel.files import replacing, write_text
from trilabel.models import Classifier, create_model
from trilabel.names import Names
from trilabel.run_folder import Run, RunFolder
from trilabel.scoring import score


@dataclass(frozen=True)
class Predictions:
    """Probabilities of every class for every image."""

    ids: list[str]
    classes: Sequence[str]
    scores: NDArray[np.float32]  # images × classes, in [0, 1]
    left_out: tuple[str, ...] = ()  # what was wrong with images that could not be read

    def to_csv(self, path: str | Path) -> None:
        """A table with a row an image and a column a class."""
        import pandas as pd

        table = pd.DataFrame(self.scores, columns=list(self.classes))
        table.insert(0, "image", self.ids, allow_duplicates=True)  # a class may be called so too
        with replacing(path) as temporary:
            table.to_csv(temporary, index=False, float_format="%.6g")

    def to_records(self, threshold: float = 0.5) -> list[dict[str, Any]]:
        """A plain record an image: its id, the classes at or above the threshold, and all scores."""
        names = list(self.classes)
        records = []
        for name, row in zip(self.ids, self.scores.tolist(), strict=True):
            by_class = dict(zip(names, row, strict=True))
            present = sorted((cls for cls in names if by_class[cls] >= threshold), key=lambda cls: -by_class[cls])
            rounded = {cls: round(value, 6) for cls, value in by_class.items()}
            records.append({"image": name, "present": present, "scores": rounded})
        return records

    def to_json(self, path: str | Path, threshold: float = 0.5) -> None:
        """`to_records` as a JSON file."""
        write_text(path, json.dumps(self.to_records(threshold), ensure_ascii=False, indent=1))


class Model:
    """A trained classifier with its class names and the way it wants its images."""

    def __init__(self, classifier: Classifier, classes: Sequence[str], device: torch.device) -> None:
        self.classifier = classifier.to(device).eval()
        self.classes = Names(classes)
        self.device = device
        self.views = Views(classifier.backbone.mean, classifier.backbone.std)

    @property
    def image_size(self) -> int:
        """Pixels a side that images are resized to."""
        return self.classifier.backbone.image_size

    def predict(
        self,
        images: Any,
        batch_size: int = 64,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
    ) -> Predictions:
        """Probabilities for a folder, a file, a list of files, or images as arrays.

        Arrays: N×H×W×3 or N×3×H×W, uint8 or float in [0, 1]; or a list of H×W×3 arrays of any sizes.
        """
        images = find_images(images) if isinstance(images, str | Path) else images
        if isinstance(images, Sequence) and images and isinstance(images[0], str | Path):
            arrays, ids = None, [str(path) for path in images]
        else:
            arrays = arrays_to_images(images, self.image_size)
            ids = [str(position) for position in range(len(arrays))]
        source, trouble = open_images(arrays, ids, self.image_size, self.device, "none", workers, broken)
        logits, failed = self._score(source, batch_size, broken == "skip", "predicting")
        logits, places = _without(logits, np.arange(len(ids)), trouble, failed)
        messages = tuple(message for _, message in [*trouble, *failed])
        return Predictions([ids[place] for place in places], self.classes, logits.sigmoid().numpy(), messages)

    def evaluate(
        self,
        dataset: Dataset,
        split: str = "test",
        threshold: float = 0.5,
        common_classes: bool = False,
        batch_size: int = 64,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
    ) -> dict[str, Any]:
        """Metrics on a split of a data set, over its known labels.

        Classes are matched by name. One that the model does not have is an error unless `common_classes` leaves such
        classes out.
        """
        columns = self.classes.positions(Names(dataset.classes))
        missing = [name for name, column in zip(dataset.classes, columns, strict=True) if column < 0]
        if missing and not common_classes:
            raise TrilabelError(
                f"the data has {len(missing)} classes that the model does not know, e.g. {missing[0]!r}; "
                "train with them, or score the common ones only with --common-classes"
            )
        if len(missing) == len(columns):
            raise TrilabelError("the data and the model have no class in common")
        rows = dataset.rows_of(split)
        if not len(rows):
            raise TrilabelError(f"split {split!r} has no images to score")
        logits, rows = self.score_rows(dataset, rows, batch_size, workers, broken)
        kept = np.flatnonzero(columns >= 0)
        truth = dataset.labels[rows][:, kept]
        cut = (
            float(np.log(threshold / (1 - threshold))) if 0 < threshold < 1 else (np.inf if threshold >= 1 else -np.inf)
        )
        result = metrics.evaluate(logits[:, columns[kept]], truth, threshold=cut)
        return {**result, "split": split, "threshold": threshold, "left_out_classes": missing}

    def score_rows(
        self,
        dataset: Dataset,
        rows: NDArray[np.int64],
        batch_size: int = 64,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """(logits, rows): images × classes for these rows of a data set, less those that could not be read."""
        images, paths = dataset.images_of(rows)
        source, trouble = open_images(images, paths, self.image_size, self.device, "none", workers, broken)
        logits, failed = self._score(source, batch_size, broken == "skip", "scoring")
        return _without(logits, rows, trouble, failed)

    def _score(self, source: ImageSource, batch_size: int, skip: bool, what: str) -> tuple[Tensor, list[Trouble]]:
        return score(
            self.classifier, source, self.views.plain, len(self.classes), batch_size, skip_broken=skip, what=what
        )


def _without(
    logits: Tensor, rows: NDArray[np.int64], trouble: list[Trouble], failed: list[Trouble]
) -> tuple[Tensor, NDArray[np.int64]]:
    """Logits and rows of the images that were scored: some were in `trouble` before, others `failed` in decoding."""
    rows = np.delete(rows, [position for position, _ in trouble])
    good = np.delete(np.arange(len(rows)), [position for position, _ in failed])
    return logits[torch.from_numpy(good)], rows[good]


def arrays_to_images(images: Any, size: int, first: int = 0) -> Tensor:
    """Images as arrays -> N×3×size×size uint8; refuses what is not finite or not in range, naming the image.

    `first` is the number of the first one, for messages.
    """
    if isinstance(images, Sequence):
        parts = [arrays_to_images(_array(image, place)[None], size, place) for place, image in enumerate(images)]
        return torch.cat(parts) if parts else torch.zeros((0, 3, size, size), dtype=torch.uint8)
    batch = images if isinstance(images, Tensor) else torch.from_numpy(_array(images, first))
    if batch.ndim == 4 and batch.shape[1] != 3 and batch.shape[3] == 3:
        batch = batch.permute(0, 3, 1, 2)
    if batch.ndim != 4 or batch.shape[1] != 3:
        raise TrilabelError(
            f"image array {first}: images are N×H×W×3 or N×3×H×W, or a list of H×W×3; this is {tuple(batch.shape)}"
        )
    if not batch.shape[2] or not batch.shape[3]:
        raise TrilabelError(f"image array {first}: no pixels in {tuple(batch.shape)}")
    if batch.is_floating_point():
        bad = ~torch.isfinite(batch).flatten(1).all(1) | (batch.flatten(1).amin(1) < 0) | (batch.flatten(1).amax(1) > 1)
        if bad.any():
            place = first + int(bad.nonzero()[0])
            raise TrilabelError(f"image array {place}: float images are finite and in [0, 1]; give uint8 for 0…255")
        batch = (batch * 255).round().to(torch.uint8)
    if batch.dtype != torch.uint8:
        raise TrilabelError(f"image array {first}: images are uint8 or float in [0, 1], not {batch.dtype}")
    return resized(batch, size)


def _array(image: Any, place: int) -> NDArray[Any]:
    try:
        # torch takes no mirrored views, such as BGR turned to RGB, and warns of what cannot be written to
        array: NDArray[Any] = np.require(image, requirements=["C", "W"])
    except (TypeError, ValueError) as error:
        raise TrilabelError(f"image array {place}: not an array ({error})") from error
    if array.dtype.kind not in "buif" or array.dtype.itemsize > 8:
        raise TrilabelError(f"image array {place}: images are uint8 or float in [0, 1], not {array.dtype}")
    return array


def load(run: str | Path | Run, device: str = "auto") -> Model:
    """The model of a run's best epoch."""
    folder = RunFolder(run.folder if isinstance(run, Run) else Path(run))
    about = folder.read()
    config = about["config"]
    file = folder.best
    tensors, _ = checkpoint.load(file, "model.")
    classifier = create_model(config.backbone, config.head, len(about["classes"]), None, about["image_size"])
    try:
        classifier.load_state_dict(checkpoint.part("model", tensors))
    except RuntimeError as error:
        raise TrilabelError(
            f"{file}: does not fit the model in config.json ({str(error).splitlines()[-1].strip()})"
        ) from error
    name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    return Model(classifier, about["classes"], torch.device(name))
