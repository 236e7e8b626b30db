"""The numbers on unknown labels are those of a plain loop over all labels, also across processes and restarts."""

import json
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from tests.oracles import diagnosis as oracle
from trilabel.labels import Labels
from trilabel.testing.threads import as_processes
from trilabel.training import diagnosis as module
from trilabel.training.diagnosis import Diagnosis
from trilabel.training.record import EpochRecord

quick = settings(max_examples=50, deadline=None)


def alone(tensor, how):
    return tensor


def labels_and_truth(draw, images, classes):
    """Known labels agree with the truth; of an unknown one the truth may not be known either."""
    truth = draw.choice([1, -1, 0], (images, classes), p=[0.4, 0.4, 0.2]).astype(np.int8)
    return np.where(draw.random(truth.shape) < 0.4, truth, 0), truth


def steps_of(draw, images, classes, epochs, with_taken=True, left_out=0.1):
    """Every epoch visits the images once in batches, but for some that could not be read. Losses tie now and then."""
    for epoch in range(1, epochs + 1):
        order = draw.permutation(images)
        order = order[draw.random(images) >= left_out]
        for rows in np.array_split(order, 3):
            logits = draw.choice([-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.0, 30.0], (len(rows), classes))
            taken = draw.choice([-1, 0, 1], (len(rows), classes)) if with_taken else None
            if len(rows):
                yield epoch, rows.tolist(), logits.tolist(), None if taken is None else taken.tolist()


def note(diagnosis, step, dense, truth):
    epoch, rows, logits, taken = step
    parts = {"logits": torch.tensor(logits), "loss": torch.tensor(0.0)}
    if taken is not None:
        parts["targets"] = torch.tensor(taken, dtype=torch.int8)
    known = None if truth is None else torch.from_numpy(truth[rows])
    diagnosis.note(epoch, np.array(rows), torch.tensor(rows), torch.from_numpy(dense[rows]), known, parts)


def follow(diagnosis, steps, dense, truth):
    """Notes the steps, epoch by epoch as the loop does."""
    epoch = 0
    for step in steps:
        if step[0] != epoch:
            epoch = step[0]
            diagnosis.start_epoch(epoch)
        note(diagnosis, step, dense, truth)


def made(dense, truth):
    return Diagnosis(Labels.from_signed(dense), None if truth is None else Labels.from_signed(truth))


def told(summary):
    """A summary as a record of an epoch says it in JSON: without what there is nothing to tell of."""
    record = EpochRecord("fine-tune", 1, 0.0, **vars(summary)).to_json()
    assert EpochRecord.from_json(json.loads(json.dumps(record))).to_json() == record
    return {name: value for name, value in record.items() if name in vars(summary)}


def told_in_sum(summary):
    """The same without the single labels, which have tests of their own."""
    return {name: value for name, value in told(summary).items() if name != "examples"}


def assert_same(got, expected):
    assert got.keys() == expected.keys()
    for name, numbers in expected.items():
        if name in ("probabilities", "examples"):
            assert got[name] == numbers
            continue
        assert got[name] == pytest.approx(numbers, rel=1e-6), name
    json.dumps(got)  # it goes into metrics.jsonl


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 5), st.booleans(), st.booleans())
def test_it_is_the_plain_loop(seed, images, classes, with_truth, with_taken):
    draw = np.random.default_rng(seed)
    dense, truth = labels_and_truth(draw, images, classes)
    truth = truth if with_truth else None
    diagnosis, steps = made(dense, truth), list(steps_of(draw, images, classes, 3, with_taken))
    for epoch in (1, 2, 3):
        diagnosis.start_epoch(epoch)
        done = [step for step in steps if step[0] <= epoch]
        for step in (step for step in done if step[0] == epoch):
            note(diagnosis, step, dense, truth)
        diagnosis.sync(alone)
        found = told_in_sum(diagnosis.summary(epoch, alone))
        assert_same(found, oracle.summary(done, epoch, dense.tolist(), listed(truth)))


def listed(matrix):
    return None if matrix is None else matrix.tolist()


