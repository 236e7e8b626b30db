"""Labels survive being saved, and damaged files are refused."""

import pickle
import re
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings

from tests.support.label_cases import DENSE, any_labels, example
from tests.support.peak_memory import run_apart
from tests.support.strange_files import as_somebody_else, closed_file, make_pipe
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

quick = settings(max_examples=50, deadline=None)


@quick
@given(any_labels())
def test_what_was_saved_is_loaded(tmp_path_factory, labels):
    path = tmp_path_factory.mktemp("labels") / "sub" / "labels.npz"
    labels.save(path)
    loaded = Labels.load(str(path))
    assert loaded == labels and loaded.csr.dtype == np.int8
    assert [each.name for each in path.parent.iterdir()] == ["labels.npz"]


@pytest.fixture
def saved(tmp_path):
    example().save(tmp_path / "labels.npz")
    return tmp_path / "labels.npz"


def refused(path, says="."):
    """Loads, which must end in one clear line that names the file."""
    with pytest.raises(TrilabelError, match=says) as caught:
        Labels.load(path)
    assert str(caught.value).startswith(str(path)) and "\n" not in str(caught.value)


def tampered(path, **changes):
    with np.load(path) as file:
        arrays = {**file, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})


def test_a_file_cut_short_anywhere_is_refused(saved):
    whole = saved.read_bytes()
    for length in {*range(0, len(whole), 11), *range(len(whole) - 30, len(whole))}:
        saved.write_bytes(whole[:length])
        refused(saved, "not a labels file, or cut short")


def test_a_changed_byte_is_refused_or_changes_nothing(saved):
    whole = saved.read_bytes()
    survived = 0
    for place in range(0, len(whole), 5):
        saved.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            assert Labels.load(saved) == example()
            survived += 1
        except TrilabelError:
            pass
    assert survived < len(whole) / 10, "most bytes matter"


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,0\n", b"\x89PNG\r\n", pickle.dumps({"values": 1}), b"PK\x05\x06" + bytes(18)]
)
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    refused(tmp_path / "other", "not a labels file")


def test_other_arrays_and_archives_are_refused(tmp_path):
    np.save(tmp_path / "one.npy", DENSE)
    np.savez(tmp_path / "other.npz", values=DENSE)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("format.npy", "1, 2, 3")
    for name in ("one.npy", "other.npz", "text.npz"):
        refused(tmp_path / name, "not a labels file")
    refused(tmp_path / "missing.npz", "no such labels file")
    refused(tmp_path, "not a regular file")


def test_rows_that_end_before_they_begin_are_refused(tmp_path):
    """SciPy's own check passes over a last row that ends below 0, and what it computes then crashes the process."""
    file = tmp_path / "labels.npz"
    example().save(file)
    with np.load(file) as saved:
        arrays = dict(saved)
    count = len(arrays["row_ends"])
    for ends in ([0, *[1 << 28] * (count - 2), -(1 << 27)], range(1, count + 1), [0, *range(count - 1, 0, -1)]):
        np.savez(file, **{**arrays, "row_ends": np.array(ends, np.int32)})
        refused(file, "not a labels file, or cut short")


