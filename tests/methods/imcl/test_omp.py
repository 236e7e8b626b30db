"""Matching pursuit of all images at once is Algorithm 2 of each; what is degenerate stays finite."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import orthogonal_mp

from tests.oracles import omp as oracle
from trilabel.methods.imcl.omp import joint_omp

quick = settings(max_examples=80, deadline=None)


def tensors(arrays):
    return [torch.from_numpy(array) for array in arrays]


def as_lists(found):
    """What the oracle gives, of what the code under test gives: slots without any coefficient left out."""
    used = torch.stack(found.coefficients).amax(0) > 0
    taken = [row[keep].tolist() for row, keep in zip(found.index, used, strict=True)]
    of_modalities = ([r[u].tolist() for r, u in zip(c, used, strict=True)] for c in found.coefficients)
    return taken, list(of_modalities)


def without_idle(taken, coefficients):
    """The oracle's answer without atoms whose coefficients are all 0."""
    busy = [
        [any(of[i][slot] > 0 for of in coefficients) for slot in range(len(atoms))] for i, atoms in enumerate(taken)
    ]
    picked = [[n for n, keep in zip(atoms, row, strict=True) if keep] for atoms, row in zip(taken, busy, strict=True)]
    kept = [
        [[c for c, keep in zip(r, b, strict=True) if keep] for r, b in zip(of, busy, strict=True)]
        for of in coefficients
    ]
    return picked, kept


def vectors(draw, count, size, shift=0.0):
    return draw.standard_normal((count, size)) + shift


def same(found, expected, tolerance=1e-6):
    (taken, coefficients), (expected_taken, expected_coefficients) = as_lists(found), without_idle(*expected)
    assert taken == expected_taken
    for of, expected_of in zip(coefficients, expected_coefficients, strict=True):
        for row, expected_row in zip(of, expected_of, strict=True):
            assert row == pytest.approx(expected_row, rel=tolerance, abs=tolerance)


@quick
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(1, 9),
    st.integers(1, 7),
    st.integers(1, 5),
    st.sampled_from([0.0, 0.5]),
    st.booleans(),
)
def test_it_is_the_algorithm_of_each_image(seed, images, count, size, k, shift, with_own):
    draw = np.random.default_rng(seed)
    targets = [vectors(draw, images, size, shift), vectors(draw, images, size + 3, shift)]
    atoms = [vectors(draw, count, size, shift), 3 * vectors(draw, count, size + 3, shift)]
    weights = draw.choice([0.5, 1.0, 2.0], 2).tolist()
    own = draw.integers(0, count, images) if with_own else None
    found = joint_omp(tensors(targets), tensors(atoms), weights, k, None if own is None else torch.from_numpy(own))
    assert found.index.shape == (images, k) and found.index.dtype == torch.int64
    assert all(of.shape == (images, k) and of.dtype == torch.float64 for of in found.coefficients)
    same(found, oracle.joint_omp(targets, atoms, weights, k, own))


@pytest.mark.parametrize("images", [3, 40])
def test_it_does_not_matter_whether_all_products_of_atoms_are_available(images):
    draw = np.random.default_rng(1)
    targets, atoms = [vectors(draw, images, 30, 0.4)], [vectors(draw, 60, 30, 0.4)]
    same(joint_omp(tensors(targets), tensors(atoms), [1.0], 4), oracle.joint_omp(targets, atoms, [1.0], 4))


def test_every_rule_comes_into_play():
    """Some stop early, some use all steps, some have coefficients set to 0 and go on from there."""
    draw = np.random.default_rng(0)
    targets = [vectors(draw, 600, 5, 0.5), vectors(draw, 600, 4, 0.5)]
    atoms = [vectors(draw, 20, 5, 0.5), vectors(draw, 20, 4, 0.5)]
    taken, coefficients = oracle.joint_omp(targets, atoms, [1.0, 0.5], 4)
    assert {0, 1, 2, 3, 4} == {len(row) for row in taken}
    assert sum(0 in row[:-1] for of in coefficients for row in of) > 20
    same(joint_omp(tensors(targets), tensors(atoms), [1.0, 0.5], 4), (taken, coefficients))


