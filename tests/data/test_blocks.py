"""Orders of images that are unpacked together."""

import numpy as np
import pytest

from trilabel.data.blocks import Blocks, blocks_of, shuffled
from trilabel.training.batches import epoch_order


def test_every_image_once_and_few_blocks_at_a_time():
    block = np.repeat(np.arange(40), 5)
    block[::17] = -1  # files of their own are anywhere
    order = shuffled(200, [0, 1], Blocks(block, 4))
    assert sorted(order) == list(range(200)) and (np.diff(order) != 1).any()
    assert (order == shuffled(200, [0, 1], Blocks(block, 4))).all()
    assert (order != shuffled(200, [0, 2], Blocks(block, 4))).any()
    sequence = block[order][block[order] >= 0]
    places = {each: np.flatnonzero(sequence == each) for each in range(40)}
    # A block is read within a window of four, so no image of it is farther away than these are long.
    assert max(np.ptp(where) for where in places.values()) < 4 * 5
    assert len({*sequence[:20].tolist()}) >= 4  # mixed
    alone = block[order] < 0
    assert np.flatnonzero(alone)[0] < 60 and np.flatnonzero(alone)[-1] > 140


def test_processes_share_the_order():
    blocks = Blocks(np.repeat(np.arange(10), 10), 2)
    parts = [epoch_order(100, 8, [3], rank, 2, blocks=blocks).batches for rank in range(2)]
    assert sorted(np.concatenate([*parts[0], *parts[1]]).tolist()) == list(range(100))


def test_blocks_of_paths(tmp_path):
    assert blocks_of(["a.jpg", "x.tar/b@3.jpg", "y.arrow/image/0/1.jpg"]) is None
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"image": [bytes(range(256)) * 4000] * 4}), tmp_path / "x.parquet", row_group_size=2)
    inside = [f"{tmp_path}/x.parquet/image/{row // 2}/{row % 2}.jpg" for row in range(4)]
    found = blocks_of(["a.jpg", *inside, "b.jpg"])
    assert found is not None and found.block.tolist() == [-1, 0, 0, 1, 1, -1]
    assert 50 < found.together < 1000
