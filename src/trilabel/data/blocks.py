"""Images that are unpacked together, and a random order of all images that needs few such blocks at a time.

To read an image in a Parquet file, its whole row group is unpacked. In a random order of all images nearly every one
would need another row group than the one before. So row groups are drawn in a random order, and only the images of a
few of them, which each process keeps, are mixed with each other.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trilabel.archives import find_member, table_rows

_SAMPLE = 20  # blocks whose size is looked up


class Blocks(NamedTuple):
    """N images and the blocks that they are in."""

    block: NDArray[np.int64]  # N: the block of each image; −1 for one that is a file of its own
    together: int  # how many blocks are kept unpacked


def blocks_of(paths: Sequence[str]) -> Blocks | None:
    """The blocks of images at these paths; None if they are files of their own, which can be read in any order."""
    code: dict[str, int] = {}
    block = np.full(len(paths), -1)
    for row, path in enumerate(paths):
        if ".parquet/" in path:
            block[row] = code.setdefault(path.rpartition("/")[0], len(code))
    if not code:
        return None
    folders = list(code)
    found = [find_member(folder) for folder in folders[:: max(1, len(folders) // _SAMPLE)]]
    sizes = [table_rows.group_bytes(*member) for member in found if member is not None]
    largest = max(sizes, default=1)
    return Blocks(block, max(1, table_rows.KEPT_BYTES // max(1, largest)))


def shuffled(count: int, seed: Sequence[int], blocks: Blocks | None = None) -> NDArray[np.int64]:
    """All positions below `count` in a random order; those of a block are near each other."""
    draw = np.random.default_rng(seed)
    if blocks is None:
        return draw.permutation(count)
    number = int(blocks.block.max()) + 1
    windows = -(-number // blocks.together)
    window = draw.permutation(number) // blocks.together  # of each block
    of_image = np.where(blocks.block < 0, draw.integers(windows, size=count), window[blocks.block])
    return np.lexsort((draw.random(count), of_image))
