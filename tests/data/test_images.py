"""Many images: batches are the same whatever cache and however many workers, and broken files stop or are listed."""

import os

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from tests.support.pictures import SIZE, WHOLE, distance, encoded, pixels, written
from trilabel.data import images as module
from trilabel.data.decode import check_image
from trilabel.data.images import decode, in_order, open_images
from trilabel.errors import TrilabelError

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Eleven images of several kinds and sizes."""
    folder = tmp_path_factory.mktemp("images")
    kinds = ["PNG", "JPEG", "WEBP"]
    return [
        written(folder, encoded(Image.fromarray(pixels(20 + 3 * i, 50 - i, i)), kinds[i % 3]), f"{i}.img")
        for i in range(11)
    ]


@pytest.fixture
def with_broken(files, tmp_path):
    """The same with one cut (2), one (4) that only decoding finds out about, and one missing (7)."""
    paths = list(files)
    paths[2] = written(tmp_path, WHOLE["jpeg"][:900], "cut.jpg")
    whole = bytearray(WHOLE["png"])
    whole[len(whole) // 2] ^= 0xFF
    paths[4] = written(tmp_path, bytes(whole), "damaged.png")
    paths[7] = str(tmp_path / "missing.jpg")
    assert check_image(paths[4]) is None
    return paths


ORDER = [np.array([3, 1, 10, 3]), np.array([0]), np.array([9, 8, 7, 6, 5])]


@pytest.mark.parametrize("cache", ["none", "memory", "device", "auto"])
@pytest.mark.parametrize("workers", [0, 2])
def test_every_cache_and_number_of_workers_gives_the_same_batches(files, cache, workers):
    source, errors = open_images(None, files, SIZE, CPU, cache, workers)
    assert len(source) == len(files) and not errors
    for batch, wanted in zip(source.batches(ORDER), ORDER, strict=True):
        expected = torch.stack([decode(files[position], SIZE) for position in wanted])
        assert torch.equal(batch.images, expected) and batch.images.dtype == torch.uint8
        assert batch.positions.tolist() == wanted.tolist() and not batch.failed


def test_a_cache_reads_each_file_once(files, tmp_path):
    copies = [written(tmp_path, open(path, "rb").read(), f"{i}.img") for i, path in enumerate(files)]  # noqa: PTH123, SIM115
    source, _ = open_images(None, copies, SIZE, CPU, "memory", 0)
    for path in copies:
        os.remove(path)  # noqa: PTH107
    assert sum(len(batch.images) for batch in source.batches(in_order(len(copies), 4))) == len(copies)


def test_worker_processes_decode(files, monkeypatch):
    asked = []

    class Spy(DataLoader):
        def __init__(self, *args, **options):
            asked.append(options["num_workers"])
            super().__init__(*args, **options)

    monkeypatch.setattr(module, "DataLoader", Spy)
    source, _ = open_images(None, files, SIZE, CPU, "none", 2)
    list(source.batches(in_order(len(files), 3)))
    list(source.batches([np.array([1])]))
    assert asked == [2, 1], "and no more of them than there are batches"


@pytest.mark.parametrize("cache", ["none", "memory"])
def test_broken_files_stop_the_run_before_it_starts(with_broken, cache):
    with pytest.raises(TrilabelError, match=r"cut\.jpg: broken image .*\(and 1 more\).*--broken skip"):
        open_images(None, with_broken, SIZE, CPU, cache, 0)
    with pytest.raises(TrilabelError, match=r"missing\.jpg: no such image; replace it"):
        open_images(None, with_broken[5:], SIZE, CPU, cache, 0)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_file_that_only_decoding_finds_broken_stops_it_too(with_broken, workers):
    paths = with_broken[3:7]
    with pytest.raises(TrilabelError, match=r"damaged\.png: broken image"):
        open_images(None, paths, SIZE, CPU, "memory", workers)
    source, errors = open_images(None, paths, SIZE, CPU, "none", workers)
    assert not errors
    with pytest.raises(TrilabelError, match=r"damaged\.png: broken image"):
        list(source.batches([np.arange(len(paths))]))


@pytest.mark.parametrize("workers", [0, 2])
def test_broken_files_are_left_out_and_listed(with_broken, files, workers):
    cached, errors = open_images(None, with_broken, SIZE, CPU, "memory", workers, "skip")
    assert [position for position, _ in errors] == [2, 4, 7] and len(cached) == 8
    for (_, message), name in zip(errors, ("cut.jpg", "damaged.png", "missing.jpg"), strict=True):
        assert name in message
    expected = torch.stack([decode(files[position], SIZE) for position in (0, 1, 3, 5, 6, 8, 9, 10)])
    (batch,) = cached.batches([np.arange(8)])
    assert torch.equal(batch.images, expected) and not batch.failed

    direct, errors = open_images(None, with_broken, SIZE, CPU, "none", workers, "skip")
    assert [position for position, _ in errors] == [2, 7] and len(direct) == 9
    (batch,) = direct.batches([np.arange(9)], skip_broken=True)
    assert torch.equal(batch.images, expected)
    assert batch.positions.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert [position for position, _ in batch.failed] == [3] and "damaged.png" in batch.failed[0][1]


def test_a_batch_of_broken_files_only_is_empty(with_broken):
    source, _ = open_images(None, with_broken[4:5], SIZE, CPU, "none", 0, "skip")
    (batch,) = source.batches([np.array([0])], skip_broken=True)
    assert len(batch.images) == len(batch.positions) == 0 and len(batch.failed) == 1
    source, errors = open_images(None, with_broken[4:5], SIZE, CPU, "memory", 0, "skip")
    assert len(source) == 0 and len(errors) == 1


def test_images_in_memory_are_resized():
    array = torch.from_numpy(np.stack([pixels(40, 56, i) for i in range(5)])).permute(0, 3, 1, 2)
    source, errors = open_images(array, None, SIZE, CPU)
    (batch,) = source.batches([np.array([4, 0])])
    assert batch.images.shape == (2, 3, SIZE, SIZE) and not errors
    assert distance(batch.images[0], pixels(number=4)) <= 3 and distance(batch.images[1], pixels()) <= 3


@pytest.mark.parametrize(
    "wrong", [torch.zeros(2, 3, 8, 8), torch.zeros(2, 8, 8, 3, dtype=torch.uint8), torch.zeros(3, 8, 8).byte()]
)
def test_wrong_images_in_memory_are_refused(wrong):
    with pytest.raises(TrilabelError, match="N×3×H×W uint8; these are"):
        open_images(wrong, None, SIZE, CPU)


def test_no_images_at_all():
    with pytest.raises(TrilabelError, match="neither paths nor image arrays"):
        open_images(None, None, SIZE, CPU)
    for cache in ("none", "memory"):
        source, errors = open_images(None, [], SIZE, CPU, cache, 2)
        assert len(source) == 0 and not errors and not list(source.batches([]))


def test_batches_in_order():
    assert [positions.tolist() for positions in in_order(7, 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert in_order(0, 3) == []
