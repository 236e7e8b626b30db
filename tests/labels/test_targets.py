"""Targets of unknown labels in a file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.support.fixed_targets import dense, write_targets
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, Names
from trilabel.labels.rates import Rates
from trilabel.labels.targets import LOWEST, Targets, count_targets, thinned

CLASSES, IDS = ["a", "b", "c", "d"], ["1", "2", "3"]
DENSE = np.array([[0.5, 0.009, 0, 1], [0, 0, 0, 0], [0.01, 0.25, 0, 0]], np.float32)


def labels(classes: list[str] = CLASSES, ids: list[str] = IDS) -> Labels:
    return Labels.from_signed(np.zeros((len(ids), len(classes)), np.int8), classes, ids)


def written(file: Path) -> Path:
    Targets.from_csr(thinned(DENSE), Names(CLASSES), Names(IDS)).save(file)
    return file


def test_they_come_back_without_those_near_zero(tmp_path: Path) -> None:
    found = Targets.load_for(written(tmp_path / "targets.npz"), labels())
    assert found.begins.tolist() == [0, 2, 2, 4] and found.most == 2 and count_targets(tmp_path / "targets.npz") == 4
    assert dense(found) == pytest.approx(np.where(DENSE >= LOWEST, DENSE, 0), abs=1e-3)
    assert found.sums() == pytest.approx([0.51, 0.25, 0, 1], abs=1e-3)


def test_images_are_found_by_their_ids(tmp_path: Path) -> None:
    found = Targets.load_for(written(tmp_path / "targets.npz"), labels(ids=["3", "1"]))
    assert dense(found) == pytest.approx(np.where(DENSE >= LOWEST, DENSE, 0)[[2, 0]], abs=1e-3)


def test_no_targets_at_all(tmp_path: Path) -> None:
    Targets.from_csr(thinned(0 * DENSE), Names(CLASSES), Names(IDS)).save(tmp_path / "none.npz")
    assert not dense(Targets.load_for(tmp_path / "none.npz", labels())).any()


def test_those_of_others_are_refused(tmp_path: Path) -> None:
    file = written(tmp_path / "targets.npz")
    with pytest.raises(TrilabelError, match=r"targets\.npz: targets of other classes"):
        Targets.load_for(file, labels(classes=["b", "a", "c", "d"]))
    with pytest.raises(TrilabelError, match=r"targets\.npz: no targets for 2 of 4 images, such as '7'"):
        Targets.load_for(file, labels(ids=["1", "7", "2", "8"]))
    with pytest.raises(TrilabelError, match=r"none\.npz: no such file of targets; train with --rounds 2"):
        Targets.load_for(tmp_path / "none.npz", labels())


@pytest.mark.parametrize("wrong", ["bytes", "labels", "value", "column", "rows", "order", "kind", "rates"])
def test_a_damaged_file_is_refused_in_one_line(wrong: str, tmp_path: Path) -> None:
    file, targets = tmp_path / "targets.npz", Targets.from_csr(thinned(DENSE), Names(CLASSES), Names(IDS))
    if wrong == "bytes":
        file.write_bytes(written(file).read_bytes()[:200])
    elif wrong == "labels":
        labels().save(file)
    elif wrong == "value":
        replace(targets, values=targets.values + np.float16(0.5)).save(file)
    elif wrong == "column":
        replace(targets, columns=targets.columns + np.int32(1)).save(file)
    elif wrong == "rows":
        replace(targets, ids=Names(["1", "2"])).save(file)
    elif wrong == "order":
        replace(targets, begins=np.array([0, 3, 2, 4])).save(file)
    elif wrong == "rates":
        replace(targets, rates=Rates(np.ones(3), np.ones(3))).save(file)
    else:
        replace(targets, values=targets.values.astype(float)).save(file)
    with pytest.raises(TrilabelError, match=r"targets\.npz: not a file of targets, or cut short") as caught:
        Targets.load_for(file, labels())
    assert "\n" not in str(caught.value)


def test_millions_of_labels_take_as_much_as_there_are_targets(tmp_path: Path) -> None:
    """Of 20,000 images × 500 classes, one of which has a target for each class."""
    counts = np.full(20_000, 8)
    counts[77] = 500
    indptr, columns = np.append(0, counts.cumsum()), np.concatenate([np.arange(count) for count in counts])
    csr = sp.csr_array((np.full(len(columns), 0.5, np.float32), columns, indptr), shape=(20_000, 500))
    many = Labels.from_csr(sp.csr_array((20_000, 500), dtype=np.int8))
    made = Targets.from_csr(csr, many.classes, many.ids)
    made.save(tmp_path / "targets.npz")
    found = Targets.load_for(tmp_path / "targets.npz", many)
    bound = len(columns) * 6 + 20_001 * 8
    for targets in (made, found):
        assert sum(part.nbytes for part in (targets.begins, targets.columns, targets.values)) <= bound
    names = many.ids.nbytes + many.classes.nbytes
    assert (tmp_path / "targets.npz").stat().st_size < bound + names + 10_000
    assert found.sums().sum() == len(columns) / 2


@given(
    arrays(np.float16, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=st.sampled_from([0, 0, 0.01, 0.5, 1])),
    st.data(),
)
def test_rows_are_taken_as_of_a_dense_matrix(values: np.ndarray, data: st.DataObject) -> None:
    ids = [str(row) for row in range(len(values))]
    all_of = Targets.from_csr(thinned(values.astype(np.float32)), Names("abcdefg"[: values.shape[1]]), Names(ids))
    rows = data.draw(st.permutations(range(len(values))))[: data.draw(st.integers(1, len(values)))]
    taken = all_of.take(np.array(rows))
    assert list(taken.ids) == [ids[row] for row in rows]
    np.testing.assert_array_equal(dense(taken), values[rows])
    assert taken.most == (values[rows] > 0).sum(1).max()
    np.testing.assert_array_equal(taken.sums(), values[rows].astype(float).sum(0))


def test_what_tests_make_up_is_of_unknown_labels_alone(tmp_path: Path) -> None:
    known = Labels.from_signed([[1, 0, -1], [0, 0, 0]])
    found = dense(Targets.load_for(write_targets(known, tmp_path / "targets.npz"), known))
    assert not found[known.to_signed() != 0].any() and found.any()