def test_one_worked_out_by_hand():
    atoms = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.0, 5.0], [1.0, 2.0, 0.0], [0.0, 3.0, 0.0]])
    # ⟨target, atom⟩² ÷ ‖atom‖² is 16, 1, 28.8 and 16. That leaves (1.6, −0.8, −1), with 2.56, 1, 0 and 0.64. The two
    # chosen make (4, 4, 0) with 2 and 1; of what is left, the only atom that is correlated at all points away from it.
    found = joint_omp([torch.tensor([[4.0, 4.0, -1.0]])], [atoms], [1.0], 4)
    assert found.index[0, :2].tolist() == [2, 0]
    torch.testing.assert_close(found.coefficients[0], torch.tensor([[2.0, 1.0, 0.0, 0.0]]))


@pytest.mark.parametrize("k", [1, 3, 5])
def test_where_scikit_learn_s_is_not_negative_it_is_the_same(k):
    draw = np.random.default_rng(k)
    others = draw.gamma(0.3, 1.0, (40, 60))
    targets = np.abs(draw.gamma(0.1, 1.0, (20, 40)) @ others + 0.1 * vectors(draw, 20, 60))
    lengths = np.linalg.norm(others, axis=1)
    theirs = orthogonal_mp((others / lengths[:, None]).T, targets.T, n_nonzero_coefs=k).T / lengths
    found = joint_omp([torch.from_numpy(targets)], [torch.from_numpy(others)], [1.0], k)
    ours = torch.zeros(20, 40, dtype=torch.float64).scatter_add(1, found.index, found.coefficients[0]).numpy()
    proper = (theirs >= 0).all(1)
    assert proper.sum() >= 5
    np.testing.assert_allclose(ours[proper], theirs[proper], rtol=1e-9, atol=1e-9)


def test_the_same_atoms_serve_every_modality_and_weights_decide_which():
    near_in_first, near_in_second = [[1.0, 0.1], [0.1, 1.0]], [[0.1, 1.0], [1.0, 0.1]]
    targets = [torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])]
    atoms = [torch.tensor(near_in_first), torch.tensor(near_in_second)]
    assert joint_omp(targets, atoms, [1.0, 0.5], 1).index.item() == 0
    assert joint_omp(targets, atoms, [0.5, 1.0], 1).index.item() == 1
    found = joint_omp(targets, atoms, [1.0, 0.5], 1)
    assert [of.item() for of in found.coefficients] == pytest.approx([1 / 1.01, 0.1 / 1.01])


def test_it_stops_where_one_modality_disagrees_unless_that_has_no_weight():
    targets = [torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])]
    atoms = [torch.tensor([[1.0, 0.2]]), torch.tensor([[-1.0, 0.2]])]
    assert all(of.max() == 0 for of in joint_omp(targets, atoms, [1.0, 0.1], 2).coefficients)
    found = joint_omp(targets, atoms, [1.0, 0.0], 2)
    assert found.coefficients[0][0, 0] > 0 and found.coefficients[1].max() == 0
    assert all(of.max() == 0 for of in joint_omp(targets, atoms, [0.0, 0.0], 2).coefficients)


def test_an_image_never_uses_itself():
    features = torch.rand(12, 5, generator=torch.Generator().manual_seed(0))
    own = torch.arange(12)
    found = joint_omp([features], [features], [1.0], 5, own)
    assert not ((found.index == own[:, None]) & (found.coefficients[0] > 0)).any()
    assert (found.coefficients[0] > 0).any(1).all()
    itself = joint_omp([features], [features], [1.0], 5)
    assert torch.equal(itself.index[:, 0], own)
    torch.testing.assert_close(itself.coefficients[0], torch.tensor([1.0, 0, 0, 0, 0]).expand(12, 5))


def test_an_atom_stands_in_one_slot_only():
    draw = np.random.default_rng(7)
    found = joint_omp(tensors([vectors(draw, 400, 4, 0.5)]), tensors([vectors(draw, 8, 4, 0.5)]), [1.0], 6)
    for row, coefficients in zip(found.index.tolist(), found.coefficients[0], strict=True):
        used = [n for n, c in zip(row, coefficients, strict=True) if c > 0]
        assert len(set(used)) == len(used)


