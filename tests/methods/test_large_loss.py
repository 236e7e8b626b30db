"""large-loss is LL-R, LL-Ct or LL-Cp by its mode; LL-Cp remembers for good, and all find hidden positives."""

import math

import numpy as np
import pytest
import torch
from hypothesis import settings

from tests.oracles import losses as oracle
from tests.support.one_positive import found, linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.methods import large_loss as module
from trilabel.models import Output
from trilabel.testing.threads import as_processes

LABELS = Labels.from_signed([[1, 0, -1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, -1, 0], [1, -1, -1, 1, -1]])
MODES = ("reject", "correct", "correct-for-good")
quick = settings(max_examples=60, deadline=None)


def as_they_are(logits):
    """A model whose logits are its images."""
    return Output(logits, logits)


def some_logits(shape=(4, 5), seed=0):
    return 2 * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def step(method, logits, epoch, labels=LABELS, rows=None):
    rows = torch.arange(len(labels)) if rows is None else torch.as_tensor(rows)
    return method.step(as_they_are, Batch(logits, None, labels.rows(rows.numpy()), rows, epoch))


def for_good(delta=20, labels=LABELS, **more):
    return create_method("large-loss", {"mode": "correct-for-good", "delta": delta, **more}, labels)


# ---- the loss


@pytest.mark.parametrize("mode", ["reject", "correct"])
@pytest.mark.parametrize("chosen", [{}, {"delta": "7.5"}, {"delta": 50}, {"start": "1.5", "delta": 0.25}])
@pytest.mark.parametrize("epoch", [1, 2, 4, 30])
def test_each_setting_is_the_loss_it_names(mode, chosen, epoch):
    logits, known = some_logits(), LABELS.rows(np.arange(4))
    parts = step(create_method("large-loss", {"mode": mode, **chosen}, LABELS), logits, epoch)
    start = float(chosen["start"]) if "start" in chosen else None
    expected = losses.large_loss(logits, known, epoch, float(chosen.get("delta", 0.2)), mode, start)
    assert torch.equal(parts["loss"], expected) and set(parts) == {"loss", "logits", "targets"}
    changed = parts["targets"] != losses.unknown_as_absent(known)
    assert bool(changed.any()) == (epoch > 1)
    assert (parts["targets"][changed] == (0 if mode == "reject" else 1)).all() and (known[changed] == 0).all()


@pytest.mark.parametrize("delta", [0, 0.2, 7.5, 20, 100])
def test_a_percentage_of_the_unknown_labels_alone(delta):
    logits, known = some_logits(), LABELS.rows(np.arange(4))
    unknown = int((known == 0).sum())
    for epoch in (1, 2, 4, 30):
        method = create_method("large-loss", {"delta": delta, "percent_of": "unknown"}, LABELS)
        left_out = step(method, logits, epoch)["targets"] == 0
        count = math.ceil(round(min(unknown, unknown * (epoch - 1) * delta / 100), 9))
        assert left_out.sum() == count and (known[left_out] == 0).all()
        if count:
            largest = logits[known == 0].sort(descending=True).values[:count]
            assert torch.equal(logits[left_out].sort(descending=True).values, largest)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("start", [None, 0.01])
def test_the_first_epoch_is_plain_assume_negative(mode, start):
    method = create_method("large-loss", {"mode": mode, "delta": 50, "start": start}, LABELS)
    logits, known = some_logits(), LABELS.rows(np.arange(4))
    parts = step(method, logits, 1)
    assert torch.equal(parts["loss"], losses.assume_negative(logits, known))
    assert torch.equal(parts["targets"], torch.where(known > 0, 1, -1))
    assert method.weak is None or not method.weak.any()


def test_reject_is_the_default_at_a_fifth_of_a_percent():
    labels = Labels.from_signed(np.eye(40, 50, dtype=np.int8))
    parts = step(create_method("large-loss", {}, labels), some_logits((40, 50)), 3, labels)
    assert int((parts["targets"] == 0).sum()) == 8  # 2 × 0.2 % of 2,000


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("epoch", [1, 2, 5])
def test_taken_is_what_was_scored(mode, epoch):
    method = create_method("large-loss", {"mode": mode, "delta": 20}, LABELS)
    for seed in range(3):
        logits, known = some_logits(seed=seed), LABELS.rows(np.arange(4))
        parts = step(method, logits, epoch)
        assert torch.equal(parts["loss"], losses.bce(logits, parts["targets"]))
        assert torch.equal(parts["targets"][known != 0], known[known != 0])
        assert torch.equal(parts["logits"], logits)


