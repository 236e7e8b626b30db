"""Every image comes once in an epoch, in another order each time, whatever the number of processes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.training.batches import epoch_batches

quick = settings(max_examples=50, deadline=None)


counts, sizes = st.integers(0, 70), st.integers(1, 9)


@quick
@given(counts, sizes, st.integers(0, 99))
def test_every_image_comes_once_an_epoch(count, size, seed):
    batches = epoch_batches(count, size, [seed, 0, 1])
    assert sorted(np.concatenate([*batches, []]).astype(int)) == list(range(count))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert len(batches) == -(-count // size) and all(len(batch) for batch in batches)


@quick
@given(counts, sizes, st.integers(2, 5))
def test_several_processes_do_equally_much_and_leave_nothing_out(count, size, world):
    shares = [epoch_batches(count, size, [0, 0, 1], rank, world) for rank in range(world)]
    for together in zip(*shares, strict=True):
        assert len({len(batch) for batch in together}) == 1, "or the processes would wait for each other for ever"
        assert 1 <= len(together[0]) <= size
    drawn = [int(row) for share in shares for batch in share for row in batch]
    assert set(drawn) == set(range(count))
    assert len(drawn) - count < world, "no more twice than needed to come out even"
    assert len(shares[0]) == -(-count // (size * world))


def test_epochs_and_seeds_differ_and_can_be_drawn_again():
    seeds = [[0, 0, 1], [0, 0, 2], [0, 1, 1], [1, 0, 1]]
    orders = [np.concatenate(epoch_batches(30, 7, seed)).tolist() for seed in seeds]
    assert len({tuple(order) for order in orders}) == len(seeds)
    assert orders == [np.concatenate(epoch_batches(30, 7, seed)).tolist() for seed in seeds]
    assert orders[0] != list(range(30))
