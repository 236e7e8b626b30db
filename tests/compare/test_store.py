"""The folder of a comparison belongs to one data set."""

from dataclasses import replace

import numpy as np
import pytest

from tests.support.comparisons import flipped
from trilabel.compare.store import finish, open_comparison, read_result
from trilabel.errors import TrilabelError
from trilabel.labels import Labels

SOURCE = {"data": "DATA"}


def test_other_data_in_the_same_folder_is_refused(small_scenes, tmp_path):
    open_comparison(tmp_path, small_scenes, SOURCE)
    signed, splits = small_scenes.labels.to_signed(), small_scenes.splits
    renamed = Labels.from_signed(signed, ids=small_scenes.ids)
    reordered = Labels.from_signed(signed, small_scenes.classes, list(small_scenes.ids)[::-1])
    others = {
        "fewer images": small_scenes.take(np.arange(len(small_scenes) - 1)),
        "other classes": replace(small_scenes, labels=renamed),
        "other labels": flipped(small_scenes, "train"),
        "another order": replace(small_scenes, labels=reordered, ids=reordered.ids),
        "a smaller split": replace(small_scenes, splits={**splits, "test": splits["test"][1:]}),
        # Row numbers one after the other are the same before and after.
        "images in another split": replace(
            small_scenes,
            splits={
                **splits,
                "train": splits["train"][:-4],
                "val": np.concatenate((splits["train"][-4:], splits["val"])),
            },
        ),
        "another name of a split": replace(
            small_scenes, splits={("chosen" if name == "val" else name): rows for name, rows in splits.items()}
        ),
    }
    for other in others.values():
        with pytest.raises(TrilabelError, match="contains a comparison on other data"):
            open_comparison(tmp_path, other, SOURCE)
    with pytest.raises(TrilabelError, match="contains a comparison on other data"):
        open_comparison(tmp_path, small_scenes, {"data": "scenes"})
    open_comparison(tmp_path, small_scenes, SOURCE)


def test_a_folder_with_other_files_is_refused(small_scenes, tmp_path):
    (tmp_path / "diary").mkdir()
    (tmp_path / "diary" / "today.txt").write_text("")
    with pytest.raises(TrilabelError, match="contains something else"):
        open_comparison(tmp_path / "diary", small_scenes, SOURCE)
    assert [file.name for file in (tmp_path / "diary").iterdir()] == ["today.txt"]
    (tmp_path / "file").write_text("")
    with pytest.raises(TrilabelError, match="this is a file"):
        open_comparison(tmp_path / "file", small_scenes, SOURCE)
    (tmp_path / "started").mkdir()
    (tmp_path / "started" / ".data.1.tmp.json").write_text("")  # by a process that was killed, or starts at this moment
    open_comparison(tmp_path / "started", small_scenes, SOURCE)
    assert (tmp_path / "started" / "data.json").is_file()


@pytest.mark.parametrize("content", [b"", b"[1, 2", b"3", b"\xff", b"[" * 100_000])
def test_a_damaged_result_is_refused_in_one_line(content, tmp_path):
    (tmp_path / "result.json").write_bytes(content)
    with pytest.raises(TrilabelError, match=r"result\.json: damaged; delete it to repeat the run"):
        read_result(tmp_path)


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_damaged_data_is_told(small_scenes, tmp_path, content):
    (tmp_path / "data.json").write_bytes(content)
    with pytest.raises(TrilabelError, match=r"data\.json: damaged; restore it or choose another --out"):
        open_comparison(tmp_path, small_scenes, SOURCE)


@pytest.mark.parametrize("keep", [True, False])
def test_checkpoints_that_a_killed_comparison_left_are_deleted_when_the_result_is_read(tmp_path, keep):
    finish(tmp_path, {"row": "a"}, keep)
    for name in ("best", "last", "start"):
        (tmp_path / f"{name}.safetensors").touch()
    assert read_result(tmp_path) == {"row": "a"}
    assert [file.name for file in tmp_path.glob("*.safetensors")] == ["best.safetensors"] * keep
