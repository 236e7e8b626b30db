"""Every image comes once in an epoch, in another order each time, whatever the number of processes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trilabel.training.batches import epoch_order

quick = settings(max_examples=50, deadline=None)


counts, sizes = st.integers(0, 70), st.integers(1, 9)


@quick
@given(counts, sizes, st.integers(0, 99))
def test_every_image_comes_once_an_epoch(count, size, seed):
    batches = epoch_order(count, size, [seed, 0, 1]).batches
    assert sorted(np.concatenate([*batches, []]).astype(int)) == list(range(count))
    assert [len(batch) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    assert len(batches) == -(-count // size) and all(len(batch) for batch in batches)


@quick
@given(counts, sizes, st.integers(2, 5))
def test_several_processes_make_as_many_steps_and_have_every_image_once(count, size, world):
    parts = [epoch_order(count, size, [0, 0, 1], rank, world) for rank in range(world)]
    alone = epoch_order(count, size * world, [0, 0, 1])
    for step, whole in enumerate(alone.batches):
        together = [part.batches[step] for part in parts]
        assert sorted(np.concatenate(together)) == sorted(whole)
        weights = [part.weights[step] for part in parts]
        # The mean over processes of (weight × mean of a batch) is the mean over all images.
        values = [weight * batch.mean() for weight, batch in zip(weights, together, strict=True) if len(batch)]
        assert np.isclose(sum(values) / world, whole.mean())
        assert all(weight == 0 for weight, batch in zip(weights, together, strict=True) if not len(batch))
    assert {len(part.batches) for part in parts} == {len(alone.batches)}, "or they would wait for each other for ever"


@quick
@given(counts, sizes, st.integers(1, 4), st.integers(1, 4), st.integers(0, 9))
def test_another_number_of_processes_takes_over_the_rest_of_an_epoch(count, size, before, after, steps):
    began = [epoch_order(count, size, [0, 0, 1], rank, before) for rank in range(before)]
    steps = min(steps, len(began[0].batches))
    rest = [epoch_order(count, size, [0, 0, 1], rank, after, [(before, steps)]) for rank in range(after)]
    drawn = [part.batches[:steps] for part in began] + [part.batches[steps:] for part in rest]
    assert sorted(int(row) for part in drawn for batch in part for row in batch) == list(range(count))
    assert len({len(part.batches) for part in rest}) == 1


def test_epochs_and_seeds_differ_and_can_be_drawn_again():
    seeds = [[0, 0, 1], [0, 0, 2], [0, 1, 1], [1, 0, 1]]
    orders = [np.concatenate(epoch_order(30, 7, seed).batches).tolist() for seed in seeds]
    assert len({tuple(order) for order in orders}) == len(seeds)
    assert orders == [np.concatenate(epoch_order(30, 7, seed).batches).tolist() for seed in seeds]
    assert orders[0] != list(range(30))


@quick
@given(st.integers(1, 40), sizes, st.integers(1, 3), st.integers(1, 4))
def test_several_passes_repeat_the_same_batches(count, size, world, passes):
    for rank in range(world):
        once = epoch_order(count, size, [0, 0, 1], rank, world)
        several = epoch_order(count, size, [0, 0, 1], rank, world, passes=passes)
        assert [batch.tolist() for batch in several.batches] == [batch.tolist() for batch in once.batches] * passes
        assert several.weights == once.weights * passes


@quick
@given(st.integers(1, 40), sizes, st.integers(1, 4), st.integers(1, 4), st.integers(0, 12))
def test_of_several_passes_another_number_of_processes_takes_over_the_rest(count, size, before, after, steps):
    began = [epoch_order(count, size, [0, 0, 1], rank, before, passes=3) for rank in range(before)]
    steps = min(steps, len(began[0].batches))
    rest = [epoch_order(count, size, [0, 0, 1], rank, after, [(before, steps)], 3) for rank in range(after)]
    drawn = [part.batches[:steps] for part in began] + [part.batches[steps:] for part in rest]
    assert sorted(int(row) for part in drawn for batch in part for row in batch) == sorted([*range(count)] * 3)