def test_another_version_says_so(saved):
    tampered(saved, format=np.array([2, 2, 3, 99]))
    refused(saved, "labels format 2, but this version of trilabel reads 1")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"values": np.array([1, -1, 5, 1], np.int8)}, "value 5 at image 'b.jpg' .*class 'cat'"),
        ({"values": np.array([1, -1, 0.5, 1])}, "value 0.5 at image 'b.jpg'"),
        ({"values": np.array([1, -1], np.int8)}, "."),
        ({"values": np.array(["1", "1", "1", "1"])}, "."),
        ({"columns": np.array([0, 2, 0, 3])}, "."),
        ({"columns": np.array([0, 2, 0, -1])}, "."),
        ({"columns": np.array([0, 0, 0, 1])}, "more than once"),
        ({"row_ends": np.array([0, 9, 4])}, "."),
        ({"row_ends": np.array([0, 2, 4, 4])}, "."),
        ({"row_ends": np.array([0, 4, 2])}, "."),
        ({"format": np.array([1, -2, 3])}, "."),
        ({"format": np.array([1, 2])}, "."),
        ({"format": np.array(1)}, "."),
        ({"format": np.array([], int)}, "."),
        ({"classes": np.frombuffer(b"dogdog\xff\xff\xff\xff\xff\xff", np.uint8)}, "damaged"),
        ({"classes": np.frombuffer(b"dogdogabcdef", np.uint8)}, "class 'dog' is listed twice"),
        ({"class_ends": np.array([0, 3, 6, 99])}, "damaged"),
        ({"class_ends": np.array([0, 7, 6, 12])}, "damaged"),
        ({"class_ends": np.array([0, 3, 12])}, "2 class names for 3"),
        ({"id_ends": np.array([0.0, 5.0, 10.0])}, "damaged"),
        ({"ids": None}, "."),
        ({"values": None}, "."),
    ],
)
def test_tampered_arrays_are_refused(saved, change, says):
    tampered(saved, **change)
    refused(saved, says)


class Trap:
    """Leaves a trace when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


@pytest.mark.parametrize("name", ["format", "values", "ids"])
def test_nothing_is_unpickled(saved, name, tmp_path):
    tampered(saved, **{name: np.array([Trap(tmp_path / "trace")], object)})
    refused(saved, "not a labels file")
    assert not (tmp_path / "trace").exists()
    with np.load(saved, allow_pickle=True) as file:
        file[name][0].close()
    assert (tmp_path / "trace").exists(), "the trap does not work, so this test shows nothing"


def test_a_save_that_ends_half_way_leaves_the_old_file(saved, monkeypatch):
    def half(file, **arrays):
        file.write(b"PK half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", half)
    with pytest.raises(KeyboardInterrupt):
        example()[:1].save(saved)
    assert Labels.load(saved) == example()
    assert list(saved.parent.iterdir()) == [saved]


# ---- files that are made to fill the memory


def test_an_archive_that_unpacks_to_more_than_its_size_is_refused_unread(saved, tmp_path):
    with np.load(saved) as file:
        arrays = {**file, "ids": np.zeros(1 << 27, np.uint8)}
    np.savez_compressed(tmp_path / "bomb.npz", **arrays)
    assert (tmp_path / "bomb.npz").stat().st_size < 1 << 20
    del arrays
    _, megabytes = run_apart(lambda: refused(tmp_path / "bomb.npz", "is compressed"))
    assert megabytes < 100, "of the 128 that it unpacks to"


@pytest.mark.parametrize("shape", ["(1000000000000000,)", "(-1,)", "(2, 2)", "(3,)", "(4.0,)", "'x'"])
def test_an_array_whose_header_does_not_fit_its_size_is_refused(saved, shape):
    with zipfile.ZipFile(saved) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    head = members["values.npy"]
    content = re.sub(rb"'shape': \(\d+,\)", b"'shape': " + shape.encode(), head)
    body = content.index(b"\n") - 10 + 1
    members["values.npy"] = content[:8] + body.to_bytes(2, "little") + content[10:]
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    refused(saved, "not a labels file")


def test_a_matrix_of_a_billion_times_a_billion_is_refused_before_it_is_made(saved):
    tampered(saved, format=np.array([1, 10**9, 10**9]))
    refused(saved, ".")
    tampered(saved, format=np.array([1, 2, 10**9]))
    refused(saved, "3 class names for 1000000000")


def test_what_is_no_file_is_not_opened(tmp_path):
    refused(make_pipe(tmp_path / "labels.npz"), r"not a regular file \(a named pipe\)")
    with closed_file(b"", "labels.npz") as path, as_somebody_else():
        refused(path, r"may not be read \(permission denied\)")
