"""The table moves as Adam over all of it would, and writes only the rows of the batch."""

import numpy as np
import pytest
import torch

from trilabel.methods import lazy_adam
from trilabel.methods.lazy_adam import LazyAdamTable
from trilabel.testing.threads import as_processes

BUFFERS = ("memory", "last", "rate", "updated")


def batches_of_rows(rows, steps, most, seed=0):
    """Rows of each step: never one twice in a step, some in consecutive steps and some hundreds of steps apart."""
    draw = np.random.default_rng(seed)
    often = np.arange(rows // 2)
    for step in range(steps):
        pool = np.arange(rows) if step % 97 == 0 else often
        yield torch.from_numpy(draw.choice(pool, draw.integers(1, most + 1), replace=False))


def both(rows=24, size=5, steps=600, lr=0.01, scale=1.0, seed=0):
    """(table, Adam's parameter, both at the start) after the same gradients; they agree at every read."""
    torch.manual_seed(seed)
    first = torch.randn(rows, size)
    table, dense = LazyAdamTable(first.clone()), torch.nn.Parameter(first.clone())
    adam = torch.optim.Adam([dense], lr=lr)
    for chosen in batches_of_rows(rows, steps, 6, seed):
        gradient = scale * (torch.randn(len(chosen), size) + 0.5)
        torch.testing.assert_close(table.read(chosen).values, dense.detach()[chosen], rtol=1e-4, atol=3e-5 * lr / 0.01)
        table.update(table.read(chosen), gradient, lr)
        dense.grad = torch.zeros_like(dense)
        dense.grad[chosen] = gradient
        adam.step()
    return table, dense.detach(), first


@pytest.mark.parametrize("lr", [0.01, 0.1])
@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_it_is_adam_over_the_whole_table(lr, scale):
    table, dense, first = both(lr=lr, scale=scale)
    moved = (dense - first).abs().mean()
    assert moved > 5 * lr
    assert (table.current() - dense).abs().max() < 1e-4 * moved
    # A table without the steps between updates would miss far more than that.
    assert (table.values - dense).abs().max() > 0.01 * moved
    assert torch.equal(table.current(), table.read(torch.arange(24)).values)


@pytest.mark.parametrize("scale", [1e-6, 1e-7, 1e-8])
def test_gradients_as_small_as_the_eps_of_adam(scale):
    # A loss that is divided by images × classes has such gradients; eps then differs a little from step to step.
    torch.manual_seed(1)
    table, dense = LazyAdamTable(torch.zeros(4, 3)), torch.nn.Parameter(torch.zeros(4, 3))
    adam = torch.optim.Adam([dense], lr=0.01)
    for step in range(400):
        chosen, gradient = torch.tensor([step % 4 if step % 50 else 3]), scale * (torch.randn(1, 3) + 0.5)
        table.update(table.read(chosen), gradient, 0.01)
        dense.grad = torch.zeros_like(dense)
        dense.grad[chosen] = gradient
        adam.step()
    moved = dense.detach().abs().mean()
    assert moved > 0.05
    assert (table.current() - dense.detach()).abs().max() < 1e-3 * moved


@pytest.mark.parametrize("gap", [0, 1, 2, 50, 127, 128, 129, 1_000])
def test_one_update_and_what_momentum_makes_of_it(gap):
    table, dense = LazyAdamTable(torch.zeros(2, 2)), torch.nn.Parameter(torch.zeros(2, 2))
    adam, gradient = torch.optim.Adam([dense], lr=0.01), torch.tensor([[1.0, -1e-5], [0.0, 0.0]])
    for step in range(gap + 1):
        dense.grad = gradient if step == 0 else torch.zeros(2, 2)
        adam.step()
        if step == 0:
            table.update(table.read(torch.tensor([0])), gradient[:1], 0.01)
        else:
            table.update(table.read(torch.tensor([1])), gradient[1:], 0.01)
    torch.testing.assert_close(table.current(), dense.detach(), rtol=2e-5, atol=1e-7)
    assert torch.equal(table.values[0], table.read(torch.tensor([0])).values[0]) == (gap == 0)


def test_momentum_moves_a_row_nine_times_as_far_as_its_update():
    table = LazyAdamTable(torch.zeros(2, 1))
    table.step += 20_000
    table.update(table.read(torch.tensor([0])), torch.ones(1, 1), 0.01)
    at_once = float(table.read(torch.tensor([0])).values)
    table.step += 500
    assert float(table.read(torch.tensor([0])).values) == pytest.approx(10 * at_once, rel=0.01)


def test_no_other_row_is_written_and_reading_changes_nothing():
    table, _, _ = both(steps=200)
    before = {name: getattr(table, name).clone() for name in BUFFERS}
    chosen = torch.tensor([3, 20])
    table.read(torch.arange(24))
    table.current()
    assert all(torch.equal(getattr(table, name), before[name]) for name in BUFFERS)
    table.update(table.read(chosen), torch.ones(2, 5), 0.03)
    others = [row for row in range(24) if row not in chosen]
    for name in BUFFERS:
        assert torch.equal(getattr(table, name)[others], before[name][others])
    assert (table.values[chosen] != before["memory"][chosen, 0]).all()
    assert table.step == 201 and table.last[chosen].tolist() == [201, 201]


def test_an_old_learning_rate_holds_until_the_next_update():
    table, dense = LazyAdamTable(torch.zeros(1, 1)), torch.nn.Parameter(torch.zeros(1, 1))
    adam = torch.optim.Adam([dense], lr=0.01)
    for step in range(10):
        dense.grad = torch.tensor([[1.0 if step in (0, 9) else 0.0]])
        adam.param_groups[0]["lr"] = 0.5 if step == 9 else 0.01
        adam.step()
    table.update(table.read(torch.tensor([0])), torch.ones(1, 1), 0.01)
    table.step += 8
    table.update(table.read(torch.tensor([0])), torch.ones(1, 1), 0.5)
    torch.testing.assert_close(table.values, dense.detach())


def test_it_continues_from_what_was_saved():
    table, _, _ = both(steps=300)
    again = LazyAdamTable(torch.zeros(24, 5))
    again.load_state_dict(table.state_dict())
    for chosen in batches_of_rows(24, 50, 6, seed=9):
        for one in (table, again):
            one.update(one.read(chosen), torch.ones(len(chosen), 5), 0.02)
    assert torch.equal(table.current(), again.current())
    assert not list(table.parameters())


def test_a_reset_keeps_the_values_and_resets_adam():
    table, dense, _ = both(steps=300)
    current = table.current()
    table.reset_optimizer()
    assert torch.equal(table.values, current) and torch.equal(table.current(), current)
    torch.testing.assert_close(current, dense, rtol=1e-4, atol=1e-4)
    fresh = LazyAdamTable(current.clone())
    for one in (table, fresh):
        one.update(one.read(torch.tensor([1, 2])), torch.ones(2, 5), 0.01)
        one.update(one.read(torch.tensor([2, 4])), torch.ones(2, 5), 0.01)
    assert torch.equal(table.current(), fresh.current())


def test_a_table_in_parts_is_the_same(monkeypatch):
    whole, _, _ = both(steps=100)
    monkeypatch.setattr(lazy_adam, "_VALUES_AT_ONCE", 7 * 5)
    parts, _, _ = both(steps=100)
    assert torch.equal(whole.current(), parts.current())
    whole.reset_optimizer()
    assert torch.equal(whole.values, parts.current())


# ---- several processes


def sync(tables):
    """Syncs the tables, each in a thread that stands for a process."""
    as_processes(len(tables), lambda rank, all_reduce: tables[rank].sync(all_reduce))


def test_two_processes_have_what_one_would(monkeypatch):
    monkeypatch.setattr(lazy_adam, "_VALUES_AT_ONCE", 7 * 3)
    torch.manual_seed(2)
    first = torch.randn(20, 3)
    one, two = LazyAdamTable(first.clone()), [LazyAdamTable(first.clone()), LazyAdamTable(first.clone())]
    for epoch in range(3):
        order = torch.randperm(20)[:16].view(4, 2, 2)  # steps × processes × images; some rows rest
        for step in order:
            gradients, lr = torch.randn(2, 2, 3), 0.1 / (1 + epoch)
            one.update(one.read(step.flatten()), gradients.flatten(0, 1), lr)
            for table, rows, gradient in zip(two, step, gradients, strict=True):
                table.update(table.read(rows), gradient, lr)
        sync(two)
        for table in two:
            for name in ("memory", "last", "rate"):
                assert torch.equal(getattr(table, name), getattr(one, name)), name
            assert table.step == one.step and not table.updated.any()


def test_a_row_that_two_processes_updated_becomes_their_mean():
    two = [LazyAdamTable(torch.ones(4, 2)), LazyAdamTable(torch.ones(4, 2))]
    for step in range(9):
        for rank, table in enumerate(two):
            row = 0 if step == (2, 7)[rank] else 1 + rank
            table.update(table.read(torch.tensor([row])), torch.full((1, 2), 1.0 + rank), 0.1)
    current, own = [table.current() for table in two], [table.values[1 + rank] for rank, table in enumerate(two)]
    expected = torch.stack([(current[0][0] + current[1][0]) / 2, current[0][1], current[1][2], torch.ones(2)])
    assert (current[0][0] != current[1][0]).all()
    sync(two)
    for table in two:
        torch.testing.assert_close(table.current(), expected)
        assert torch.equal(table.values[1], own[0]) and torch.equal(table.values[2], own[1])
        assert table.last.tolist() == [9, 9, 9, 0]
    assert all(torch.equal(first, second) for first, second in zip(two[0].buffers(), two[1].buffers(), strict=True))


def test_a_process_that_missed_a_step_keeps_up():
    two = [LazyAdamTable(torch.ones(4, 2)), LazyAdamTable(torch.ones(4, 2))]
    for rank, steps in enumerate((1, 3)):
        for _ in range(steps):
            two[rank].update(two[rank].read(torch.tensor([rank])), torch.ones(1, 2), 0.1)
    expected = two[1].current()[1]
    sync(two)
    assert [table.step for table in two] == [3, 3]
    assert torch.equal(two[0].current(), two[1].current()) and torch.equal(two[0].current()[1], expected)


def test_syncing_one_process_changes_nothing():
    table, _, _ = both(steps=100)
    before = {name: buffer.clone() for name, buffer in table.named_buffers()}
    table.sync(lambda tensor, how: tensor)
    assert all(torch.equal(buffer, before[name]) for name, buffer in table.named_buffers() if name != "updated")


def test_nothing_waits_for_the_device():
    # On the meta device there are no values: reading one fails.
    table = LazyAdamTable(torch.zeros(10, 3)).to("meta")
    rows = torch.arange(4, device="meta")
    table.update(table.read(rows), table.read(rows).values, 0.1)
    table.reset_optimizer()
    assert table.current().shape == (10, 3)
