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
from trilabel.data import read
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.data.images import open_images
from trilabel.data.left_out import log_left_out
from trilabel.errors import TrilabelError
from trilabel.inference.activation import ClassActivation, activations
from trilabel.inference.arrays import arrays_to_images, separate
from trilabel.inference.evaluation import Evaluating, match_classes
from trilabel.inference.export.loaded import ExportedNetwork
from trilabel.inference.opened import Broken, Opened, Options, find_paths
from trilabel.inference.pointing import require_boxes
from trilabel.inference.prediction_files import Layout
from trilabel.inference.predictions import Predictions
from trilabel.inference.processes import Again, check_devices
from trilabel.inference.serving import Written, predict_to_file
from trilabel.inference.trust import doubts
from trilabel.labels.names import Names
from trilabel.models import Classifier, Output
from trilabel.models.scoring import Scorer
from trilabel.printable import plural
from trilabel.training.decisions import Decisions

OnBatch = Callable[[NDArray[np.int64], Output], None]  # receives the rows and the whole output of a batch


class Model:
    """A trained classifier with its class names and the preparation of its images.

    Its methods share three options: `batch_size`; `workers`, the processes that decode files (None: one per CPU, at
    most 16); and `broken`, whether an image that cannot be read is an error ("stop") or left out ("skip").
    """

    def __init__(
        self,
        classifier: Classifier | ExportedNetwork,
        classes: Sequence[str],
        device: torch.device,
        config: Config | None = None,
        name: str = "the model",
        decisions: Decisions | None = None,
    ) -> None:
        """config: the run's configuration, for precision and memory layout on a GPU; without it all is float32.

        name: what messages call the model, such as its run folder. decisions: how logits become probabilities, and from
        which one classes count as present; None: as they are, from a half.
        """
        self.name = name
        # Gives the number of known training labels of each class, for mAP by groups of classes.
        self.annotations: Callable[[], NDArray[np.int64] | None] = lambda: None
        # Gives the ids of the images that it was trained on, and of those that chose its epoch.
        self.seen_images: Callable[[], tuple[Sequence[str], Sequence[str]]] = lambda: ((), ())
        # Says whether the run that it is of has epochs before it.
        self.unfinished: Callable[[], list[str]] = list
        # What it was loaded from, which tells it from another one.
        self.files: tuple[Path, ...] = ()
        # Loads it again in another process; None: it was not loaded from a file or folder.
        self.again: Again | None = None
        self.classifier = classifier.to(device).eval()
        self.context: Callable[[], AbstractContextManager[object]] = nullcontext
        if config is not None and device.type == "cuda":
            if config.precision == "bf16":
                self.context = partial(torch.autocast, "cuda", torch.bfloat16)
            if config.channels_last:
                self.classifier = self.classifier.to(memory_format=torch.channels_last)
        self.decisions = decisions
        self.classes = Names(classes)
        self.device = device
        # Images of a source, B×3×S×S uint8 -> what the classifier takes.
        self.prepare: Callable[[Tensor], Tensor] = _unchanged
        if isinstance(classifier, Classifier):
            self.prepare = Views(classifier.backbone.mean, classifier.backbone.std).plain

    def __repr__(self) -> str:
        return f"Model({self.name!r}, {plural(len(self.classes), 'class')}, {self.image_size} pixels, on {self.device})"

    @property
    def image_size(self) -> int:
        """Pixels per side that images are resized to."""
        network = self.classifier
        return network.image_size if isinstance(network, ExportedNetwork) else network.backbone.image_size

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The probability from which each class counts as present."""
        return (0.5,) * len(self.classes) if self.decisions is None else tuple(self.decisions.thresholds)

    def calibrate(self, logits: Tensor) -> Tensor:
        """N×C logits of the network -> those whose sigmoid is the probability."""
        return logits if self.decisions is None else self.decisions.logits(logits)

    def predict(
        self, images: Any, batch_size: int = 64, workers: int | None = None, broken: Broken = "stop"
    ) -> Predictions:
        """Probabilities for a folder, a file, a list of files, or images as arrays.

        Arrays: N×H×W×3 or N×3×H×W, uint8 or float in [0, 1]; or a list of H×W×3 arrays of any sizes.
        """
        return Predictions.join(
            self.predict_batches(images, batch_size, workers, broken), self.classes, self.thresholds
        )

    def predict_batches(
        self, images: Any, batch_size: int = 64, workers: int | None = None, broken: Broken = "stop"
    ) -> Iterator[Predictions]:
        """`predict` batch after batch, for more images than fit into memory with their scores."""
        options, paths = Options(batch_size, workers, broken), find_paths(images)
        if paths is not None:
            ids, opened = paths, self.open(None, paths, options)
        else:
            arrays = arrays_to_images(images, self.image_size)
            ids, opened = [str(number) for number in range(len(arrays))], self.open(arrays, None, options)
        left_out = [message for _, message in opened.errors]
        for batch in opened.score("predicting", ids.__getitem__):
            kept = [ids[position] for position in batch.positions.tolist()]
            left_out += [message for _, message in batch.failed]
            yield Predictions(kept, self.classes, self.probabilities(batch.output), tuple(left_out), self.thresholds)
            left_out = []
        if left_out:  # no image could be opened
            yield Predictions([], self.classes, self.probabilities(None), tuple(left_out), self.thresholds)

    def probabilities(self, output: Output | None) -> NDArray[np.float32]:
        """Of an output, images × classes; None is that of no image."""
        if output is None:
            return np.zeros((0, len(self.classes)), np.float32)
        found: NDArray[np.float32] = self.calibrate(output.logits.float().cpu()).sigmoid().numpy()
        return found

    def predict_to_file(
        self,
        images: str | Path | Sequence[str],
        out: str | Path,
        batch_size: int = 64,
        workers: int | None = None,
        broken: Broken = "stop",
        devices: int = 1,
        resume: bool = False,
        overwrite: bool = False,
        layout: Layout | None = None,
        on_part: Callable[[Predictions], None] | None = None,
    ) -> Written:
        """Predicts any number of image files into a .csv, .parquet, .json or .jsonl file.

        Memory does not grow with images × classes: about a thousand images at a time go to a folder beside the file,
        which is made of them in the end. If it is stopped, at whatever moment, `resume` goes on where it was, and the
        file is the same.
        devices: how many processes score, each on its own GPU or on the CPU. on_part: gets everything that is written,
        in the order of the images.
        """
        paths = find_paths(images)
        if paths is None:
            raise TrilabelError("predictions are written for image files; give a folder or paths")
        options = Options(batch_size, workers, broken)
        return predict_to_file(self, paths, Path(out), options, layout or Layout(), devices, resume, overwrite, on_part)

    def maps(
        self, images: Any, batch_size: int = 16, workers: int | None = None, broken: Broken = "stop"
    ) -> Iterator[ClassActivation]:
        """Class activation maps of images given as for `predict`; only one batch is in memory at a time.

        Images that are left out are logged as warnings.
        """
        options, paths = Options(batch_size, workers, broken), find_paths(images)
        if paths is not None:
            yield from activations(self, paths, None, paths, options)
        else:
            arrays = list(separate(images))
            yield from activations(self, [str(number) for number in range(len(arrays))], arrays, None, options)

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
        yield from activations(self, ids, arrays, paths, Options(batch_size, workers, broken))

    def evaluate(
        self,
        dataset: str | Path | Dataset,
        split: str = "test",
        threshold: float | None = None,
        common_classes: bool = False,
        batch_size: int = 64,
        workers: int | None = None,
        broken: Broken = "stop",
        pointing: bool = False,
        intervals: bool = False,
        calibrated: bool = True,
        devices: int = 1,
        images: str | Path | None = None,
    ) -> dict[str, Any]:
        """Metrics on a split of a data set, over its known labels, with `warnings` of what they cannot show.

        dataset: a data set, or a file or folder that `data.read` reads (its images in the folder `images`).
        threshold: the probability from which a class counts as present; None: the fitted one of each class. calibrated:
        whether probabilities are those that `predict` gives, or as the network gives them.
        Classes are matched by name. One that the model does not have is an error unless `common_classes` leaves such
        classes out. `pointing` adds the pointing game: "pointing_game", "pointing_game_pairs" (the number of present
        classes of images it was played with), "per_class_pointing_game" and its mean "pointing_game_by_class"; it needs
        boxes. `intervals` adds "per_class_ap_low" and "per_class_ap_high" (95 %, see
        `metrics.average_precision_intervals`).
        devices: how many processes score, each on its own GPU or on the CPU. Memory follows the known labels, not
        images × classes.
        """
        check_devices(devices, self.device, self.again is not None)
        if not isinstance(dataset, Dataset):
            dataset = read(dataset, images=images)
        elif images is not None:
            raise TrilabelError("images: a data set knows its images; give them with the path of a table")
        label_columns, model_columns, missing = match_classes(self.classes, dataset.classes, common_classes)
        rows = dataset.rows_of(split)
        if not len(rows):
            raise TrilabelError(f"split {split!r} has no images to score")
        if pointing:
            require_boxes(dataset, rows, split)
        limits = [self.thresholds[column] for column in model_columns] if threshold is None else threshold
        work = Evaluating(
            dataset,
            rows,
            label_columns,
            model_columns,
            limits,
            calibrated,
            intervals,
            pointing,
            Options(batch_size, workers, broken),
        )
        found = work.score(self) if devices == 1 or self.again is None else work.score_in_processes(self.again, devices)
        log_left_out(found.left_out, len(rows))
        warnings = self.unfinished() + doubts(work.scored_labels(found), split, *self.seen_images())
        result = work.result(found, self.annotations())
        return result | {"split": split, "left_out_classes": missing, "warnings": warnings}

    def score_rows(
        self,
        dataset: Dataset,
        rows: NDArray[np.int64],
        batch_size: int = 64,
        workers: int | None = None,
        broken: Broken = "stop",
        on_batch: OnBatch | None = None,
    ) -> tuple[Tensor, NDArray[np.int64]]:
        """(images × classes logits, their rows) for these rows of a data set, without images that could not be read.

        `on_batch` receives the rows and the whole output of each batch.
        """
        opened = self.open(*dataset.images_of(rows), Options(batch_size, workers, broken))
        logits, messages = torch.zeros(len(rows), len(self.classes)), [message for _, message in opened.errors]
        scored = np.zeros(len(rows), bool)
        for batch in opened.score("scoring", lambda position: dataset.ids[int(rows[position])]):
            messages += [message for _, message in batch.failed]
            if batch.output is not None:
                logits[torch.from_numpy(batch.positions)] = batch.output.logits.float().cpu()
                scored[batch.positions] = True
                if on_batch is not None:
                    on_batch(rows[batch.positions], batch.output)
        log_left_out(messages, len(rows))
        return (logits if scored.all() else logits[torch.from_numpy(scored)]), rows[scored]

    def open(self, images: Tensor | None, paths: Sequence[str] | None, options: Options) -> Opened:
        """Images in memory (N×3×H×W uint8) or in files, ready to be scored."""
        size, skip = self.image_size, options.broken == "skip"
        source, errors = open_images(images, paths, size, self.device, "none", options.workers, options.broken)
        positions = np.delete(np.arange(len(source) + len(errors)), [position for position, _ in errors])
        scorer = Scorer(
            self.classifier, self.prepare, len(self.classes), options.batch_size, self.context, skip_broken=skip
        )
        return Opened(source, positions, errors, scorer, self.name)


def _unchanged(images: Tensor) -> Tensor:
    """What an exported network takes: it normalizes by itself."""
    return images
