"""Learning rates are those of torch's schedulers, and the running mean is what a plain loop gives."""

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import lr_scheduler

from trilabel.config import Config
from trilabel.training import checkpoint
from trilabel.training.optim import ModelEma, RowAdam, create_optimizer, learning_rate

quick = settings(max_examples=40, deadline=None)
steps, epochs = st.integers(1, 12), st.integers(1, 9)


def by_torch(lr, make_scheduler, count, every=1):
    """The rate at each of `count` steps of a torch scheduler that moves on after `every` steps."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=lr)
    scheduler = make_scheduler(optimizer)
    rates = []
    for step in range(count):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if (step + 1) % every == 0 and step + 1 < count:
            scheduler.step()
    return rates


def ours(config, lr, per_epoch, epochs):
    return [learning_rate(config, lr, step, per_epoch, epochs) for step in range(per_epoch * epochs)]


@quick
@given(steps, epochs, st.integers(1, 4), st.floats(0.05, 0.9))
def test_step_is_torchs(per_epoch, epochs, every, factor):
    config = Config(lr_schedule="step", lr_step_epochs=every, lr_step_factor=factor)
    expected = by_torch(0.3, lambda o: lr_scheduler.StepLR(o, every, factor), per_epoch * epochs, per_epoch)
    assert ours(config, 0.3, per_epoch, epochs) == pytest.approx(expected, rel=1e-6)


@quick
@given(steps, epochs)
def test_cosine_is_torchs(per_epoch, epochs):
    total = per_epoch * epochs
    expected = by_torch(0.3, lambda o: lr_scheduler.CosineAnnealingLR(o, total), total)
    assert ours(Config(lr_schedule="cosine"), 0.3, per_epoch, epochs) == pytest.approx(expected, rel=1e-6)


@quick
@given(steps, epochs)
def test_one_cycle_is_torchs(per_epoch, epochs):
    total = per_epoch * epochs
    expected = by_torch(0.012, lambda o: lr_scheduler.OneCycleLR(o, 0.3, total, cycle_momentum=False), total)
    assert ours(Config(lr_schedule="one-cycle"), 0.3, per_epoch, epochs) == pytest.approx(expected, rel=1e-6)


def test_constant_is_constant():
    assert set(ours(Config(), 0.3, 4, 3)) == {0.3}


@pytest.mark.parametrize("schedule", ["constant", "step", "cosine", "one-cycle"])
def test_a_step_beyond_the_end_has_a_rate_too(schedule):
    for step in (6, 7, 100):
        rate = learning_rate(Config(lr_schedule=schedule), 0.3, step, 3, 2)
        assert 0 <= rate <= 0.3


# ---- optimizers


@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("adam", torch.optim.Adam, {"weight_decay": 0.02}),
        ("adamw", torch.optim.AdamW, {"weight_decay": 0.02}),
        ("sgd", torch.optim.SGD, {"weight_decay": 0.02, "momentum": 0.7}),
        ("rmsprop", torch.optim.RMSprop, {"weight_decay": 0.02, "momentum": 0.7}),
    ],
)
def test_groups_have_their_own_rates_and_settings(name, kind, options):
    config = Config(optimizer=name, weight_decay=0.02, momentum=0.7)
    one, two, three = (nn.Parameter(torch.ones(size)) for size in (2, 3, 4))
    optimizer = create_optimizer(config, [([one], 1.0), ([], 5.0), ([two, three], 10.0)], 0.01)
    assert type(optimizer) is kind and len(optimizer.param_groups) == 2
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.01, 0.1])
    assert [group["scale"] for group in optimizer.param_groups] == [1.0, 10.0]
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 2]
    for group in optimizer.param_groups:
        assert {key: group[key] for key in options} == options


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "rmsprop"])
def test_steps_are_those_of_an_optimizer_made_by_hand(name):
    torch.manual_seed(0)
    mine, plain = nn.Linear(5, 3), nn.Linear(5, 3)
    plain.load_state_dict(mine.state_dict())
    optimizer = create_optimizer(Config(optimizer=name, weight_decay=0.1), [(list(mine.parameters()), 2.0)], 0.01)
    kinds = {
        "adam": torch.optim.Adam,
        "adamw": torch.optim.AdamW,
        "sgd": torch.optim.SGD,
        "rmsprop": torch.optim.RMSprop,
    }
    options = {"sgd": {"momentum": 0.9}, "rmsprop": {"momentum": 0.9, "alpha": 0.9, "eps": 1.0}}.get(name, {})
    other = kinds[name](plain.parameters(), lr=0.02, weight_decay=0.1, **options)
    for _ in range(4):
        x = torch.randn(8, 5)
        for network, chosen in ((mine, optimizer), (plain, other)):
            chosen.zero_grad()
            network(x).square().sum().backward()
            chosen.step()
    torch.testing.assert_close(mine.weight, plain.weight)


# ---- Adam by rows


def gradients(count, shape, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=draw) for _ in range(count)]


def after_steps(optimizer, weights, given):
    for gradient in given:
        weights.grad = gradient.clone()
        optimizer.step()
    return weights.detach().clone()


def by_rows(shape=(3, 5), lr=0.1):
    weights = nn.Parameter(torch.zeros(shape))
    return create_optimizer(Config(), [([weights], 1.0)], lr, by_rows=True), weights


def test_a_row_moves_along_the_mean_of_its_gradients():
    optimizer, weights = by_rows()
    expected, mean, square = torch.zeros(3, 5), torch.zeros(3, 5), [0.0] * 3
    given = gradients(6, (3, 5))
    for number, gradient in enumerate(given, start=1):
        for row in range(3):
            mean[row] = 0.9 * mean[row] + 0.1 * gradient[row]
            square[row] = 0.99 * square[row] + 0.01 * float((gradient[row] ** 2).mean())
            size = (square[row] / (1 - 0.99**number)) ** 0.5
            expected[row] -= 0.1 * mean[row] / (1 - 0.9**number) / size
    torch.testing.assert_close(after_steps(optimizer, weights, given), expected, atol=1e-5, rtol=1e-4)


def test_neither_the_scale_of_the_loss_nor_a_rotation_of_the_features_matters():
    given = gradients(6, (3, 5))
    turned = torch.linalg.qr(torch.randn(5, 5)).Q
    plain = after_steps(*by_rows(), given)
    torch.testing.assert_close(after_steps(*by_rows(), [1000 * each for each in given]), plain, atol=1e-5, rtol=1e-4)
    rotated = after_steps(*by_rows(), [each @ turned for each in given])
    torch.testing.assert_close(rotated, plain @ turned, atol=1e-5, rtol=1e-4)


def test_other_groups_are_plain_adams():
    mine, plain = nn.Parameter(torch.ones(3, 5)), nn.Parameter(torch.ones(3, 5))
    optimizer = RowAdam([{"params": [mine], "lr": 0.1}])
    other = torch.optim.Adam([plain], lr=0.1, betas=(0.9, 0.99))
    given = gradients(6, (3, 5))
    torch.testing.assert_close(after_steps(optimizer, mine, given), after_steps(other, plain, given))


def test_what_was_saved_of_it_continues_as_if_it_had_not_been():
    given = gradients(6, (3, 5))
    optimizer, weights = by_rows()
    begun = after_steps(optimizer, weights, given[:3])
    saved = {name: value.clone() for name, value in checkpoint.optimizer_tensors(optimizer).items()}
    again, continued = by_rows()
    continued.data.copy_(begun)
    checkpoint.restore_optimizer(again, saved)
    assert torch.equal(after_steps(again, continued, given[3:]), after_steps(optimizer, weights, given[3:]))


# ---- the running mean


def network():
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))


def shaken(module, seed):
    """Other weights, other statistics, another count of batches."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for value in module.state_dict().values():
            if value.is_floating_point():
                value.copy_(torch.randn(value.shape, generator=draw))
            else:
                value.fill_(seed)


