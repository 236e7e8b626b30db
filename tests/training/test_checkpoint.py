"""Checkpoints come back as they were written, or not at all with an error that names the file."""

import errno
import io
import json
import pickle
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from tests.support import SECONDS_UNTIL_HUNG
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.training import checkpoint
from trilabel.training.optim import create_optimizer

DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
    *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
]
STATE = {"epoch": 3, "best": {"mAP": 0.25, "none": None}, "history": [1.5, "grüße\n"], "empty": {}}


def example():
    draw = torch.Generator().manual_seed(0)
    return {
        "a.weight": torch.randn(3, 4, generator=draw),
        "a.count": torch.tensor(7),
        "b": torch.randn(5, generator=draw),
    }


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "last.safetensors"
    checkpoint.save(path, example(), STATE)
    return path


def same(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (2, 3)])
def test_every_type_and_shape_comes_back(tmp_path, dtype, shape):
    value = (torch.randn(shape) * 3).to(dtype)
    checkpoint.save(tmp_path / "x.safetensors", {"value": value}, {})
    tensors, state = checkpoint.load(tmp_path / "x.safetensors")
    assert tensors["value"].dtype == dtype and tensors["value"].shape == shape and torch.equal(tensors["value"], value)
    assert state == {}


def test_infinities_and_nan_come_back_bit_for_bit(tmp_path):
    value = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
    checkpoint.save(tmp_path / "x.safetensors", {"value": value}, {})
    assert torch.equal(
        checkpoint.load(tmp_path / "x.safetensors")[0]["value"].view(torch.int32), value.view(torch.int32)
    )


def test_state_and_tensors_come_back_together(file):
    tensors, state = checkpoint.load(str(file))
    assert same(tensors, example()) and state == STATE
    assert checkpoint.load_state(file) == STATE
    checkpoint.save(file, {}, {"epoch": 4})
    assert checkpoint.load(file) == ({}, {"epoch": 4})


def test_a_checkpoint_may_be_read_by_whom_other_files_may_be_read(tmp_path):
    (tmp_path / "other").touch()
    checkpoint.save(tmp_path / "x.safetensors", {"a": torch.zeros(2)}, {})
    assert (tmp_path / "x.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_views_shared_memory_and_parameters_are_saved_as_their_values(tmp_path):
    whole = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "whole": whole,
        "same": whole,
        "turned": whole.T,
        "part": whole[1:],
        "weight": nn.Parameter(whole[:, ::2]),
    }
    checkpoint.save(tmp_path / "x.safetensors", tensors, {})
    loaded, _ = checkpoint.load(tmp_path / "x.safetensors")
    assert same(loaded, tensors) and not loaded["weight"].requires_grad
    loaded["whole"].zero_()
    assert torch.equal(loaded["same"], whole), "and each has its own memory again"


def test_prefixes_and_parts():
    one, two = {"x": torch.ones(1), "y.z": torch.zeros(1)}, {"x": torch.ones(2)}
    both = checkpoint.prefixed("model", one) | checkpoint.prefixed("model2", two)
    assert list(both) == ["model.x", "model.y.z", "model2.x"]
    assert same(checkpoint.part("model", both), one) and same(checkpoint.part("model2", both), two)
    assert checkpoint.part("mod", both) == {}


# ---- damage


def refused(path):
    with pytest.raises(TrilabelError) as caught:
        checkpoint.load(path)
    message = str(caught.value)
    with pytest.raises(TrilabelError):
        checkpoint.load_state(path)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message


def test_a_file_cut_anywhere_is_refused(file):
    whole = file.read_bytes()
    for cut in {*range(12), *np.linspace(0, len(whole) - 1, 80).astype(int), len(whole) - 1}:
        file.write_bytes(whole[:cut])
        assert "cut short" in refused(file)


def test_damaged_bytes_never_give_another_kind_of_error(file):
    whole = file.read_bytes()
    header = 8 + int.from_bytes(whole[:8], "little")
    draw = np.random.default_rng(0)
    for _ in range(400):
        data = bytearray(whole)
        for place in draw.integers(0, header, draw.integers(1, 4)):
            data[place] = draw.integers(0, 256)
        file.write_bytes(data)
        try:
            checkpoint.load(file)
        except TrilabelError as error:
            assert str(error).startswith(f"{file}: ") and "\n" not in str(error)


def test_what_is_no_checkpoint_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    assert "no such checkpoint" in refused(path)
    assert "not a regular file (a folder)" in refused(tmp_path)
    for data in (b"", b"\0" * 100, b"\xff" * 100, b"rubbish", pickle.dumps({"a": 1})):
        path.write_bytes(data)
        assert "not a trilabel checkpoint" in refused(path)
    torch.save(example(), path)
    assert "not a trilabel checkpoint" in refused(path)


