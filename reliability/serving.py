"""Predicting and evaluating very many images with many classes: the most memory that it takes.

python -m reliability.serving --images 1000000 --classes 1000

Images are not decoded: a stand-in gives the same few pixels for every path, so that what is measured is all the rest
(paths, parts, files, metrics). Each step runs in a process of its own.
"""

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reliability.memory import peak, start_peak
from reliability.processes import call

SIZE = 8  # pixels
_DAY = 86400.0  # seconds; nothing here hangs, but it may take long


def measure(folder: Path, images: int, classes: int, known: float, kind: str) -> dict[str, Any]:
    """Megabytes by which memory rose at most, above that of the loaded model and the data, and seconds."""
    report = folder / f"{kind}.json"
    ended = call(_measured, (kind, str(folder), images, classes, known, str(report)), limit=_DAY)
    if ended.code:
        raise RuntimeError(f"{kind} ended with {ended.code}: {ended.output[-2000:]}")
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def _measured(kind: str, folder: str, images: int, classes: int, known: float, report: str) -> int:
    import torch

    from trilabel.inference.predictor import Model

    torch.set_num_threads(1)
    model = Model(_classifier(classes), [f"class {number}" for number in range(classes)], torch.device("cpu"))
    paths = [f"/nowhere/of/any/length/{number:08d}.jpg" for number in range(images)]
    steps: dict[str, Callable[[], Any]] = {
        suffix: partial(_predict, model, paths, Path(folder) / f"found{suffix}") for suffix in (".csv", ".parquet")
    }
    data = _labelled(model, paths, known) if kind == "evaluate" else None
    steps["evaluate"] = lambda: model.evaluate(data, "all", batch_size=256)
    with _stand_in():
        before, began = start_peak(), time.monotonic()
        steps[kind]()
        seconds = time.monotonic() - began
    labels = 0 if data is None else data.labels.known
    found = {"megabytes": (peak() - before) >> 20, "seconds": round(seconds, 1), "known_labels": labels}
    Path(report).write_text(json.dumps(found | {"before_megabytes": before >> 20}))
    return 0


def _classifier(classes: int) -> Any:
    import torch

    from trilabel.config import Config
    from trilabel.models import create_model

    torch.manual_seed(0)
    return create_model(Config(), classes, SIZE)


def _predict(model: Any, paths: Sequence[str], out: Path) -> None:
    written = model.predict_to_file(paths, out, batch_size=256)
    assert written.images == len(paths)
    out.unlink()


def _labelled(model: Any, paths: Sequence[str], known: float) -> Any:
    """A data set in which this share of the labels is known, drawn so that making it takes little memory."""
    import scipy.sparse as sp

    from trilabel.data.dataset import Dataset
    from trilabel.labels import Labels
    from trilabel.labels.names import Names

    images, classes, each = len(paths), len(model.classes), max(1, round(known * len(model.classes)))
    columns = (np.arange(images)[:, None] * 7 + np.arange(each) * max(1, classes // each)) % classes
    columns = np.sort(columns.astype(np.int32), axis=1)
    signs = np.where(np.random.default_rng(0).random(columns.size) < 0.2, 1, -1).astype(np.int8)
    csr = sp.csr_array((signs, columns.ravel(), np.arange(0, columns.size + 1, each)), shape=(images, classes))
    names = Names(paths)
    return Dataset(names, names, Labels(csr, model.classes, names), {})


@contextlib.contextmanager
def _stand_in() -> Iterator[None]:
    """Inside, every path is an image file, and has some pixels."""
    import torch

    from trilabel.data import images

    def batches(self: Any, positions: Any, skip_broken: bool = False) -> Iterator[Any]:
        pixels = torch.randint(0, 256, (4096, 3, SIZE, SIZE), dtype=torch.uint8)
        for chosen in positions:
            yield images.ImageBatch(pixels[torch.from_numpy(chosen) % 4096], chosen, [])

    before = images.validate_images, images.ImageSource.batches
    images.validate_images, images.ImageSource.batches = (lambda paths, shown=True: []), batches  # type: ignore
    try:
        yield
    finally:
        images.validate_images, images.ImageSource.batches = before  # type: ignore[method-assign]


def main() -> int:
    """Prints a line per step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--known", type=float, default=0.1, help="share of labels that are known, for evaluate")
    parser.add_argument("--steps", nargs="+", default=[".csv", ".parquet", "evaluate"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for kind in given.steps:
            found = measure(Path(temporary), given.images, given.classes, given.known, kind)
            print(json.dumps({"step": kind, "images": given.images, "classes": given.classes} | found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
