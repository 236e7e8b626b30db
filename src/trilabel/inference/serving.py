"""Predicting any number of images into a file: in parts, in several processes, and resumed where it was stopped."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.image_paths import take_paths
from trilabel.data.images import ImageError
from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.inference.opened import Opened, Options
from trilabel.inference.parts import IMAGES_PER_PART, Part, Parts, begun, fingerprint, is_stopped, parts_folder
from trilabel.inference.prediction_files import FILES, Layout, check_kind
from trilabel.inference.predictions import Predictions
from trilabel.inference.processes import check_devices, in_processes
from trilabel.log import log, progress

if TYPE_CHECKING:
    from trilabel.inference.predictor import Model


class Written(NamedTuple):
    """What was written."""

    path: Path
    images: int  # in the file
    left_out: tuple[str, ...]  # one message for each image that could not be read


def predict_to_file(
    model: "Model",
    paths: Sequence[str],
    out: Path,
    options: Options,
    layout: Layout,
    devices: int,
    resume: bool,
    overwrite: bool,
    on_part: Callable[[Predictions], None] | None = None,
) -> Written:
    """See `Model.predict_to_file`. on_part: also gets what is written, part after part, in the order of the images."""
    check_kind(out)
    check_devices(devices, model.device, model.again is not None)
    _check_place(out, resume, overwrite)
    size = options.batch_size * max(1, IMAGES_PER_PART // options.batch_size)
    parts = Parts(parts_folder(out), len(paths), len(model.classes), size)
    about = {
        "model": fingerprint(model.classes, model.files),
        "list of images": fingerprint(paths),
        "--batch-size": options.batch_size,
        "--broken": options.broken,
        "number of images in a part": size,
    }
    with begun(out, about, parts, resume):
        missing = parts.missing()
        if len(missing) < parts.count:
            log.info(f"{out}: goes on after {parts.count - len(missing):,} of {parts.count:,} parts")
        try:
            _score(model, _Scoring(parts, paths, options, missing), devices, out)
        except BaseException:
            if done := parts.count - len(parts.missing()):
                log.info(f"{out}: {done:,} of {parts.count:,} parts are kept; --resume goes on from there")
            raise
        return _write(model, parts, paths, out, layout, on_part)


def _check_place(out: Path, resume: bool, overwrite: bool) -> None:
    if out.is_dir():
        raise TrilabelError(f"{out}: this is a folder; give the name of a file")
    if is_stopped(out) and not (resume or overwrite):
        raise TrilabelError(f"{out}: predictions for it were stopped; pass --resume to go on, or --overwrite")
    if out.exists() and not overwrite and not (resume and is_stopped(out)):
        raise TrilabelError(f"{out}: this file exists; choose another name, or pass --overwrite")


def _score(model: "Model", work: "_Scoring", devices: int, out: Path) -> None:
    if devices == 1 or model.again is None:
        work(model, 0, 1)
    elif work.missing:
        in_processes(work, model.again, devices, f"go on with --resume --out {out}")


@dataclass(frozen=True)
class _Scoring:
    """Scores the missing parts; each of several processes scores every n-th of them."""

    parts: Parts
    paths: Sequence[str]
    options: Options
    missing: list[int]

    def __call__(self, model: "Model", rank: int, count: int) -> None:
        numbers = self.missing[rank::count]
        if not numbers:
            return
        given = np.concatenate([self.parts.positions(number) for number in numbers])
        opened = model.open(None, take_paths(self.paths, given), self.options)
        batches = self._batches(opened, given, numbers)
        order = [batch for number in numbers for batch in batches[number]]
        stream = opened.score("predicting", lambda position: self.paths[int(given[position])], batches=order)
        not_opened = defaultdict[int, list[ImageError]](list)
        for position, message in opened.errors:
            not_opened[int(given[position]) // self.parts.size].append((position, message))
        for number in numbers:
            failed = not_opened[number]
            positions, scores = [np.zeros(0, np.int64)], [np.zeros((0, len(model.classes)), np.float32)]
            for batch in islice(stream, len(batches[number])):
                failed += batch.failed
                if batch.output is not None:
                    positions.append(given[batch.positions])
                    scores.append(model.probabilities(batch.output))
            messages = [message for _, message in sorted(failed)]
            self.parts.write(number, Part(np.concatenate(positions), np.concatenate(scores), messages))
        for _ in stream:  # ends its progress
            pass

    def _batches(
        self, opened: Opened, given: NDArray[np.int64], numbers: Sequence[int]
    ) -> dict[int, list[NDArray[np.int64]]]:
        """By part, the positions in the source for each batch: none reaches beyond its part."""
        part_of = given[opened.positions] // self.parts.size
        bounds = np.searchsorted(part_of, [*numbers, numbers[-1] + 1])
        size = self.options.batch_size
        return {
            number: [np.arange(first, min(first + size, end)) for first in range(start, end, size)]
            for number, start, end in zip(numbers, bounds[:-1], bounds[1:], strict=True)
        }


def _write(
    model: "Model",
    parts: Parts,
    paths: Sequence[str],
    out: Path,
    layout: Layout,
    on_part: Callable[[Predictions], None] | None,
) -> Written:
    images, left_out = 0, list[str]()
    with replacing(out) as temporary, FILES[out.suffix](temporary, model.classes, layout) as add:
        for found in _read_all(model, parts, paths):
            add(found)
            if on_part is not None:
                on_part(found)
            images += len(found.ids)
            left_out += found.left_out
    return Written(out, images, tuple(left_out))


def _read_all(model: "Model", parts: Parts, paths: Sequence[str]) -> Iterator[Predictions]:
    with progress("writing", parts.images) as advance:
        for number in range(parts.count):
            part = parts.read(number)
            ids = [paths[position] for position in part.positions.tolist()]
            yield Predictions(ids, model.classes, part.scores, tuple(part.left_out), model.thresholds)
            advance(len(parts.positions(number)))
