"""Pictures, and image files of several kinds made of them."""

import io
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from trilabel.data.dataset import Dataset
from trilabel.labels import Labels

SIZE = 24


def pixels(height: int = SIZE, width: int = SIZE, number: int = 0) -> np.ndarray:
    """H×W×3 uint8: smooth, so that JPEG keeps it, and without any symmetry, so that turning it shows."""
    y, x = np.linspace(0, 1, height)[:, None], np.linspace(0, 1, width)[None]
    return np.stack((200 * x + 0 * y, 100 * y + 80 * x**2, 30 + 7 * number + 120 * y * x), 2).astype(np.uint8)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def written(folder: Path, data: bytes, name: str = "picture.bin") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def as_array(image: torch.Tensor) -> np.ndarray:
    return image.permute(1, 2, 0).numpy()


def distance(image: torch.Tensor, array: np.ndarray) -> float:
    """Mean difference in gray levels: an image and its mirror image are 25 and more apart."""
    return float(np.abs(as_array(image).astype(int) - array.astype(int)).mean())


RGB = Image.fromarray(pixels(60, 80))
WHOLE = {
    "jpeg": encoded(RGB, "JPEG"),
    "progressive jpeg": encoded(RGB, "JPEG", progressive=True),
    "cmyk jpeg": encoded(RGB.convert("CMYK"), "JPEG"),
    "png": encoded(RGB, "PNG"),
    "webp": encoded(RGB, "WEBP"),
    "lossless webp": encoded(RGB, "WEBP", lossless=True),
}


def write_few(folder: str, count: int = 24) -> Dataset:
    """A data set of small image files in this folder: 16 to learn from, the others to choose by."""
    draw = np.random.default_rng(0)
    paths = [str(Path(folder) / f"{number}.png") for number in range(count)]
    for path in paths:
        Image.fromarray(draw.integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path)
    labels = Labels.from_signed(draw.choice(np.array([-1, 1], np.int8), (count, 3)), ids=paths)
    return Dataset(labels.ids, paths, labels, {"train": np.arange(16), "val": np.arange(16, count)})