@pytest.mark.parametrize("mode", MODES)
def test_fewer_unknown_than_are_to_change(mode):
    """All of them do, and no known one."""
    method, known = create_method("large-loss", {"mode": mode, "delta": 100}, LABELS), LABELS.rows(np.arange(4))
    step(method, some_logits(), 2)
    targets = step(method, some_logits(seed=1), 3)["targets"]
    expected = torch.where(known == 0, 0 if mode == "reject" else 1, known)
    assert torch.equal(targets, expected)
    full = Labels.from_signed([[1, -1], [-1, 1]])  # nothing is unknown at all
    method = create_method("large-loss", {"mode": mode, "delta": 100}, full)
    assert torch.equal(step(method, some_logits((2, 2)), 9, full)["targets"], full.rows([0, 1]))


@pytest.mark.parametrize("mode", MODES)
def test_half_precision(mode):
    method = create_method("large-loss", {"mode": mode, "delta": 20}, LABELS)
    logits = some_logits().bfloat16().requires_grad_()
    parts = step(method, logits, 2)
    assert parts["loss"].dtype == torch.float32 and parts["logits"].dtype == torch.bfloat16
    parts["loss"].backward()
    assert torch.isfinite(logits.grad).all()
    again = create_method("large-loss", {"mode": mode, "delta": 20}, LABELS)
    assert torch.equal(parts["targets"], step(again, logits.detach().float(), 2)["targets"])


# ---- what correct-for-good remembers


@pytest.mark.parametrize("classes", [1, 7, 8, 9])
@pytest.mark.parametrize("chosen", [{"delta": 3}, {"delta": 20}, {"delta": 0.3, "start": 1.5}])
def test_for_good_is_the_plain_loop(classes, chosen):
    """Four epochs in batches, beside a set of labels that were written down."""
    draw = np.random.default_rng(classes)
    dense = draw.choice([1, 0, 0, 0, -1], (11, classes)).astype(np.int8)
    dense[0, 0] = 1
    labels = Labels.from_signed(dense)
    method, written = for_good(labels=labels, **chosen), set()
    for epoch in range(1, 5):
        for rows in np.split(draw.permutation(11), [4, 8]):
            logits = torch.from_numpy(draw.normal(0, 2, (len(rows), classes)).round(1))
            now = [[1 if (row, c) in written else int(dense[row, c]) for c in range(classes)] for row in rows]
            parts = step(method, logits, epoch, labels, rows)
            assert parts["loss"].item() == pytest.approx(oracle.assume_negative(logits.tolist(), now), rel=1e-9)
            assert parts["targets"].tolist() == [[1 if z > 0 else -1 for z in row] for row in now]
            if epoch == 1:
                continue
            if "start" in chosen:
                large = oracle.unknown_above(logits.tolist(), now, chosen["start"] - epoch * chosen["delta"])
            else:
                large = oracle.largest_unknown(logits.tolist(), now, math.ceil(logits.numel() * chosen["delta"] / 100))
            written |= {(row, c) for row, flags in zip(rows, large, strict=True) for c in range(classes) if flags[c]}
        expected = np.zeros_like(dense)
        for place in written:
            expected[place] = 1
        assert np.array_equal(method.weak_labels().toarray(), expected)
    assert written and all(dense[place] == 0 for place in written)


def test_a_label_counts_from_the_next_visit_on_and_stays():
    labels = Labels.from_signed([[1, 0, 0, -1]])
    method, logits = for_good(25, labels), torch.tensor([[0.0, 5.0, -1.0, 9.0]])  # the known negative costs most
    assert step(method, logits, 1, labels)["targets"].tolist() == [[1, -1, -1, -1]]
    assert step(method, logits, 2, labels)["targets"].tolist() == [[1, -1, -1, -1]]
    assert method.weak_labels().toarray().tolist() == [[0, 1, 0, 0]]
    for epoch, weak in ((3, [0, 1, 1, 0]), (4, [0, 1, 1, 0]), (5, [0, 1, 1, 0])):
        targets = step(method, -logits, epoch, labels)["targets"]
        assert targets.tolist() == [[1, 1, 1 if epoch > 3 else -1, -1]]
        assert method.weak_labels().toarray().tolist() == [weak]
    # A new stage begins at epoch 1 with what the one before wrote down.
    assert step(method, logits, 1, labels)["targets"].tolist() == [[1, 1, 1, -1]]


