"""`trilabel maps`: pictures of files and of a data set."""

from pathlib import Path

import pytest

from tests.support.command_line import Capture, call, complaint, result


def test_class_maps_of_files(project: Path, run: Path, tmp_path: Path, capsys: Capture) -> None:
    found = result(capsys, "maps", run, project / "photos", "--out", tmp_path / "maps", "--limit", "2", "--top", "2")
    files = sorted((project / "photos").iterdir())
    assert found["images"] == len(files)
    assert [record["image"] for record in found["pictures"]] == list(map(str, files[:2]))
    names = {Path(record["file"]).name for record in found["pictures"]} | {"overview.png"}
    assert (
        {file.name for file in (tmp_path / "maps").iterdir()} == names == {"overview.png", *(f.name for f in files[:2])}
    )
    scores = result(capsys, "predict", run, files[0])[0]["scores"]
    best = sorted(scores, key=lambda name: -scores[name])[:2]
    assert found["pictures"][0]["classes"] == pytest.approx({name: scores[name] for name in best}, abs=1e-5)
    assert "exists" in complaint(capsys, "maps", run, files[0], "--out", tmp_path / "maps")
    assert call("maps", run, files[2], "--out", tmp_path / "maps", "--overwrite", "--classes", "sun", "boat") == 0
    printed = capsys.readouterr()
    assert "pictures of 1 image;" in printed.out and "the first" not in printed.err
    assert call("maps", run, *files[:3], "--limit", "2", "--out", tmp_path / "two") == 0
    assert "the first 2 of 3 images" in capsys.readouterr().err
    assert "did you mean 'boat'?" in complaint(
        capsys, "maps", run, files[0], "--classes", "boats", "--out", tmp_path / "x"
    )
    assert "no such image or folder" in complaint(capsys, "maps", run, tmp_path / "nothing", "--out", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_class_maps_of_a_data_set(run: Path, tmp_path: Path, capsys: Capture) -> None:
    found = result(
        capsys, "maps", run, "--data", "scenes", "--split", "val", "--limit", "1", "--out", tmp_path / "maps"
    )
    assert [record["image"] for record in found["pictures"]] == ["scene00320"] and found["images"] == 64
    out = ("--out", tmp_path / "x")
    assert "either images" in complaint(capsys, "maps", run, *out, code=2)
    assert "either images" in complaint(capsys, "maps", run, "photos", "--data", "scenes", *out, code=2)
    assert "values: these options need --data" in complaint(
        capsys, "maps", run, "p", "--values", "signed", *out, code=2
    )
    assert "--top 0" in complaint(capsys, "maps", run, "--data", "scenes", "--top", "0", *out, code=2)
    assert "no split named" in complaint(capsys, "maps", run, "--data", "scenes", "--split", "tset", *out)
    (tmp_path / "file").write_text("")
    assert "give a folder" in complaint(capsys, "maps", run, "--data", "scenes", "--out", tmp_path / "file")
