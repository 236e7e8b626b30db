"""Using a trained model: probabilities, metrics and class maps for files, arrays or data sets."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.images import open_images
from trilabel.data.left_out import log_left_out
from trilabel.errors import TrilabelError
from trilabel.inference.activation import ClassActivation, display_image
from trilabel.inference.arrays import arrays_to_images, resize_all, separate
from trilabel.inference.evaluation import evaluate
from trilabel.inference.opened import DIVERGED, Broken, Opened, Options, find_paths
from trilabel.inference.pointing import PointingGame
from trilabel.inference.predictions import Predictions
from trilabel.inference.trust import doubts, unfinished
from trilabel.labels.names import Names
from trilabel.log import log
from trilabel.models import Classifier
from trilabel.models.device import choose_device
from trilabel.models.scoring import OnBatch, Scorer
from trilabel.plugin_files import Files
from trilabel.plugin_files import trust as trust_files
from trilabel.printable import plural
from trilabel.training.decisions import Decisions
from trilabel.training.run_folder import Run, RunFolder


def load(run: str | Path | Run, device: str = "auto", trust: Files = ()) -> "Model":
    """The model of a run's best epoch.

    trust: Python files of your own that hold the head of the run, if it is not one of ours. A run folder itself never
        runs a file.
    """
    trust_files(trust)
    folder = RunFolder(run.folder if isinstance(run, Run) else Path(run))
    classifier, about = folder.classifier()
    model = Model(classifier, about.classes, choose_device(device), about.config, str(folder.path))
    model.annotations, model.seen_images = folder.annotations, folder.seen_images
    model.unfinished = lambda: unfinished(about.config, folder.read_history(), folder.best_record())
    if folder.decisions.is_file():
        model.decisions = Decisions.load(folder.decisions, len(about.classes))
    return model


class Model:
    """A trained classifier with its class names and the preparation of its images.

    Its methods share three options: `batch_size`; `workers`, the processes that decode files (None: one per CPU, at
    most 16); and `broken`, whether an image that cannot be read is an error ("stop") or left out ("skip").
    """

    def __init__(
        self,
        classifier: Classifier,
        classes: Sequence[str],
        device: torch.device,
        config: Config | None = None,
        name: str = "the model",
    ) -> None:
        """config: the run's configuration, for precision and memory layout on a GPU; without it all is float32.

        name: what messages call the model, such as its run folder.
        """
        self.name = name
        # Gives the number of known training labels of each class, for mAP by groups of classes.
        self.annotations: Callable[[], NDArray[np.int64] | None] = lambda: None
        # Gives the ids of the images that it was trained on, and of those that chose its epoch.
        self.seen_images: Callable[[], tuple[Sequence[str], Sequence[str]]] = lambda: ((), ())
        # Says whether the run that it is of has epochs before it.
        self.unfinished: Callable[[], list[str]] = list
        self.classifier = classifier.to(device).eval()
        self.context: Callable[[], AbstractContextManager[object]] = nullcontext
        if config is not None and device.type == "cuda":
            if config.precision == "bf16":
                self.context = partial(torch.autocast, "cuda", torch.bfloat16)
            if config.channels_last:
                self.classifier = self.classifier.to(memory_format=torch.channels_last)
        # How logits become probabilities, and from which one classes count as present; None: as they are, from a half.
        self.decisions: Decisions | None = None
        self.classes = Names(classes)
        self.device = device
        self.views = Views(classifier.backbone.mean, classifier.backbone.std)

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {plural(len(self.classes), 'class')}, {self.image_size} pixels, on {self.device})"

    @property
    def image_size(self) -> int:
        """Pixels per side that images are resized to."""
        return self.classifier.backbone.image_size

    def predict(
        self, images: Any, batch_size: int = 64, workers: int | None = None, broken: Broken = "stop"
    ) -> Predictions:
        """Probabilities for a folder, a file, a list of files, or images as arrays.

        Arrays: N×H×W×3 or N×3×H×W, uint8 or float in [0, 1]; or a list of H×W×3 arrays of any sizes.
        """
        options, paths = Options(batch_size, workers, broken), find_paths(images)
        if paths is not None:
            ids, opened = paths, self._open(None, paths, options)
        else:
            arrays = arrays_to_images(images, self.image_size)
            ids, opened = [str(number) for number in range(len(arrays))], self._open(arrays, None, options)
        logits, positions, messages = opened.score("predicting", ids.__getitem__)
        kept = [ids[position] for position in positions.tolist()]
        return Predictions(
            kept, self.classes, self._calibrated(logits).sigmoid().numpy(), tuple(messages), self.thresholds
        )

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The probability from which each class counts as present."""
        return (0.5,) * len(self.classes) if self.decisions is None else tuple(self.decisions.thresholds)

    def _calibrated(self, logits: Tensor) -> Tensor:
        return logits if self.decisions is None else self.decisions.logits(logits)

    def maps(
        self, images: Any, batch_size: int = 16, workers: int | None = None, broken: Broken = "stop"
    ) -> Iterator[ClassActivation]:
        """Class activation maps of images given as for `predict`; only one batch is in memory at a time.

        Images that are left out are logged as warnings.
        """
        options, paths = Options(batch_size, workers, broken), find_paths(images)
        if paths is not None:
            yield from self._activations(paths, None, paths, options)
        else:
            arrays = list(separate(images))
            yield from self._activations([str(number) for number in range(len(arrays))], arrays, None, options)

    def dataset_maps(
        self,
        dataset: Dataset,
        rows: NDArray[np.int64],
        batch_size: int = 16,
        workers: int | None = None,
        broken: Broken = "stop",
    ) -> Iterator[ClassActivation]:
        """`maps` of these rows of a data set."""
        images, paths = dataset.images_of(rows)
        ids, arrays = [dataset.ids[row] for row in rows.tolist()], None if images is None else list(images)
        yield from self._activations(ids, arrays, paths, Options(batch_size, workers, broken))

    def evaluate(
        self,
        dataset: Dataset,
        split: str = "test",
        threshold: float | None = None,
        common_classes: bool = False,
        batch_size: int = 64,
        workers: int | None = None,
        broken: Broken = "stop",
        pointing: bool = False,
        intervals: bool = False,
        calibrated: bool = True,
    ) -> dict[str, Any]:
        """Metrics on a split of a data set, over its known labels, with `warnings` of what they cannot show.

        threshold: the probability from which a class counts as present; None: the fitted one of each class. calibrated:
        whether probabilities are those that `predict` gives, or as the network gives them.
        Classes are matched by name. One that the model does not have is an error unless `common_classes` leaves such
        classes out. `pointing` adds the pointing game: "pointing_game", "pointing_game_pairs" (the number of present
        classes of images it was played with), "per_class_pointing_game" and its mean "pointing_game_by_class"; it needs
        boxes. `intervals` adds "per_class_ap_low" and "per_class_ap_high" (95 %, see
        `metrics.average_precision_intervals`).
        """
        label_columns, model_columns, missing = self._match_classes(dataset.classes, common_classes)
        rows = dataset.rows_of(split)
        if not len(rows):
            raise TrilabelError(f"split {split!r} has no images to score")
        game = None
        if pointing:
            if dataset.boxes is None or not np.isin(dataset.boxes.image, rows).any():
                raise TrilabelError(f"split {split!r} has no boxes: the pointing game needs them")
            game = PointingGame(dataset.boxes, dataset.labels, label_columns, model_columns)
        on_batch = None if game is None else game.add
        logits, rows = self.score_rows(dataset, rows, batch_size, workers, broken, pointing, on_batch)
        truth = dataset.labels[rows][:, label_columns]
        counts = self.annotations()
        annotations = None if counts is None else counts[model_columns]
        scores = (self._calibrated(logits) if calibrated else logits)[:, model_columns]
        limits = [self.thresholds[column] for column in model_columns] if threshold is None else threshold
        result = evaluate(scores, truth, limits, annotations, intervals)
        result |= {
            "split": split,
            "left_out_classes": missing,
            "warnings": self.unfinished() + doubts(truth, split, *self.seen_images()),
        }
        return result if game is None else result | game.result()

    def score_rows(
        self,
        dataset: Dataset,
        rows: NDArray[np.int64],
        batch_size: int = 64,
        workers: int | None = None,
        broken: Broken = "stop",
        class_maps: bool = False,
        on_batch: OnBatch | None = None,
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """(images × classes logits, their rows) for these rows of a data set, without images that could not be read.

        `on_batch` receives the rows and the whole output of each batch, with class maps if `class_maps`.
        """
        opened = self._open(*dataset.images_of(rows), Options(batch_size, workers, broken))
        to_rows = None if on_batch is None else lambda positions, output: on_batch(rows[positions], output)
        logits, positions, messages = opened.score(
            "scoring", lambda position: dataset.ids[int(rows[position])], class_maps, to_rows
        )
        log_left_out(messages, len(rows))
        return logits, rows[positions]

    def _match_classes(
        self, classes: Sequence[str], common_classes: bool
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
        """(columns of the labels, the model's columns for the same classes, classes that the model does not have)."""
        columns = self.classes.positions(Names(classes))
        missing = [name for name, column in zip(classes, columns, strict=True) if column < 0]
        if missing and not common_classes:
            raise TrilabelError(
                f"the data has {plural(len(missing), 'class')} that the model does not have, e.g. {missing[0]!r}; "
                "train with them, or score the common ones only with --common-classes"
            )
        if len(missing) == len(columns):
            raise TrilabelError("the data and the model have no class in common")
        common = np.flatnonzero(columns >= 0)
        return common, columns[common], missing

    def _open(self, images: Tensor | None, paths: Sequence[str] | None, options: Options) -> Opened:
        size, skip = self.image_size, options.broken == "skip"
        source, errors = open_images(images, paths, size, self.device, "none", options.workers, options.broken)
        positions = np.delete(np.arange(len(source) + len(errors)), [position for position, _ in errors])
        scorer = Scorer(
            self.classifier, self.views.plain, len(self.classes), options.batch_size, self.context, skip_broken=skip
        )
        return Opened(source, positions, [message for _, message in errors], scorer, self.name)

    def _activations(
        self, ids: Sequence[str], arrays: Sequence[Tensor] | None, paths: Sequence[str] | None, options: Options
    ) -> Iterator[ClassActivation]:
        """The images are `arrays` (3×H×W uint8, of any sizes) or `paths`."""
        originals = arrays if arrays is not None else paths or ()
        opened = self._open(None if arrays is None else resize_all(arrays, self.image_size), paths, options)
        for message in opened.errors:
            log.warning(f"left out: {message}")
        for batch, output in opened.scorer.outputs(opened.source, class_maps=True):
            for _, message in batch.failed:
                log.warning(f"left out: {message}")
            if output is None or output.maps is None:
                continue
            chances = self._calibrated(output.logits.float()).sigmoid()
            probabilities, maps = (part.float().cpu().numpy() for part in (chances, output.maps))
            positions = opened.positions[batch.positions].tolist()
            for position, of_image, maps_of_image in zip(positions, probabilities, maps, strict=True):
                if np.isnan(of_image).any() or not np.isfinite(maps_of_image).all():
                    raise TrilabelError(
                        f"{self.name}: gives class maps or scores that are not finite for image {ids[position]!r}; "
                        f"{DIVERGED}"
                    )
                yield ClassActivation(ids[position], display_image(originals[position]), of_image, maps_of_image)
