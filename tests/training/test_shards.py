"""Training from shards: images are read where they are, in an order of their own, and runs can be resumed."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.data.formats.layouts.webdataset_cls import shard
from tests.support.runs import killed_at_batch, same, tensors_of, without_times
from trilabel.config import Config
from trilabel.data import read
from trilabel.data.dataset import Dataset
from trilabel.training.api import train

SHARDS = 4


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def pictures(small_scenes: Dataset) -> list[bytes]:
    return [png(image.permute(1, 2, 0).numpy()) for image in small_scenes.images]


@pytest.fixture(scope="module")
def files(small_scenes: Dataset, pictures: list[bytes], tmp_path_factory) -> Dataset:
    """Each image in a file of its own."""
    folder = tmp_path_factory.mktemp("files")
    for number, content in enumerate(pictures):
        (folder / f"{number}.png").write_bytes(content)
    paths = [str(folder / f"{number}.png") for number in range(len(pictures))]
    return replace(small_scenes, images=None, paths=paths)


@pytest.fixture(scope="module")
def tars(small_scenes: Dataset, pictures: list[bytes], tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tars")
    for number, part in enumerate(np.array_split(np.arange(len(pictures)), SHARDS)):
        members = {f"{row:05}.{end}": pictures[row] if end == "png" else b"0" for row in part for end in ("png", "cls")}
        shard(folder / f"{number}.tar", members)
    return folder


@pytest.fixture(scope="module")
def tables(small_scenes: Dataset, pictures: list[bytes], tmp_path_factory) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("tables")
    for number, part in enumerate(np.array_split(np.arange(len(pictures)), SHARDS)):
        cells = [{"bytes": pictures[row], "path": None} for row in part]
        pq.write_table(pa.table({"image": cells, "label": ["x"] * len(part)}), folder / f"{number}.parquet", 7)
    return folder


@pytest.fixture
def streamed(quick: Config) -> Config:
    """Nothing is kept in memory, and a checkpoint is written after every step."""
    return replace(quick, cache="none", save_minutes=0.0, epochs=2)


def test_tars_train_as_files_do(files, tars, streamed, tmp_path):
    """The very same bits: any image can be read at any time."""
    config = replace(streamed, workers=2)
    one = train(files, config, tmp_path / "files")
    two = train(replace(files, paths=read(tars).paths), config, tmp_path / "tars")
    assert without_times(one.history) == without_times(two.history)
    assert same(tensors_of(tmp_path / "files"), tensors_of(tmp_path / "tars"))


def test_killed_and_resumed_is_identical(files, tables, streamed, tmp_path):
    shards = replace(files, paths=read(tables).paths)
    whole = train(shards, streamed, tmp_path / "whole")
    with killed_at_batch(9):
        train(shards, streamed, tmp_path / "cut")
    resumed = train(shards, streamed, tmp_path / "cut", resume=True)
    assert without_times(resumed.history) == without_times(whole.history)
    assert same(tensors_of(tmp_path / "cut"), tensors_of(tmp_path / "whole"))


def test_row_groups_are_unpacked_few_times(files, tables, streamed, tmp_path, monkeypatch):
    """In a plain random order nearly every image would need another row group than those that are kept."""
    from trilabel.archives import table_rows

    paths = read(tables).paths
    groups = len({path.rpartition("/")[0] for path in paths})
    sizes = [table_rows.group_bytes(str(file), "image/0") for file in tables.iterdir()]
    monkeypatch.setattr(table_rows, "KEPT_BYTES", 3 * max(sizes))
    table_rows._kept.clear()
    unpacked: list[str] = []
    unpack = table_rows._unpacked
    monkeypatch.setattr(table_rows, "_unpacked", lambda *place: unpacked.append(str(place)) or unpack(*place))
    train(replace(files, paths=paths), streamed, tmp_path / "run")
    passes = 2 * streamed.epochs  # each epoch trains and validates
    assert groups < len(unpacked) <= 2 * passes * groups
