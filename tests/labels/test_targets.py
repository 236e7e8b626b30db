"""Targets of unknown labels in a file."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.fixed_targets import write_targets
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, Names
from trilabel.labels.rates import Rates
from trilabel.labels.targets import LOWEST, Targets, targets_per_image, thinned

CLASSES, IDS = ["a", "b", "c", "d"], ["1", "2", "3"]
DENSE = np.array([[0.5, 0.009, 0, 1], [0, 0, 0, 0], [0.01, 0.25, 0, 0]], np.float32)


def labels(classes: list[str] = CLASSES, ids: list[str] = IDS) -> Labels:
    return Labels.from_signed(np.zeros((len(ids), len(classes)), np.int8), classes, ids)


def dense(targets: Targets) -> np.ndarray:
    """The slow way back."""
    found = np.zeros((len(targets.ids), len(targets.classes)))
    for row, (columns, values) in enumerate(zip(targets.columns, targets.values, strict=True)):
        for column, value in zip(columns, values, strict=True):
            found[row, column] += value
    return found


def written(file: Path) -> Path:
    Targets.from_csr(thinned(DENSE), Names(CLASSES), Names(IDS)).save(file)
    return file


def test_they_come_back_without_those_near_zero(tmp_path: Path) -> None:
    found = Targets.load_for(written(tmp_path / "targets.npz"), labels())
    assert found.columns.shape == (3, 2) and targets_per_image(tmp_path / "targets.npz") == 2
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


@pytest.mark.parametrize("wrong", ["bytes", "labels", "value", "column", "rows", "kind", "rates"])
def test_a_damaged_file_is_refused_in_one_line(wrong: str, tmp_path: Path) -> None:
    file, targets = tmp_path / "targets.npz", Targets.from_csr(thinned(DENSE), Names(CLASSES), Names(IDS))
    if wrong == "bytes":
        file.write_bytes(written(file).read_bytes()[:200])
    elif wrong == "labels":
        labels().save(file)
    elif wrong == "value":
        Targets(targets.columns, targets.values + np.float16(0.5), targets.classes, targets.ids).save(file)
    elif wrong == "column":
        Targets(targets.columns + np.int32(1), targets.values, targets.classes, targets.ids).save(file)
    elif wrong == "rows":
        Targets(targets.columns, targets.values, targets.classes, Names(["1", "2"])).save(file)
    elif wrong == "rates":
        Targets.from_csr(thinned(DENSE), Names(CLASSES), Names(IDS), Rates(np.ones(3), np.ones(3))).save(file)
    else:
        Targets(targets.columns, targets.values.astype(float), targets.classes, targets.ids).save(file)  # type: ignore[arg-type]
    with pytest.raises(TrilabelError, match=r"targets\.npz: not a file of targets, or cut short") as caught:
        Targets.load_for(file, labels())
    assert "\n" not in str(caught.value)


def test_millions_of_labels_take_as_much_as_there_are_targets(tmp_path: Path) -> None:
    """Of 20,000 images × 500 classes: six bytes for each of the eight targets of an image, and the ids."""
    columns = np.arange(8) * 60
    csr = thinned(np.zeros((1, 500), np.float32))
    indptr, indices = np.arange(20_001) * 8, np.tile(columns, 20_000)
    csr = type(csr)((np.full(160_000, 0.5, np.float32), indices, indptr), shape=(20_000, 500))
    many = Labels.from_csr(type(csr)((20_000, 500), dtype=np.int8))
    Targets.from_csr(csr, many.classes, many.ids).save(tmp_path / "targets.npz")
    names = many.ids.nbytes + many.classes.nbytes
    assert (tmp_path / "targets.npz").stat().st_size < 20_000 * 8 * 6 + names + 10_000
    assert Targets.load_for(tmp_path / "targets.npz", many).sums().sum() == 80_000


def test_what_tests_make_up_is_of_unknown_labels_alone(tmp_path: Path) -> None:
    known = Labels.from_signed([[1, 0, -1], [0, 0, 0]])
    found = dense(Targets.load_for(write_targets(known, tmp_path / "targets.npz"), known))
    assert not found[known.to_signed() != 0].any() and found.any()
