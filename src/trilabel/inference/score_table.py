"""The scores of all images of a data set by a run, kept in its folder: what completing and reviewing labels rest on.

An image that the run learned from is scored by a head that was fitted without it, where the run has such scores; where
it has none, the table says which images its model has seen. It grows on disk, images × classes are never in memory, and
what a killed process has scored is not scored again.
"""

import hashlib
import json
import mmap
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError, one_line
from trilabel.files import replacing, write_text
from trilabel.inference.loading import load
from trilabel.input_files import open_input, read_input
from trilabel.labels import Labels
from trilabel.labels.names import Names
from trilabel.log import progress, quiet
from trilabel.models.fetch import sha256_of
from trilabel.training.out_of_fold import load_out_of_fold
from trilabel.training.run_folder import RunFolder

_AT_ONCE = 4096  # images between two moments at which what is done is noted
_MOST_IN_FULL = 10**8  # labels whose logits are kept in 4 bytes each, not 2


@dataclass(frozen=True)
class ScoreTable:
    """Logits of images, as a network gives them: not calibrated."""

    ids: Names
    classes: Names
    logits: NDArray[Any]  # N×C float32 or float16, memory-mapped; NaN for an image that could not be read
    held_out: NDArray[np.bool_]  # N: whether the model that scored it did not learn from it

    def __len__(self) -> int:
        return len(self.ids)

    def let_go(self) -> None:
        """Gives back the memory of scores that were read: the system keeps them as long as it has room."""
        mapped = getattr(self.logits, "_mmap", None)
        if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)


def score_table(
    run: str | Path,
    dataset: Dataset,
    device: str = "auto",
    batch_size: int = 64,
    workers: int | None = None,
    broken: Literal["stop", "skip"] = "stop",
) -> ScoreTable:
    """The scores of every image of a data set, in its order, from the run's folder or computed now.

    The classes of the data set must be those of the run. Images that cannot be read are an error, or have NaN ("skip").
    """
    folder, ids = RunFolder(Path(run)), Names(dataset.ids)
    if list(dataset.classes) != folder.read().classes:
        raise TrilabelError(f"{folder.path}: a run on other classes than the data has; train one on the same")
    learned = Labels.load(folder.labels) if folder.labels.is_file() else None
    place = np.full(len(ids), -1) if learned is None else learned.ids.positions(ids)
    crossed = learned is not None and folder.out_of_fold.is_file()
    # All that is kept of a data set: a table of other images, or by another model, is made anew.
    of = {"model": sha256_of(folder.best), "images": _digest(ids), "crossed": crossed}
    shape, done = (len(ids), len(dataset.classes)), _read_done(folder.scores_done, of)
    if done is None:
        logits, done = _new_table(folder.scores, shape), 0
        if crossed and learned is not None:
            logits[place >= 0] = load_out_of_fold(folder, learned)[place[place >= 0]]
            logits.flush()
        _note(folder.scores_done, of, 0)
    rest = np.flatnonzero(place < 0) if crossed else np.arange(len(ids))
    if done < len(rest):
        model, logits = load(folder.path, device), _open_table(folder.scores, shape, "r+")
        with progress("scoring", len(rest)) as advance:
            advance(done)
            for start in range(done, len(rest), _AT_ONCE):
                rows = rest[start : start + _AT_ONCE]
                with quiet(bars=True):
                    found, good = model.score_rows(dataset, rows, batch_size, workers, broken)
                logits[rows] = np.nan
                logits[good] = found.numpy()
                logits.flush()
                _note(folder.scores_done, of, start + len(rows))
                advance(len(rows))
    return ScoreTable(ids, Names(dataset.classes), _open_table(folder.scores, shape, "r"), crossed | (place < 0))


def _new_table(path: Path, shape: tuple[int, int]) -> "np.memmap[Any, Any]":
    dtype = np.float32 if shape[0] * shape[1] <= _MOST_IN_FULL else np.float16
    with replacing(path) as temporary:
        np.lib.format.open_memmap(temporary, "w+", dtype, shape).flush()
    return _open_table(path, shape, "r+")


def _open_table(path: Path, shape: tuple[int, int], mode: Literal["r", "r+"]) -> "np.memmap[Any, Any]":
    try:
        with open_input(path):
            logits: np.memmap[Any, Any] = np.load(path, mmap_mode=mode, allow_pickle=False)
        if logits.shape != shape or logits.dtype not in (np.float32, np.float16):
            raise ValueError(f"{logits.dtype} of shape {logits.shape}, not {shape}")
    except (OSError, ValueError, EOFError) as error:
        raise TrilabelError(
            f"{path}: damaged ({one_line(error)}); remove it, and the images are scored again"
        ) from error
    return logits


def _read_done(path: Path, of: Mapping[str, Any]) -> int | None:
    """How many images a table of the same has; None where there is none."""
    with suppress(OSError, ValueError, RecursionError):
        note = json.loads(read_input(path))
        if isinstance(note, dict) and {name: note.get(name) for name in of} == of and isinstance(note.get("done"), int):
            return int(note["done"])
    return None


def _note(path: Path, of: Mapping[str, Any], done: int) -> None:
    write_text(path, json.dumps({**of, "done": done}))


def _digest(names: Names) -> str:
    return hashlib.sha256(names.buffer.tobytes() + b"/" + names.offsets.tobytes()).hexdigest()
