"""Images given to a model, opened and scored batch by batch; what cannot be read is told by position and message."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.data.image_paths import RootedPaths, find_images
from trilabel.data.images import ImageError, ImageSource, in_order
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import progress
from trilabel.models import Output
from trilabel.models.scoring import Scorer

Broken = Literal["stop", "skip"]
DIVERGED = "its training diverged: train again with a lower --lr or with --clip-gradient"


class Options(NamedTuple):
    """Options that all methods of a model share."""

    batch_size: int
    workers: int | None
    broken: Broken


class Scored(NamedTuple):
    """A batch of the given images."""

    positions: NDArray[np.int64]  # of its images among those given
    output: Output | None  # for them; None if none could be read
    failed: list[ImageError]  # images that could not be read: position among those given, and message


class Opened(NamedTuple):
    """The given images that could be opened, and the scorer for them."""

    source: ImageSource
    positions: NDArray[np.int64]  # of the source's images among those given
    errors: list[ImageError]  # images that are not in the source: position among those given, and message
    scorer: Scorer
    model: str  # its name in messages

    def score(
        self,
        label: str,
        id_of: Callable[[int], str],
        class_maps: bool = False,
        batches: Sequence[NDArray[np.int64]] | None = None,
    ) -> Iterator[Scored]:
        """Batch after batch, with progress under this label; NaN is an error, whatever becomes of broken images.

        id_of: position of a given image -> its id. batches: positions in the source; none: all.
        """
        chosen = in_order(len(self.source), self.scorer.batch_size) if batches is None else batches
        with progress(label, sum(map(len, chosen))) as advance:
            for batch, output in self.scorer.outputs(self.source, class_maps, chosen):
                positions = self.positions[batch.positions]
                if output is not None and len(bad := output.logits.amax(dim=1).isnan().nonzero()):
                    raise TrilabelError(
                        f"{self.model}: gives NaN for image {id_of(int(positions[int(bad[0])]))!r}; {DIVERGED}"
                    )
                failed = [(int(self.positions[position]), message) for position, message in batch.failed]
                yield Scored(positions, output, failed)
                advance(len(batch.positions) + len(batch.failed))


def find_paths(images: Any) -> Sequence[str] | None:
    """The image files of a folder, a file or a list of files; None if the images are arrays."""
    images = find_images(images) if isinstance(images, str | Path) else images
    if isinstance(images, Names | RootedPaths):
        return images
    if isinstance(images, Sequence) and images and isinstance(images[0], str | Path):
        return compact([str(path) for path in images])
    return None


def compact(paths: Sequence[str]) -> Sequence[str]:
    """The same paths in little memory, if they are text: processes that decode would copy each Python string."""
    try:
        return Names(paths)
    except TrilabelError:  # the name of a file may be bytes that are not UTF-8
        return list(paths)
