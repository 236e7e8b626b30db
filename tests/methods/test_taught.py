"""The second of two rounds: learning from what a trained model believes of the unknown labels."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import nn

from tests.support.fixed_targets import dense, write_targets
from tests.support.linear_problem import linear_problem
from tests.support.one_positive import found, linear_model, one_positive_problem, train
from trilabel import metrics
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.labels.rates import Rates
from trilabel.labels.targets import Targets, thinned
from trilabel.methods import Batch, create_method
from trilabel.methods.posterior import PosteriorSettings
from trilabel.methods.posterior.calibration import class_biases
from trilabel.methods.posterior.silence import find_silence
from trilabel.methods.taught import Taught
from trilabel.training.teaching import targets_from_scores

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 1], [-1, -1, 0, 0]])


def test_the_loss_is_bce_towards_the_saved_targets_of_unknown_labels(tmp_path: Path) -> None:
    file = write_targets(LABELS, tmp_path / "targets.npz")
    method, saved = create_method("taught", {"targets": file}, LABELS), dense(Targets.load_for(file, LABELS))
    model, rows = linear_model(5, 4), torch.tensor([2, 0])
    batch = Batch(torch.randn(2, 5), None, LABELS.rows(rows.numpy()), rows, 1)
    parts = method.step(model, batch)
    targets = {}
    for row in range(3):
        for column in range(4):
            targets[row, column] = max(LABELS.to_signed()[row, column], 0)
        for column, value in enumerate(saved[row]):
            if value:
                targets[row, column] = float(value)
    probabilities = model(batch.images).logits.sigmoid().tolist()
    losses, unknown = [], []
    for place, row in enumerate(rows.tolist()):
        for column in range(4):
            target, p = targets[row, column], probabilities[place][column]
            losses.append(-target * np.log(p) - (1 - target) * np.log(1 - p))
            if LABELS.to_signed()[row, column] == 0:
                assert parts["targets"][place, column] == (1 if target > 0.5 else -1)
                unknown.append(target)
    assert parts["loss"].item() == pytest.approx(np.mean(losses), rel=1e-5)
    assert parts["unknown_target"].item() == pytest.approx(np.mean(unknown), rel=1e-5)


@given(
    arrays(np.float32, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=st.sampled_from([0, 0, 0.25, 1])),
    st.data(),
)
def test_a_batch_gets_the_saved_targets_of_its_images(values: np.ndarray, data: st.DataObject) -> None:
    """As from a dense matrix, whatever the other images have: none, a few, or a target for each class."""
    labels = Labels.from_signed(np.eye(*values.shape, dtype=np.int8))
    values *= labels.to_signed() == 0
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "targets.npz"
        Targets.from_csr(thinned(values), labels.classes, labels.ids).save(file)
        method = create_method("taught", {"targets": str(file)}, labels)
    assert isinstance(method, Taught)
    rows = torch.tensor(data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, unique=True)))
    torch.testing.assert_close(method.saved(rows), torch.from_numpy(values)[rows], rtol=0, atol=0)


def test_one_image_with_all_targets_does_not_make_the_others_as_large(tmp_path: Path) -> None:
    csr = sp.random_array((2000, 300), density=0.01, rng=0, dtype=np.float32, format="lil")
    csr[5] = 0.5
    labels = Labels.from_signed(np.eye(2000, 300, dtype=np.int8))
    Targets.from_csr(sp.csr_array(csr), labels.classes, labels.ids).save(tmp_path / "targets.npz")
    method = create_method("taught", {"targets": str(tmp_path / "targets.npz")}, labels)
    kept = sum(buffer.numel() * buffer.element_size() for buffer in method.buffers())
    assert kept == method.memory_needed(method.settings, labels) == 6 * (csr.nnz + 1) + 8 * 2001


def test_what_relabelling_filled_in_counts_and_not_the_target(tmp_path: Path) -> None:
    method = create_method("taught", {"targets": write_targets(LABELS, tmp_path / "targets.npz")}, LABELS)
    rows = torch.arange(3)
    filled = torch.where(LABELS.rows(rows.numpy()) == 0, -1, LABELS.rows(rows.numpy()))
    batch = Batch(torch.randn(3, 5), None, filled, rows, 1)
    assert torch.equal(method.step(linear_model(5, 4), batch)["targets"], filled)


def test_the_head_starts_at_the_mean_target_of_each_class(tmp_path: Path) -> None:
    csr = thinned(np.array([[0, 0.5, 0, 0], [0, 0.25, 0, 0], [0, 0, 0, 0]], np.float32))
    Targets.from_csr(csr, LABELS.classes, LABELS.ids).save(tmp_path / "targets.npz")
    method = create_method("taught", {"targets": str(tmp_path / "targets.npz")}, LABELS)
    shares = method.initial_logits().sigmoid().tolist()
    assert shares == pytest.approx([1 / 3, 0.25, 0.5 / 3, 1 / 3], abs=1e-3)  # at least half an image has a class


def test_checkpoints_do_not_hold_what_the_file_has(tmp_path: Path) -> None:
    method = create_method("taught", {"targets": write_targets(LABELS, tmp_path / "targets.npz")}, LABELS)
    assert not method.state_dict() and len(list(method.buffers())) == 3


def test_without_a_file_it_says_how_to_get_one() -> None:
    with pytest.raises(TrilabelError, match=r"taught: needs the targets of a first round\. Use --rounds 2"):
        create_method("taught", {}, LABELS)


def average_precision(model: nn.Module) -> float:
    """On other images."""
    features, truth = linear_problem(2000, 50)
    return float(np.mean(metrics.average_precision(model(features).logits.detach(), truth)))


@pytest.mark.parametrize("first", ["assume-negative", "posterior"])
def test_it_finds_more_than_the_run_that_taught_it(first: str, tmp_path: Path) -> None:
    """With one known positive per image; and no more than assume-negative once the targets are taken out."""
    features, truth, labels, _ = one_positive_problem()
    teacher = linear_model(features.shape[1], labels.shape[1])
    train(create_method(first, {}, labels), teacher, features, labels)
    scores, silence = teacher(features).logits.detach(), find_silence(PosteriorSettings(), labels, None)
    csr = targets_from_scores(scores + class_biases(scores, labels, silence), labels, silence)

    def taught() -> nn.Module:
        Targets.from_csr(csr, labels.classes, labels.ids).save(tmp_path / "targets.npz")
        method, model = create_method("taught", {"targets": str(tmp_path / "targets.npz")}, labels), linear_model(16, 6)
        train(method, model, features, labels)
        return model

    second = taught()
    csr.data[:] = 0
    without = taught()
    before, after, none = map(average_precision, (teacher, second, without))
    assert after > before + (0.015 if first == "assume-negative" else 0.001)
    assert after > none + 0.015
    if first == "assume-negative":
        assert none == pytest.approx(before, abs=0.005)
        shares = [found(model, features, truth, labels)[0] for model in (teacher, second, without)]
        assert shares[1] > shares[0] + 0.1 and shares[1] > shares[2] + 0.1
    else:
        right = [found(model, features, truth, labels)[1] for model in (teacher, second)]
        assert right[1] > right[0]


@pytest.mark.parametrize("hard", [False, True])
def test_completed_labels_are_targets_and_what_was_left_open_is_left_out(tmp_path: Path, hard: bool) -> None:
    """Of 3 × 2 labels: one known, one not scored, one of an image that the provenance does not have."""
    labels = Labels.from_signed(np.array([[1, 0], [0, 0], [0, -1]], np.int8), ["cat", "dog"], ["a", "b", "c"])
    table = tmp_path / "filled.provenance.csv"
    table.write_text(
        "image,class,value,source,probability,run,date\na,cat,1,known,0.9,r,d\na,dog,1,predicted,0.8,r,d\n"
        "b,cat,,predicted,0.4,r,d\nb,dog,0,predicted,0.003,r,d\n"
    )
    method = create_method("taught", {"targets": str(table), "hard": hard}, labels)
    rows = torch.arange(3)
    batch = Batch(torch.randn(3, 5), None, torch.from_numpy(labels.to_signed()).float(), rows, 1, 0.1)
    model = linear_model(5, 2)
    parts, p = method.step(model, batch), model(batch.images).logits.sigmoid().tolist()
    expected = {(0, 0): 1.0, (0, 1): 1.0 if hard else 0.8, (1, 1): 0.0, (2, 1): 0.0} | ({} if hard else {(1, 0): 0.4})
    losses = [-t * np.log(p[i][j]) - (1 - t) * np.log(1 - p[i][j]) for (i, j), t in expected.items()]
    assert parts["loss"].item() == pytest.approx(np.mean(losses), rel=1e-3)
    assert parts["targets"].tolist() == [[1, 1], [0 if hard else -1, -1], [0, -1]]


def test_it_knows_the_rates_that_its_targets_rest_on(tmp_path: Path) -> None:
    without, file = write_targets(LABELS, tmp_path / "without.npz"), tmp_path / "targets.npz"
    rates = Rates(np.linspace(0.1, 0.9, 4), np.zeros(4))
    replace(Targets.load_for(without, LABELS), rates=rates).save(file)
    found = create_method("taught", {"targets": str(file)}, LABELS).known_rates()
    assert found is not None
    assert found.positives.tolist() == rates.positives.tolist() and found.negatives.tolist() == [0] * 4
    assert create_method("taught", {"targets": without}, LABELS).known_rates() is None