def test_the_numbers_worked_out_by_hand():
    dense = np.array([[1, 0, 0, -1]], np.int8)
    truth = np.array([[1, 1, -1, -1]], np.int8)
    diagnosis = made(dense, truth)
    diagnosis.start_epoch(1)
    note(diagnosis, (1, [0], [[0.0, 0.0, 0.0, 30.0]], [[1, -1, -1, -1]]), dense, truth)
    log2 = pytest.approx(np.log(2))
    counted = {name: [0] * 20 for name in ("known_positives", "known_negatives", "unknown")}
    counted["known_positives"][10], counted["unknown"][10], counted["known_negatives"][19] = 1, 2, 1
    counted |= {name: [0] * 10 + [1] + [0] * 9 for name in ("hidden_positives", "hidden_negatives")}
    assert told_in_sum(diagnosis.summary(1, alone)) == {
        "probabilities": counted,
        "unknown": {"as_absent": 2, "as_absent_right": 0.5, "left_out": 0, "as_present": 0},
        "mean_loss": {
            "known_positives": log2,
            "true_negatives": pytest.approx((np.log(2) + 30) / 2),
            "hidden_positives": log2,
        },
    }
    diagnosis.start_epoch(2)
    note(diagnosis, (2, [0], [[-1.0, 1.0, -1.0, 2.0]], [[1, 0, 1, -1]]), dense, truth)
    found = told(diagnosis.summary(2, alone))
    # Left out is right where absent would have been wrong; treated as present is right where it is.
    assert found["unknown"] == {
        "as_absent": 0, "left_out": 1, "left_out_right": 1.0, "as_present": 1, "as_present_right": 0.0
    }  # fmt: skip
    assert found["highest_loss_in_first_epoch"] == {
        "known_positives": 0.0,
        "true_negatives": 1.0,
        "hidden_positives": 0.0,
    }


def test_the_calibration_error_of_targets_is_that_of_a_plain_loop():
    """Also where the images are those of two processes; labels that are known, or never will be, do not count."""
    draw = np.random.default_rng(0)
    dense, truth = labels_and_truth(draw, 40, 5)
    targets = draw.random(dense.shape).astype(np.float32)
    found = [made(dense, truth) for _ in range(2)]
    for number, diagnosis in enumerate(found):
        diagnosis.start_epoch(1)
        rows = np.arange(number, 40, 2)
        parts = {"logits": torch.zeros(20, 5), "targets": torch.zeros(20, 5, dtype=torch.int8)}
        parts["soft_targets"] = torch.from_numpy(targets[rows])
        known = (torch.from_numpy(each[rows]) for each in (dense, truth))
        diagnosis.note(1, rows, torch.from_numpy(rows), *known, parts)
    together = found[0].summary(1, lambda tensor, how: tensor + found[1].soft if tensor is found[0].soft else tensor)
    bins = [[] for _ in range(20)]
    for label, present, target in zip(dense.flat, truth.flat, targets.flat, strict=True):
        if label == 0 and present != 0:
            bins[int(target * 20)].append(target - (present > 0))
    expected = sum(abs(sum(each)) for each in bins) / sum(map(len, bins))
    assert together.unknown.calibration_error == pytest.approx(expected, rel=1e-5)
    plain = made(dense, truth)
    note(plain, (1, [0], [[0.0] * 5], [[-1] * 5]), dense, truth)
    assert plain.summary(1, alone).unknown.calibration_error is None


def test_a_new_stage_forgets_and_a_new_epoch_counts_again():
    draw = np.random.default_rng(0)
    dense, truth = labels_and_truth(draw, 6, 4)
    steps = list(steps_of(draw, 6, 4, 2))
    used, fresh = made(dense, truth), made(dense, truth)
    follow(used, steps_of(draw, 6, 4, 3), dense, truth)
    for diagnosis in (used, fresh):
        follow(diagnosis, steps, dense, truth)
    assert told(used.summary(2, alone)) == told(fresh.summary(2, alone))
    assert all(map(torch.equal, used.buffers(), fresh.buffers()))


def test_it_resumes_from_what_was_saved_within_an_epoch():
    draw = np.random.default_rng(1)
    dense, truth = labels_and_truth(draw, 8, 5)
    steps = list(steps_of(draw, 8, 5, 3))
    whole, cut = made(dense, truth), made(dense, truth)
    for at, step in enumerate(steps):
        if at in (1, 4, 7):  # as a restart does
            saved = {name: value.clone() for name, value in cut.state_dict().items()}
            cut = made(dense, truth)
            cut.load_state_dict(saved)
        for diagnosis in (whole, cut):
            if at == 0 or steps[at - 1][0] < step[0]:
                diagnosis.start_epoch(step[0])
            note(diagnosis, step, dense, truth)
    assert told(cut.summary(3, alone)) == told(whole.summary(3, alone))
    assert len(told(whole.summary(3, alone))) == 5