@pytest.mark.parametrize(
    "metadata", [None, {"format": "pt"}, {"state": "not json"}, {"state": "[1, 2]"}, {"state": "3"}]
)
def test_safetensors_of_others_are_refused(tmp_path, metadata):
    save_file(example(), tmp_path / "x.safetensors", metadata=metadata)
    assert "not a trilabel checkpoint" in refused(tmp_path / "x.safetensors")


def test_nothing_is_pickled(file):
    data = file.read_bytes()
    assert not zipfile.is_zipfile(file)
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(data)
    with pytest.raises(Exception):  # noqa: B017 (whatever torch calls it today)
        torch.load(io.BytesIO(data), weights_only=False)
    size = int.from_bytes(data[:8], "little")
    assert json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["state"]) == STATE


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_a_stop_in_the_middle_leaves_the_old_file(file, monkeypatch, stop):
    def half(tensors, path, metadata):
        path.write_bytes(b"half of it")
        raise stop

    monkeypatch.setattr(checkpoint, "save_file", half)
    with pytest.raises(stop):
        checkpoint.save(file, {"b": torch.zeros(2)}, {"epoch": 4})
    tensors, state = checkpoint.load(file)
    assert same(tensors, example()) and state == STATE
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_state_that_is_no_json_leaves_the_old_file(file):
    with pytest.raises(TypeError):
        checkpoint.save(file, {}, {"tensor": torch.zeros(2)})
    assert checkpoint.load(file)[1] == STATE


# ---- written aside

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture
def gate(monkeypatch):
    """Lets as many writes through as it is released, and lists those that began."""
    opened, write = threading.Semaphore(0), checkpoint._write
    opened.begun, opened.began = [], threading.Event()

    def held(path, tensors, state):
        opened.begun.append(json.loads(state)["epoch"])
        opened.began.set()
        assert opened.acquire(timeout=SECONDS_UNTIL_HUNG)
        write(path, tensors, state)

    monkeypatch.setattr(checkpoint, "_write", held)
    yield opened
    opened.release(9)  # or a test that fails would leave a thread behind


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_written_aside_is_what_was_there_at_the_call(tmp_path, gate, device):
    writer, record, path = checkpoint.Writer(), {"epoch": 1, "history": [1]}, tmp_path / "x.safetensors"
    tensors = {name: value.to(device) for name, value in example().items()}
    tensors["turned"] = tensors["a.weight"].T
    weight = tensors["weight"] = nn.Parameter(torch.ones(3, device=device))
    writer.save(path, tensors, record)
    with torch.no_grad():
        for value in tensors.values():
            value.zero_()
    tensors.clear()
    record["history"].append(2)
    record["epoch"] = 7
    assert not path.exists()
    gate.release()
    writer.wait()
    loaded, state = checkpoint.load(path)
    assert same(loaded, {**example(), "turned": example()["a.weight"].T, "weight": torch.ones(3)})
    assert state == {"epoch": 1, "history": [1]} and not weight.any()


@pytest.mark.parametrize("device", DEVICES)
def test_files_are_written_in_the_order_of_the_calls_and_whole(tmp_path, device):
    """One file over and over: whoever looks sees one that is whole, and never an older one than before."""
    writer, path, seen, value = checkpoint.Writer(), tmp_path / "x.safetensors", [], torch.zeros(50_000, device=device)
    for epoch in range(20):
        writer.save(path, {"value": value.fill_(epoch)}, {"epoch": epoch})
        if path.exists():
            tensors, state = checkpoint.load(path)
            assert torch.equal(tensors["value"], torch.full((50_000,), float(state["epoch"])))
            seen.append(state["epoch"])
    writer.wait()
    assert seen == sorted(seen) and checkpoint.load_state(path) == {"epoch": 19}
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_without_room_for_a_copy_it_is_written_at_once(tmp_path, monkeypatch):
    def full(self):
        raise torch.OutOfMemoryError

    writer = checkpoint.Writer()
    writer.save(tmp_path / "1.safetensors", example(), {"epoch": 1})
    monkeypatch.setattr(torch.Tensor, "clone", full)
    writer.save(tmp_path / "2.safetensors", example(), {"epoch": 2})
    assert [checkpoint.load_state(tmp_path / f"{epoch}.safetensors")["epoch"] for epoch in (1, 2)] == [1, 2]


