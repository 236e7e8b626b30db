"""What needs the model, in a process of its own: scores before the first page, class activation maps when asked for.

torch takes more memory than everything else on the page. Where it is loaded already, a process of its own saves
nothing, and a thread does the same.
"""

import sys
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.log import is_shown, shown
from trilabel.review.proposals import Recent

_LONGEST = 1024  # pixels of a picture with a class map
_OPACITY = 0.65
_MAPS_KEPT = 64


class Prepared(NamedTuple):
    """Scores of all images by a run, and how it decides."""

    scores: Path  # N×C logits, an .npy file
    held_out: NDArray[np.bool_]  # N
    slope: float
    shifts: NDArray[np.float64]  # C
    thresholds: NDArray[np.float64]  # C


def executor() -> Executor:
    """Where one thing at a time is done with the model."""
    if "torch" in sys.modules:
        return ThreadPoolExecutor(1, "model")
    return ProcessPoolExecutor(1, get_context("spawn"))


def prepare_scores(run: Path, dataset: Dataset, device: str, broken: str) -> Prepared:
    """The scores of a data set by a run, computed now where they are not in its folder."""
    with executor() as apart:
        return apart.submit(_prepare, run, dataset, device, broken, is_shown()).result()


def _prepare(run: Path, dataset: Dataset, device: str, broken: Any, progress: bool) -> Prepared:
    from trilabel.inference.score_table import score_table
    from trilabel.training.decisions import Decisions
    from trilabel.training.run_folder import RunFolder

    with shown(progress):
        table = score_table(run, dataset, device, broken=broken)
    folder, classes = RunFolder(run), len(dataset.classes)
    decisions = Decisions(1.0, [0.0] * classes, [0.5] * classes, "")
    if folder.decisions.is_file():
        decisions = Decisions.load(folder.decisions, classes)
    return Prepared(
        folder.scores, table.held_out, decisions.slope, np.array(decisions.shifts), np.array(decisions.thresholds)
    )


class ClassMaps:
    """Pictures of where a model sees a class in an image; the model is loaded when the first is asked for."""

    def __init__(self, run: Path, dataset: Dataset, device: str) -> None:
        self._of, self._lock = (run, dataset, device), threading.Lock()
        self._executor: Executor | None = None
        self._kept: Recent[bytes | None] = Recent(_MAPS_KEPT)

    def draw(self, row: int, column: int) -> bytes | None:
        """A JPEG file of the image with the map over it; None where the model has no maps. Waits until it is drawn."""
        with self._lock:
            if self._executor is None:
                self._executor = executor()
                self._loading = self._executor.submit(_load, *self._of)
        self._loading.result()
        apart = self._executor
        return self._kept.get((row, column), lambda: apart.submit(_draw, row, column).result())

    def close(self) -> None:
        """Ends the process."""
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)


_loaded: dict[str, Any] = {}  # of the process: its model and data set


def _load(run: Path, dataset: Dataset, device: str) -> None:
    from trilabel.inference.loading import load

    _loaded.update(model=load(run, device), dataset=dataset)


def _draw(row: int, column: int) -> bytes | None:
    from matplotlib import colormaps
    from PIL import Image

    from trilabel.report.class_maps import heat
    from trilabel.review.pictures import Pictures, encoded

    found = list(_loaded["model"].dataset_maps(_loaded["dataset"], np.array([row]), workers=0))
    if not found:
        return None
    image = Pictures(_loaded["dataset"]).image(row, _LONGEST)
    values = heat(found[0].maps[column], image.height, image.width)
    colors = Image.fromarray(np.uint8(255 * colormaps["inferno"](values)[..., :3]))
    strength = Image.fromarray(np.uint8(255 * _OPACITY * values))
    return encoded(Image.composite(colors, image.convert("L").convert("RGB"), strength))  # colors are for the map