@pytest.mark.parametrize("with_truth", [True, False])
def test_two_processes_tell_what_one_would(with_truth):
    draw = np.random.default_rng(2)
    dense, truth = labels_and_truth(draw, 20, 5)
    truth = truth if with_truth else None
    steps = list(steps_of(draw, 20, 5, 3))
    one, two = made(dense, truth), [made(dense, truth), made(dense, truth)]
    for epoch in (1, 2, 3):
        for diagnosis in (one, *two):
            diagnosis.start_epoch(epoch)
        for _, rows, logits, taken in (step for step in steps if step[0] == epoch):
            note(one, (epoch, rows, logits, taken), dense, truth)
            for rank, diagnosis in enumerate(two):
                note(diagnosis, (epoch, rows[rank::2], logits[rank::2], taken[rank::2]), dense, truth)
        expected = told(one.summary(epoch, alone))

        def close(rank, all_reduce, epoch=epoch):
            two[rank].sync(all_reduce)
            two[rank].sync(all_reduce)  # a checkpoint within the epoch shares as well
            return told(two[rank].summary(epoch, all_reduce))

        for found in as_processes(2, close):
            assert_same(found, expected)
        assert torch.equal(two[0].first, one.first) and torch.equal(two[0].later, one.later)
        assert torch.equal(two[1].first, one.first) and torch.equal(two[1].later, one.later)


def test_without_truth_nothing_is_kept_of_single_labels_but_of_a_few_images():
    diagnosis = made(np.zeros((1000, 50), np.int8), None)
    assert sum(buffer.nbytes for buffer in diagnosis.buffers()) < 6000


def test_a_table_too_large_to_follow_still_tells_the_rest(monkeypatch):
    draw = np.random.default_rng(3)
    dense, truth = labels_and_truth(draw, 6, 4)
    monkeypatch.setattr(module, "_MOST_LABELS_FOLLOWED", 23)
    diagnosis, steps = made(dense, truth), list(steps_of(draw, 6, 4, 2))
    follow(diagnosis, steps, dense, truth)
    expected = oracle.summary(steps, 2, dense.tolist(), truth.tolist())
    expected.pop("highest_loss_in_first_epoch")
    assert_same(told_in_sum(diagnosis.summary(2, alone)), expected)


def test_the_share_is_counted_in_parts(monkeypatch):
    draw = np.random.default_rng(4)
    dense, truth = labels_and_truth(draw, 11, 3)
    diagnosis = made(dense, truth)
    follow(diagnosis, steps_of(draw, 11, 3, 2), dense, truth)
    whole = told(diagnosis.summary(2, alone))
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
    assert told(diagnosis.summary(2, alone)) == whole
    assert 0 < min(whole["highest_loss_in_first_epoch"].values()) < 1


def test_half_precision_logits():
    dense, truth = np.array([[1, 0]], np.int8), np.array([[1, 1]], np.int8)
    diagnosis, logits = made(dense, truth), torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16)
    diagnosis.start_epoch(1)
    given = torch.tensor([0]), torch.from_numpy(dense), torch.from_numpy(truth)
    diagnosis.note(1, np.array([0]), *given, {"logits": logits})
    assert told(diagnosis.summary(1, alone))["mean_loss"] == {
        "known_positives": pytest.approx(np.log1p(np.exp(-1))), "hidden_positives": pytest.approx(np.log1p(np.exp(2)))
    }  # fmt: skip


def test_nothing_waits_for_the_device():
    dense, truth = np.array([[1, 0]], np.int8), np.array([[1, 1]], np.int8)
    diagnosis = made(dense, truth).to("meta")
    parts = {"logits": torch.zeros(1, 2, device="meta"), "targets": torch.zeros(1, 2, dtype=torch.int8, device="meta")}
    parts["soft_targets"] = torch.zeros(1, 2, device="meta")
    for epoch in (1, 2):
        diagnosis.start_epoch(epoch)
        on_meta = (torch.from_numpy(matrix).to("meta") for matrix in (dense, truth))
        diagnosis.note(epoch, np.array([0]), torch.zeros(1, dtype=torch.int64, device="meta"), *on_meta, parts)


@pytest.mark.parametrize(("with_truth", "with_targets", "most"), [(0, 0, 7), (0, 1, 13), (1, 0, 40), (1, 1, 46)])
def test_few_operations_are_asked_of_the_device(with_truth, with_targets, most):
    """On a GPU each costs microseconds in every step; views cost nothing."""
    dense, truth = labels_and_truth(np.random.default_rng(0), 50, 8)
    diagnosis, rows = made(dense, truth if with_truth else None), np.array([3, 5, 6, 7])
    assert not set(rows.tolist()) & set(diagnosis.examples.rows)
    given = [torch.from_numpy(each[rows]) for each in (dense, truth)]
    parts = {"logits": torch.zeros(4, 8)} | ({"targets": given[0]} if with_targets else {})
    for epoch in (1, 2):
        with Operations() as counted:
            diagnosis.note(epoch, rows, torch.from_numpy(rows), given[0], given[1] if with_truth else None, parts)
        assert sum(counted.names.values()) <= most, counted.names


class Operations(TorchDispatchMode):
    """Counts operations that are no views."""

    def __init__(self):
        super().__init__()
        self.names = Counter()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if not operation.is_view and operation is not torch.ops.aten.scalar_tensor.default:  # which is on the host
            self.names[str(operation)] += 1
        return operation(*args, **(kwargs or {}))