@quick
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([torch.float32, torch.bfloat16]))
def test_dependent_tiny_and_zero_atoms_do_no_harm(seed, k, dtype):
    draw = np.random.default_rng(seed)
    some = vectors(draw, 4, 5, 0.3)
    atoms = np.concatenate([some, some, 2 * some[:1], some[:1] + some[1:2], np.zeros((2, 5)), 1e-40 * some[:1]])
    atoms = torch.from_numpy(atoms[draw.permutation(len(atoms))]).to(dtype)
    targets = torch.from_numpy(np.concatenate([vectors(draw, 4, 5, 0.3), np.zeros((1, 5)), some[:1]])).to(dtype)
    found = joint_omp([targets, targets[:, :2]], [atoms, atoms[:, :2]], [1.0, 0.5], k)
    assert found.index.min() >= 0 and found.index.max() < len(atoms)
    for of, target, atom in zip(found.coefficients, (targets, targets[:, :2]), (atoms, atoms[:, :2]), strict=True):
        assert of.dtype == torch.float32 and of.min() >= 0 and of.max() < 1e6
        left = target.float() - (of[:, :, None] * atom.float()[found.index]).sum(1)
        assert (of[4] == 0).all() and torch.isfinite(left).all()


@pytest.mark.parametrize("copies", [2, 3, 5])
def test_equal_atoms_share_evenly(copies):
    """Images with the same labels and different features: least squares alone does not say who gets what."""
    targets = [torch.tensor([[2.0, 1.0]]), 1 + torch.arange(copies)[None] / 10]
    atoms = [torch.tensor([[0.2, 0.1]]).expand(copies, 2), torch.eye(copies)]
    found = joint_omp(targets, atoms, [0.0, 1.0], copies)
    assert sorted(found.index[0].tolist()) == list(range(copies))
    torch.testing.assert_close(found.coefficients[0], torch.full((1, copies), 10 / copies), rtol=1e-4, atol=0)


@pytest.mark.parametrize(("images", "count", "k"), [(1, 1, 5), (3, 0, 2), (0, 4, 2), (2, 3, 0), (1, 3, 8)])
def test_sizes_at_the_edge(images, count, k):
    targets, atoms = torch.ones(images, 3), torch.ones(count, 3)
    own = torch.zeros(images, dtype=torch.int64) if count else None
    found = joint_omp([targets], [atoms], [1.0], k, own)
    assert found.index.shape == found.coefficients[0].shape == (images, k)
    assert found.coefficients[0].sum() == (1 if count > 1 and images and k else 0)


def test_half_precision_is_widened_and_the_answer_is_that_of_its_values():
    draw = np.random.default_rng(5)
    half = torch.from_numpy(np.abs(vectors(draw, 30, 64, 0.2))).bfloat16()
    found, wide = (joint_omp([x], [x], [1.0], 4, torch.arange(30)) for x in (half, half.double()))
    assert torch.equal(found.index, wide.index) and found.coefficients[0].dtype == torch.float32
    torch.testing.assert_close(found.coefficients[0], wide.coefficients[0].float())
    with torch.autocast("cpu", torch.bfloat16):
        again = joint_omp([half], [half], [1.0], 4, torch.arange(30))
    assert torch.equal(again.coefficients[0], found.coefficients[0])


@pytest.mark.parametrize("count", [8, 100])
def test_nothing_looks_at_a_value(count):
    """On the meta device there are none to look at."""
    targets = [torch.ones(4, 6, device="meta"), torch.ones(4, 3, device="meta")]
    atoms = [torch.ones(count, 6, device="meta"), torch.ones(count, 3, device="meta")]
    found = joint_omp(targets, atoms, [1.0, 0.5], 5, torch.arange(4, device="meta"))
    assert found.index.shape == (4, 5) and found.coefficients[1].device.type == "meta"


def test_no_gradient_flows():
    features = torch.rand(5, 4, requires_grad=True)
    assert not joint_omp([features], [features], [1.0], 2, torch.arange(5)).coefficients[0].requires_grad
