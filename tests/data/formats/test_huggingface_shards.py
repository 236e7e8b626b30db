"""Data sets of Hugging Face with the images inside: Parquet shards of the hub, and what `save_to_disk` writes."""

import json
import zipfile
from pathlib import Path

import pytest

from tests.data.formats.layouts import huggingface_disk, huggingface_parquet
from tests.data.formats.layouts.huggingface_parquet import FEATURES, image, table
from tests.support.seen import known, refusal_of, rows
from trilabel.data import read, write
from trilabel.data.decode import decode
from trilabel.data.formats import format_of
from trilabel.data.image_paths import existing

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
refusal = refusal_of(read)
SIGNED = [[1, 1, 0], [0, 0, 1], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 1, 1], [1, 0, 0]]
LISTED = "listed labels are present, others unknown; images without a list are unknown"


def saved(path: Path, features: dict | None = None, **columns) -> Path:
    """A Parquet file with two images and these columns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    cells = pa.array([{"bytes": image(row), "path": None} for row in range(2)])
    rows = pa.table({"image": cells, **columns})
    about = {"huggingface": json.dumps({"info": {"features": features or {}}})}
    pq.write_table(rows.replace_schema_metadata(about), path)
    return path


def test_shards_of_the_hub(tmp_path):
    dataset = read(huggingface_parquet.write(tmp_path))
    assert dataset.classes == ["cat", "dog", "big bird"] and dataset.labels.to_signed().tolist() == SIGNED
    assert rows(dataset) == {"train": [0, 1, 2, 3, 4], "val": [5, 6]}
    assert dataset.ids[0] == "0000.png" and dataset.ids[6] == "0006.png"
    assert dataset.notes == (LISTED, "1 images have no labels: their labels are unknown", "columns left out: caption")
    assert dataset.paths[2] == f"{tmp_path}/birds/data/train-00000-of-00002.parquet/image/1/0.jpg"
    assert [int(decode(path, 4)[0, 0, 0]) for path in dataset.paths] == list(range(7))
    assert existing(dataset.paths).all()
    absent = read(tmp_path / "birds", unlisted="absent").labels.to_signed().tolist()
    assert absent[0] == [1, 1, -1] and absent[2] == [-1, -1, -1] and absent[4] == [0, 0, 0]


def test_what_save_to_disk_writes(tmp_path):
    path = huggingface_disk.write(tmp_path)
    dataset = read(path)
    assert dataset.labels.to_signed().tolist() == SIGNED and rows(dataset) == {"train": [0, 1, 2, 3, 4], "test": [5, 6]}
    assert list(dataset.ids[3:6]) == ["train/3", "train/4", "test/0"]  # the numbers that `datasets` gives them
    assert [int(decode(path, 4)[0, 0, 0]) for path in dataset.paths] == list(range(7))
    one = read(path / "train")
    assert one.labels.to_signed().tolist() == SIGNED[:5] and one.ids[3] == "3"
    assert len(read(path / "train/data-00001-of-00002.arrow")) == 2
    state = json.loads((path / "train/state.json").read_text())
    state["_data_files"] = state["_data_files"][::-1]
    (path / "train/state.json").write_text(json.dumps(state))
    assert read(path).labels.to_signed().tolist()[:2] == SIGNED[3:5]
    state["_data_files"][0]["filename"] = "gone.arrow"
    (path / "train/state.json").write_text(json.dumps(state))
    assert refusal(path / "train", format="huggingface") == (
        "ROOT: no metadata.csv or metadata.jsonl in this folder or its sub-folders"
    )


def test_the_index_is_a_file_of_ours(tmp_path):
    """Once converted, nothing of the shards is read but the images that are needed."""
    before = read(huggingface_parquet.write(tmp_path))
    write(before, tmp_path / "index.trilabel")
    after = read(tmp_path / "index.trilabel")
    assert after.labels == before.labels and int(decode(after.paths[6], 4)[0, 0, 0]) == 6


def test_columns_of_each_kind(tmp_path):
    label = {"label": {"names": ["cat", "dog"], "_type": "ClassLabel"}}
    single = read(saved(tmp_path / "a.parquet", label, label=[1, -1]))
    assert single.classes == ["cat", "dog"] and single.labels.to_signed().tolist() == [[0, 1], [0, 0]]
    wide = read(saved(tmp_path / "b.parquet", cat=[True, None], dog=[0, 1], size=[5, 6], text=["0", "1"]))
    assert wide.classes == ["cat", "dog"] and wide.labels.to_signed().tolist() == [[1, -1], [0, 1]]
    assert wide.notes[-1] == "columns left out: size, text"
    genres = saved(tmp_path / "c.parquet", genres=[["war", "drama"], ["war"]], labels=[[1], [2]])
    assert known(read(genres, column="genres")) == {"0": [1, 1], "1": [0, 1]}
    assert read(genres).classes == ["1", "2"] and "the metadata has no names for them" in read(genres).notes[1]
    assert "no column 'x' here, only" in refusal(genres, column="x")


@pytest.mark.parametrize("kind", ["Sequence", "List"])
def test_objects_with_boxes(tmp_path, kind):
    category = {"names": ["cat", "dog"], "_type": "ClassLabel"}
    features = {"objects": {"feature": {"category": category, "bbox": {}}, "_type": "Sequence"}}
    if kind == "List":
        features = {"objects": {"category": {"feature": category, "_type": "List"}, "bbox": {}}}
    cells = [{"category": [1, 0], "bbox": [[0.0, 0, 3, 2], [3, 2, 3, 2]]}, {"category": [], "bbox": []}]
    found = read(saved(tmp_path / "a.parquet", features, objects=cells, width=[6, 6], height=[4, 4]))
    assert found.classes == ["cat", "dog"] and found.labels.to_signed().tolist() == [[1, 1], [0, 0]]
    assert found.boxes.xyxy.tolist() == [[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]] and found.boxes.cls.tolist() == [1, 0]


def test_images_that_stayed_files(tmp_path):
    """`datasets` can store the path alone."""
    (tmp_path / "a.png").write_bytes(image(9))
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    cells = pa.array([{"bytes": None, "path": "a.png"}], kind)
    pq.write_table(pa.table({"image": cells, "label": ["cat"]}), tmp_path / "x.parquet")
    found = read(tmp_path / "x.parquet")
    assert found.paths == [str(tmp_path / "a.png")] and int(decode(found.paths[0], 2)[0, 0, 0]) == 9


def test_several_columns_of_images(tmp_path):
    mask = pa.array([{"bytes": b"", "path": None}] * 2)
    assert read(saved(tmp_path / "a.parquet", mask=mask, label=["a", "b"])).notes[-1] == (
        "images are those in column 'image', not mask"
    )


def test_names_that_repeat(tmp_path):
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        pq.write_table(table([[0], [1]], 0), tmp_path / split / "0000.parquet")
    assert list(read(tmp_path).ids) == ["train/0000.png", "train/0001.png", "test/0000.png", "test/0001.png"]
    pq.write_table(table([[0], [1]], 0), tmp_path / "train" / "0001.parquet")
    assert list(read(tmp_path).ids)[2:4] == ["train/2", "train/3"]


def test_several_configurations(tmp_path):
    for name in ("en", "de"):
        saved(tmp_path / name / "train-00000-of-00001.parquet", label=["a", "b"])
    assert refusal(tmp_path) == "ROOT: has several configurations (de, en); give the folder of one of them"
    assert len(read(tmp_path / "en")) == 2
    saved(tmp_path / "data/default/train/0000.parquet", label=["a", "b"])
    saved(tmp_path / "data/default/test/0000.parquet", label=["a", "b"])
    assert rows(read(tmp_path / "data")) == {"train": [0, 1], "test": [2, 3]}


def test_refusals(tmp_path):
    path = huggingface_parquet.write(tmp_path)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for file in path.rglob("*.parquet"):
            archive.write(file, file.relative_to(path))
    assert "images in a table in a .zip are not read; unpack it" in refusal(tmp_path / "x.zip")
    saved(path / "data/train-00001-of-00002.parquet", label=["a", "b"])
    assert format_of(path, None) == "huggingface"
    pq.write_table(pa.table({"labels": [[1]]}), path / "data/train-00001-of-00002.parquet")
    assert refusal(path).endswith("train-00001-of-00002.parquet: has no column of images, unlike the other shards")
    (path / "data/train-00001-of-00002.parquet").write_bytes(b"PAR1PAR1")
    assert "train-00001-of-00002.parquet: cannot be read as a table (" in refusal(path)
    empty = table([], 0)
    pq.write_table(empty, tmp_path / "empty.parquet")
    assert refusal(tmp_path / "empty.parquet") == "ROOT: its tables have no rows"


def test_a_table_without_images_is_one_of_text(tmp_path):
    pq.write_table(pa.table({"image": ["1.jpg"], "cat": [1]}), tmp_path / "t.parquet")
    assert format_of(tmp_path / "t.parquet", None) == "csv"


def test_features_that_make_no_sense(tmp_path):
    for features in ({"label": 7}, {"label": {"_type": "ClassLabel", "names": 5}}, {"label": [[[]]]}, []):
        found = read(saved(tmp_path / "a.parquet", features, label=[1, 0]))  # type: ignore[arg-type]
        assert found.classes == ["0", "1"]
    assert set(FEATURES) == {"image", "labels", "caption"}
