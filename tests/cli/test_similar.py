"""`trilabel similar`: images that are similar to a model, and labels that it learned to go together."""

from pathlib import Path

import pandas as pd
import pytest

from tests.support.command_line import Capture, call, complaint, result


def test_similar_images_and_labels(
    project: Path, run: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = result(capsys, "similar", run, "--out", tmp_path / "one", "--limit", "3", "--neighbors", "2")
    assert {Path(file).name for file in found["files"]} == {"images.csv", "images.png"}
    assert {file.name for file in (tmp_path / "one").iterdir()} == {"images.csv", "images.png"}
    table = pd.read_csv(tmp_path / "one" / "images.csv")
    assert found["images"] == 48 and len(table) == len(found["pairs"]) > 24
    assert table.groupby("image").size().max() <= 2 and (table["image"] != table["similar"]).all()
    assert (table[["label_weight", "feature_weight"]] >= 0).all().all()
    test = set(pd.read_csv(project / "labels.csv").query("split == 'test'").image)
    assert set(table["image"]) <= test and set(table["similar"]) <= test
    graph = run / "label_graph.csv"
    graph.write_text("label,neighbor,weight\nsun,sun,1\nsun,cloud,-0.5\n")
    try:
        assert call("similar", run, "--out", tmp_path / "two", "--limit", "1") == 0
        assert "labels.png" in capsys.readouterr().out
        labels = pd.read_csv(tmp_path / "two" / "labels.csv")
        assert ("sun", "cloud", -0.5) in list(labels.itertuples(index=False, name=None))
        assert (tmp_path / "two" / "labels.png").is_file()
    finally:
        graph.unlink()
    monkeypatch.setattr("trilabel.report.similarity.MOST_IMAGES", 10)
    few = result(capsys, "similar", run, "--out", tmp_path / "one", "--overwrite", "--limit", "1")
    assert few["images"] == 10
    assert "exists" in complaint(capsys, "similar", run, "--out", tmp_path / "one")
    assert "--neighbors 0" in complaint(capsys, "similar", run, "--neighbors", "0", "--out", tmp_path / "x", code=2)