def test_two_at_most_are_under_way(tmp_path, gate):
    writer, third = checkpoint.Writer(), threading.Event()

    def save(epoch):
        writer.save(tmp_path / f"{epoch}.safetensors", example(), {"epoch": epoch})

    def save_a_third():
        save(3)
        third.set()

    save(1)
    save(2)
    waiting = threading.Thread(target=save_a_third)
    waiting.start()
    assert gate.began.wait(SECONDS_UNTIL_HUNG)
    assert not third.wait(0.2) and gate.begun == [1]
    gate.release()
    assert third.wait(SECONDS_UNTIL_HUNG), "there is room for it as soon as one is written"
    assert not (tmp_path / "2.safetensors").exists()
    waiting.join()
    gate.release()
    writer.wait(until=1)
    assert checkpoint.load_state(tmp_path / "2.safetensors") == {"epoch": 2}
    gate.release()
    writer.wait()
    writer.wait()
    assert gate.begun == [1, 2, 3] and checkpoint.load_state(tmp_path / "3.safetensors") == {"epoch": 3}


def failing(monkeypatch, name):
    """Has files of this name fail to be written."""
    write = checkpoint._write

    def fails(path, tensors, state):
        if path.stem == name:
            raise OSError("disk full")
        write(path, tensors, state)

    monkeypatch.setattr(checkpoint, "_write", fails)


def test_what_went_wrong_is_raised_by_wait(file, monkeypatch):
    failing(monkeypatch, "last")
    writer = checkpoint.Writer()
    writer.save(file, {}, {"epoch": 4})
    with pytest.raises(OSError, match="disk full"):
        writer.wait()
    writer.wait()
    assert checkpoint.load_state(file) == STATE
    writer.save(file.with_stem("other"), {}, {"epoch": 5})
    writer.wait()
    assert checkpoint.load_state(file.with_stem("other")) == {"epoch": 5}, "told once, it may go on"


def test_what_went_wrong_is_raised_by_a_later_save_and_nothing_behind_it_is_written(file, monkeypatch):
    """The last checkpoint names the best: were only that one lost, a run would go on from an older best unawares."""
    failing(monkeypatch, "best")
    writer, states = checkpoint.Writer(), [{"epoch": epoch} for epoch in range(3)]
    writer.save(file.with_stem("best"), {}, states[0])
    writer.save(file, {}, states[1])
    with pytest.raises(OSError, match="disk full"):
        writer.save(file, {}, states[2])
    with pytest.raises(OSError, match="disk full"):
        writer.wait()
    assert checkpoint.load_state(file) == STATE and [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_state_that_is_no_json_is_refused_at_once(file):
    writer = checkpoint.Writer()
    with pytest.raises(TypeError):
        writer.save(file, {}, {"tensor": torch.zeros(2)})
    writer.wait()
    assert checkpoint.load_state(file) == STATE


# ---- optimizers


def advance(network, optimizer, seed):
    draw = torch.Generator().manual_seed(seed)
    for _ in range(3):
        optimizer.zero_grad()
        network(torch.randn(8, 5, generator=draw)).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "rmsprop"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_an_optimizer_resumes_exactly_where_it_was(tmp_path, name, momentum):
    def make():
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 2))
        config = Config(optimizer=name, weight_decay=0.01, momentum=momentum)
        groups = [(list(network[0].parameters()), 1.0), (list(network[1].parameters()), 3.0)]
        return network, create_optimizer(config, groups, 0.01)

    network, optimizer = make()
    advance(network, optimizer, 1)
    tensors = checkpoint.prefixed("o", checkpoint.optimizer_tensors(optimizer))
    checkpoint.save(tmp_path / "x.safetensors", tensors | checkpoint.prefixed("m", network.state_dict()), {})
    advance(network, optimizer, 2)

    again, other = make()
    tensors, _ = checkpoint.load(tmp_path / "x.safetensors")
    again.load_state_dict(checkpoint.part("m", tensors))
    checkpoint.restore_optimizer(other, checkpoint.part("o", tensors))
    assert [group["scale"] for group in other.param_groups] == [1.0, 3.0]
    advance(again, other, 2)
    assert same(dict(again.state_dict()), dict(network.state_dict()))
    assert same(checkpoint.optimizer_tensors(other), checkpoint.optimizer_tensors(optimizer))


def test_an_optimizer_that_has_done_nothing_yet():
    network = nn.Linear(2, 1)
    optimizer = create_optimizer(Config(), [(list(network.parameters()), 1.0)], 0.01)
    assert checkpoint.optimizer_tensors(optimizer) == {}
    checkpoint.restore_optimizer(optimizer, {})
    assert optimizer.param_groups[0]["params"] == list(network.parameters())


def test_a_mount_without_permissions_is_enough(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    checkpoint.save(tmp_path / "a.safetensors", {"x": torch.ones(2)}, {})
    assert checkpoint.load(tmp_path / "a.safetensors")[0]["x"].tolist() == [1, 1]
