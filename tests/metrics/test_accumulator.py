"""Scores collected in any order and from two processes."""

import pytest
import torch

from tests.support import two_processes
from trilabel import metrics
from trilabel.errors import TrilabelError


def test_accumulator_puts_scores_in_the_order_of_the_data_set():
    expected = torch.rand(7, 3)
    one, two = metrics.Accumulator(7, 3), metrics.Accumulator(7, 3)
    one.add(torch.tensor([6, 0, 3]), expected[[6, 0, 3]].double().requires_grad_())
    two.add(torch.tensor([1, 3, 5]), expected[[1, 3, 5]])
    two.add(torch.tensor([], dtype=torch.long), torch.empty(0, 3))
    one.merge(two)
    with pytest.raises(TrilabelError, match="2 of 7 images were never scored, the first at position 2"):
        one.scores()
    one.add(torch.tensor([2, 4]), expected[[2, 4]].bfloat16())
    one.add(torch.tensor([2, 4]), expected[[2, 4]])
    one.gather(lambda tensor: tensor)  # Fabric adds no dimension where there is one process
    assert one.scores().dtype == torch.float32 and torch.equal(one.scores(), expected)


@pytest.mark.parametrize(
    ("index", "shape", "message"),
    [([0, 7], (2, 3), "positions 0 to 7"), ([-1], (1, 3), "positions -1"), ([1], (1, 2), "B×3"), ([1], (2, 3), "B×3")],
)
def test_accumulator_refuses_what_does_not_fit(index, shape, message):
    with pytest.raises(TrilabelError, match=message):
        metrics.Accumulator(7, 3).add(torch.tensor(index), torch.zeros(shape))


@pytest.mark.parametrize("first", [[0, 2, 4, 6, 8, 10], [0], [], list(range(11))])
def test_two_processes_count_every_image_once(in_two, first):
    second = [i for i in range(11) if i not in first] or [10, 0]  # as padding does: some are scored twice
    second = [*second, first[0]] if first else second
    expected = [[i, i + 0.5] if i in second else [-1, -1] for i in range(11)]
    assert in_two(two_processes.gather_scores, (first, second)) == [expected, expected]
