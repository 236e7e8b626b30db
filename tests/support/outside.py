"""Components as users write them, in a file outside the package; and processes that have not loaded it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from trilabel import plugin_files, plugins

CODE = '''"""A method, a head and a format."""

from dataclasses import dataclass
from pathlib import Path

import trilabel as tl
from trilabel import losses
from trilabel.methods.base import PureLoss
from trilabel.methods.checks import require_positives
from trilabel.models.heads.base import MapHead
from trilabel.settings import NoSettings

with Path(__file__).with_name("ran.txt").open("a") as log:
    log.write("once more\\n")


@dataclass(frozen=True)
class MineSettings:
    """How unknown labels count."""

    smoothing: float = 0.0
    """Of the targets."""


class Mine(PureLoss[MineSettings]):
    """Unknown counts as absent."""

    Settings = MineSettings
    description = "unknown counts as absent, as I like it"
    suits = "positives known"

    @classmethod
    def check(cls, settings, labels):
        require_positives("mine", labels)

    @classmethod
    def loss(cls, settings, logits, labels):
        return losses.assume_negative(logits, labels, smoothing=settings.smoothing)


class Largest(MapHead[NoSettings]):
    """The largest cell."""

    description = "the largest score of a class map"

    def pool(self, maps):
        return maps.amax((2, 3))


class Lines:
    """A text file: an image and its classes per line."""

    RULE = "what is not listed is unknown"

    @staticmethod
    def detect(path):
        return path.suffix == ".lines"

    @staticmethod
    def read(path, *, images=None):
        rows = [line.split() for line in path.read_text().splitlines()]
        classes = sorted({name for _, *names in rows for name in names})
        signs = [[int(name in names) for name in classes] for _, *names in rows]
        labels = tl.Labels.from_signed(signs, classes, [image for image, *_ in rows])
        paths = [str((Path(images) if images else path.parent) / image) for image, *_ in rows]
        return tl.data.Dataset(labels.ids, paths, labels, {}, notes=("read line by line",))
'''


def write_code(folder: Path, name: str = "mine.py", code: str = CODE) -> Path:
    """The file, in a folder that is made for it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(code, encoding="utf-8")
    return folder / name


def times_run(file: Path) -> int:
    """How often the code of `CODE` was run."""
    log = file.with_name("ran.txt")
    return len(log.read_text().splitlines()) if log.exists() else 0


@contextmanager
def new_process() -> Iterator[None]:
    """Inside, nothing was loaded or registered before; afterwards it is as it was."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(plugin_files, "_loaded", {})
        for registry in plugins._registries.values():
            patched.setattr(registry, "registered", {})
        yield
