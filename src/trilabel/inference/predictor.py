"""Using a trained model: scores and class maps for files, arrays or data sets."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import ExifTags, Image
from torch import Tensor
from torch.nn import functional as F

from trilabel import metrics
from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.boxes import Boxes, BoxesByImage
from trilabel.data.dataset import Dataset
from trilabel.data.image_paths import find_images
from trilabel.data.images import ImageError, decode, in_order, open_images, resized
from trilabel.errors import TrilabelError
from trilabel.files import replacing, write_text
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.log import log
from trilabel.models import Classifier, Output
from trilabel.models.scoring import outputs, score
from trilabel.training.run_folder import Run, RunFolder

_LONGEST = 512  # pixels of the longer side of a picture to look at
_SIDEWAYS = (5, 6, 7, 8)  # orientations noted by cameras that exchange width and height


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


class ClassActivation(NamedTuple):
    """An image, and where the model sees each class in it."""

    id: str
    image: NDArray[np.uint8]  # H×W×3 in its own proportions, for a person to look at
    probabilities: NDArray[np.float32]  # C
    maps: NDArray[np.float32]  # C×h×w cells that cover the whole image: the higher, the more speaks for the class


class Model:
    """A trained classifier with its class names and the way it wants its images."""

    def __init__(
        self, classifier: Classifier, classes: Sequence[str], device: torch.device, config: Config | None = None
    ) -> None:
        """config: of the run, whose precision is kept on a GPU; without it everything is in float32."""
        self.classifier = classifier.to(device).eval()
        self.context: Callable[[], AbstractContextManager[object]] = nullcontext
        if config is not None and device.type == "cuda":
            if config.precision == "bf16":
                self.context = partial(torch.autocast, "cuda", torch.bfloat16)
            if config.channels_last:
                self.classifier = self.classifier.to(memory_format=torch.channels_last)
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
        paths = _paths(images)
        arrays = arrays_to_images(images, self.image_size) if paths is None else None
        ids = [str(position) for position in range(len(arrays))] if arrays is not None else paths or []
        source, trouble = open_images(arrays, ids, self.image_size, self.device, "none", workers, broken)
        skip, classes = broken == "skip", len(self.classes)
        logits, failed = score(
            self.classifier,
            source,
            self.views.plain,
            classes,
            batch_size,
            context=self.context,
            skip_broken=skip,
            what="predicting",
        )
        logits, places = _without(logits, np.arange(len(ids)), trouble, failed)
        messages = tuple(message for _, message in [*trouble, *failed])
        return Predictions([ids[place] for place in places], self.classes, logits.sigmoid().numpy(), messages)

    def maps(
        self,
        images: Any,
        batch_size: int = 16,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
    ) -> Iterator[ClassActivation]:
        """Class maps of a folder, a file, a list of files, or images as arrays, a batch in memory at a time.

        Images as for `predict`. A broken one stops, or is left out with a warning.
        """
        paths = _paths(images)
        if paths is not None:
            yield from self._looks(paths, None, paths, batch_size, workers, broken)
            return
        if isinstance(images, Sequence):
            originals = [_pixels(_array(image, place)[None], place)[0] for place, image in enumerate(images)]
        else:
            originals = list(_pixels(images, 0))
        ids = [str(place) for place in range(len(originals))]
        yield from self._looks(ids, originals, None, batch_size, workers, broken)

    def maps_of_rows(
        self,
        dataset: Dataset,
        rows: NDArray[np.int64],
        batch_size: int = 16,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
    ) -> Iterator[ClassActivation]:
        """Class maps of these rows of a data set, as `maps`."""
        images, paths = dataset.images_of(rows)
        ids = [dataset.ids[row] for row in rows.tolist()]
        yield from self._looks(ids, None if images is None else list(images), paths, batch_size, workers, broken)

    def evaluate(
        self,
        dataset: Dataset,
        split: str = "test",
        threshold: float = 0.5,
        common_classes: bool = False,
        batch_size: int = 64,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
        pointing: bool = False,
    ) -> dict[str, Any]:
        """Metrics on a split of a data set, over its known labels.

        Classes are matched by name. One that the model does not have is an error unless `common_classes` leaves such
        classes out. `pointing` adds the pointing game: "pointing_game", "pointing_game_pairs" (how many present classes
        of images it was played with), "per_class_pointing_game" and its mean "pointing_game_by_class"; it needs boxes.
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
        kept = np.flatnonzero(columns >= 0)
        game = None
        if pointing:
            if dataset.boxes is None or not np.isin(dataset.boxes.image, rows).any():
                raise TrilabelError(f"split {split!r} has no boxes: the pointing game needs to know where objects are")
            game = _PointingGame(dataset.boxes, dataset.labels, kept, columns[kept])
        logits, rows = self.score_rows(dataset, rows, batch_size, workers, broken, maps=pointing, seen=game)
        truth = dataset.labels[rows][:, kept]
        cut = (
            float(np.log(threshold / (1 - threshold))) if 0 < threshold < 1 else (np.inf if threshold >= 1 else -np.inf)
        )
        result = metrics.evaluate(logits[:, columns[kept]], truth, threshold=cut)
        result |= {"split": split, "threshold": threshold, "left_out_classes": missing}
        return result if game is None else result | game.result()

    def score_rows(
        self,
        dataset: Dataset,
        rows: NDArray[np.int64],
        batch_size: int = 64,
        workers: int | None = None,
        broken: Literal["stop", "skip"] = "stop",
        maps: bool = False,
        seen: Callable[[NDArray[np.int64], Output], None] | None = None,
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """(logits, rows): images × classes for these rows of a data set, less those that could not be read.

        `seen` is handed the rows and the whole output of each batch, with class maps where `maps` are asked for.
        """
        images, paths = dataset.images_of(rows)
        source, trouble = open_images(images, paths, self.image_size, self.device, "none", workers, broken)
        opened = np.delete(rows, [position for position, _ in trouble])
        logits, failed = score(
            self.classifier,
            source,
            self.views.plain,
            len(self.classes),
            batch_size,
            context=self.context,
            skip_broken=broken == "skip",
            what="scoring",
            maps=maps,
            seen=None if seen is None else lambda positions, output: seen(opened[positions], output),
        )
        if messages := [message for _, message in [*trouble, *failed]]:
            log.warning(f"{len(messages)} of {len(rows)} images left out; the first: {messages[0]}")
        return _without(logits, rows, trouble, failed)

    def _looks(
        self,
        ids: Sequence[str],
        originals: Sequence[Tensor] | None,
        paths: Sequence[str] | None,
        batch_size: int,
        workers: int | None,
        broken: Literal["stop", "skip"],
    ) -> Iterator[ClassActivation]:
        """`originals` (3×H×W uint8, of any sizes) or `paths` are the images."""
        size, pictures = self.image_size, originals if originals is not None else paths or ()
        none = torch.zeros((0, 3, size, size), dtype=torch.uint8)
        arrays = None if originals is None else torch.cat([none, *(resized(image[None], size) for image in originals)])
        source, trouble = open_images(arrays, paths, size, self.device, "none", workers, broken)
        opened = np.delete(np.arange(len(ids)), [position for position, _ in trouble])
        batches = in_order(len(source), batch_size)
        for _, message in trouble:
            log.warning(f"left out: {message}")
        skip = broken == "skip"
        for drawn, output in outputs(self.classifier, source, self.views.plain, batches, True, skip, self.context):
            for _, message in drawn.failed:
                log.warning(f"left out: {message}")
            if output is None or output.maps is None:
                continue
            probabilities, maps = (part.float().cpu().numpy() for part in (output.logits.sigmoid(), output.maps))
            for place, row, its_maps in zip(opened[drawn.positions].tolist(), probabilities, maps, strict=True):
                if not np.isfinite(its_maps).all():
                    raise TrilabelError(f"{ids[place]}: its class maps are not finite; check how the run went")
                yield ClassActivation(ids[place], picture(pictures[place]), row, its_maps)


class _PointingGame:
    """Plays the pointing game batch by batch, on columns `kept` of the labels; `columns` are the model's for them."""

    def __init__(self, boxes: Boxes, labels: Labels, kept: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        place = np.full(labels.shape[1], -1)
        place[kept] = np.arange(len(kept))
        ours = place[boxes.cls] >= 0
        self.boxes = BoxesByImage(Boxes(boxes.image[ours], place[boxes.cls[ours]], boxes.xyxy[ours]))
        self.labels, self.kept, self.columns = labels, kept, columns
        self.counts = np.zeros((2, len(kept)), np.int64)

    def __call__(self, rows: NDArray[np.int64], output: Output) -> None:
        """Counts a batch."""
        if output.maps is not None:
            maps, truth = output.maps[:, self.columns], self.labels.rows(rows)[:, self.kept]
            self.counts += metrics.pointing_counts(maps, truth, self.boxes.of(rows))

    def result(self) -> dict[str, Any]:
        """What `Model.evaluate` adds to its numbers."""
        hits, pairs = self.counts
        names = [self.labels.classes[column] for column in self.kept.tolist()]
        shares = {name: hit / of for name, hit, of in zip(names, hits.tolist(), pairs.tolist(), strict=True) if of}
        total = int(pairs.sum())
        share = int(hits.sum()) / total if total else None
        by_class = sum(shares.values()) / len(shares) if shares else None
        return {
            "pointing_game": share,
            "pointing_game_by_class": by_class,
            "pointing_game_pairs": total,
            "per_class_pointing_game": shares,
        }


def _paths(images: Any) -> list[str] | None:
    """The image files that are meant by a folder, a file or a list of files; None where images are arrays."""
    images = find_images(images) if isinstance(images, str | Path) else images
    if isinstance(images, Sequence) and images and isinstance(images[0], str | Path):
        return [str(path) for path in images]
    return None


def picture(image: Tensor | str) -> NDArray[np.uint8]:
    """An image (3×H×W uint8) or image file for a person to look at: H×W×3, its longer side at most 512 pixels.

    Models have images squashed to a square; this one has its own proportions.
    """
    if isinstance(image, Tensor):
        height, width = image.shape[1:]
    else:
        with Image.open(image) as file:
            width, height = file.size
            try:
                sideways = file.getexif().get(ExifTags.Base.Orientation) in _SIDEWAYS
            except Exception:  # `decode` does not turn an image with a damaged note either
                sideways = False
        height, width = (width, height) if sideways else (height, width)
        image = decode(image, min(_LONGEST, max(height, width)))
    scale = min(1.0, _LONGEST / max(height, width))
    size = [max(1, round(scale * side)) for side in (height, width)]
    if list(image.shape[1:]) != size:
        smooth = F.interpolate(image[None].float(), size, mode="bilinear", antialias=True)[0]
        image = smooth.round().clamp(0, 255).to(torch.uint8)
    pixels: NDArray[np.uint8] = image.permute(1, 2, 0).cpu().numpy()
    return pixels


def _without(
    logits: Tensor, rows: NDArray[np.int64], trouble: list[ImageError], failed: list[ImageError]
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
    return resized(_pixels(images, first), size)


def _pixels(images: Any, first: int) -> Tensor:
    """An array of images as N×3×H×W uint8."""
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
    return batch


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
    classifier, about = RunFolder(run.folder if isinstance(run, Run) else Path(run)).classifier()
    name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    return Model(classifier, about.classes, torch.device(name), about.config)