def test_only_rows_of_the_batch_are_written():
    method = for_good(50)
    step(method, some_logits((2, 5)), 2, rows=[2, 1])
    weak = method.weak_labels().toarray()
    assert weak[[1, 2]].any(1).all() and not weak[[0, 3]].any()


def test_a_row_of_all_unknown():
    labels = Labels.from_signed([[0, 0, 0], [1, 0, 0]])
    method = for_good(100, labels)
    step(method, some_logits((2, 3)), 2, labels)
    assert method.weak_labels().toarray().tolist() == [[1, 1, 1], [0, 1, 1]]


def test_the_other_modes_write_nothing_down():
    for mode in ("reject", "correct"):
        method = create_method("large-loss", {"mode": mode, "delta": 50}, LABELS)
        step(method, some_logits(), 3)
        assert method.weak_labels() is None and not method.state_dict()


def test_it_resumes_from_what_was_saved():
    method, again = for_good(), for_good()
    step(method, some_logits(), 2)
    again.load_state_dict(method.state_dict())
    assert method.weak.any() and torch.equal(method.weak, again.weak)
    for seed in (1, 2):
        one, two = (step(each, some_logits(seed=seed), 3) for each in (method, again))
        assert torch.equal(one["loss"], two["loss"]) and torch.equal(one["targets"], two["targets"])
    assert torch.equal(method.weak, again.weak)


@pytest.mark.parametrize("classes", [5, 8, 17])
def test_what_one_process_wrote_down_all_know(classes, monkeypatch):
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 3)
    dense = np.zeros((8, classes), np.int8)
    dense[:, 0] = 1
    labels = Labels.from_signed(dense)
    two = [for_good(30, labels), for_good(30, labels)]
    for rank, method in enumerate(two):  # row 6 is in batches of both, row 7 of none
        rows = [0, 2, 4, 6] if rank == 0 else [1, 3, 5, 6]
        step(method, some_logits((4, classes), seed=rank), 2, labels, rows)
    apart = [method.weak_labels().toarray() for method in two]
    assert not np.array_equal(*apart) and (apart[0][6] != apart[1][6]).any()
    as_processes(2, lambda rank, all_reduce: two[rank].sync(all_reduce))
    for method in two:
        assert np.array_equal(method.weak_labels().toarray(), np.maximum(*apart))


def test_memory_is_a_bit_a_label():
    labels = Labels.from_signed(np.eye(100, 80, dtype=np.int8))
    assert sum(buffer.nbytes for buffer in for_good(labels=labels).buffers()) == 100 * 80 / 8


# ---- what is refused


@pytest.mark.parametrize("delta", [-0.1, math.nan, 100.5, math.inf])
@pytest.mark.parametrize("mode", MODES)
def test_an_amount_that_makes_no_sense_is_refused(mode, delta):
    with pytest.raises(
        TrilabelError, match=r"delta is a percentage, 0 to 100 .*, not |'delta' .* must be a finite number"
    ):
        check_method("large-loss", {"mode": mode, "delta": delta}, LABELS)
    check_method("large-loss", {"mode": mode, "delta": 100}, LABELS)
    check_method("large-loss", {"mode": mode, "delta": 200, "start": 1}, LABELS)


def test_labels_without_positives_are_refused():
    for dense in ([[-1, 0]], [[0, 0]]):
        with pytest.raises(TrilabelError, match=r"^large-loss: no label here is known to be present"):
            check_method("large-loss", {}, Labels.from_signed(dense))


# ---- what it is for


def test_it_calls_more_hidden_positives_than_assuming_absence():
    """A fifth of the labels are hidden positives, so 1 % more of them an epoch reaches that in twenty."""
    features, truth, labels, _ = one_positive_problem()
    results = {}
    for name, chosen in (("assume-negative", {}), *(("large-loss", {"mode": mode, "delta": 1}) for mode in MODES)):
        model = linear_model(features.shape[1], labels.shape[1])
        method = create_method(name, chosen, labels)
        train(method, model, features, labels)
        results[chosen.get("mode")] = found(model, features, truth, labels)
    few, wrong = results.pop(None)
    assert few < 0.25 and results.keys() == set(MODES)
    for mode, (many, right) in results.items():
        assert many > 0.6 and right > wrong + 0.05, mode
    weak = method.weak_labels().toarray() > 0
    assert weak.mean() > 0.1 and (truth[weak] > 0).mean() > 0.7  # by chance: 0.22