@pytest.mark.parametrize("decay", [0.5, 0.9, 0.999])
def test_the_running_mean_is_that_of_a_plain_loop(decay):
    module = network()
    mean = ModelEma(module, decay)
    expected = {name: value.double() for name, value in module.state_dict().items()}
    for step in range(1, 30):
        shaken(module, step)
        mean.update(step)
        kept = min(decay, step / (step + 9))
        for name, value in module.state_dict().items():
            expected[name] = kept * expected[name] + (1 - kept) * value.double()
    for name, value in mean.state.items():
        if name.endswith("num_batches_tracked"):
            assert value.dtype == torch.int64 and int(value) == 29, "a count is copied, not averaged"
        else:
            torch.testing.assert_close(value.double(), expected[name], rtol=1e-5, atol=1e-6)


def test_the_mean_is_a_copy():
    module = network()
    mean = ModelEma(module, 0.9)
    before = copy.deepcopy(mean.state)
    shaken(module, 1)
    assert all(torch.equal(mean.state[name], value) for name, value in before.items())
    now = copy.deepcopy(module.state_dict())
    mean.update(1)
    assert all(torch.equal(module.state_dict()[name], value) for name, value in now.items())
    assert not any(value.requires_grad for value in mean.state.values())


def test_swapping_exchanges_and_swapping_again_undoes_it():
    module = network()
    parameters = list(module.parameters())
    mean = ModelEma(module, 0.9)
    shaken(module, 5)
    mean.update(1)
    weights, average = copy.deepcopy(module.state_dict()), copy.deepcopy(mean.state)
    mean.swap()
    for name in weights:
        assert torch.equal(module.state_dict()[name], average[name]) and torch.equal(mean.state[name], weights[name])
    mean.swap()
    for name in weights:
        assert torch.equal(module.state_dict()[name], weights[name]) and torch.equal(mean.state[name], average[name])
    assert all(map(lambda a, b: a is b, module.parameters(), parameters)), "an optimizer still holds the same ones"


def test_swapping_and_loading_leave_every_tensor_where_it_is():
    """Recorded passes and optimizers know places in memory, not names."""
    module = network()
    mean = ModelEma(module, 0.9)

    def places():
        return [value.data_ptr() for state in (module.state_dict(), mean.state) for value in state.values()]

    before = places()
    shaken(module, 2)
    mean.update(1)
    mean.swap()
    mean.load(copy.deepcopy(module.state_dict()))
    assert places() == before and len(set(before)) == len(before)


def test_an_ema_that_was_saved_continues_as_if_it_had_not_been():
    one, two = network(), network()
    mean = ModelEma(one, 0.9)
    for step in range(1, 4):
        shaken(one, step)
        mean.update(step)
    again = ModelEma(two, 0.9)
    saved = copy.deepcopy(mean.state)
    again.load(saved)
    for step in range(4, 6):
        for module, each in ((one, mean), (two, again)):
            shaken(module, step)
            each.update(step)
    assert mean.state.keys() == again.state.keys()
    assert all(torch.equal(again.state[name], value) for name, value in mean.state.items())
    assert not any(torch.equal(saved[name], value) for name, value in mean.state.items()), "what was read is a copy"
    again.swap()
    assert all(torch.equal(two.state_dict()[name], value) for name, value in mean.state.items())
