"""`trilabel report`: what it prints, draws and refuses."""

import json
import re
import shutil
from pathlib import Path

from PIL import Image

from tests.support.command_line import Capture, call, complaint, result
from trilabel.training.record import EpochRecord, Relabelled
from trilabel.training.run_folder import RunFolder


def test_it_prints_and_draws(tmp_path: Path, capsys: Capture) -> None:
    run = tmp_path / "run"
    train = ["train", "scenes", "--hide", "single-positive", "--method", "large-loss", "--set", "delta=2"]
    assert call(*train, "--epochs", "2", "--image-size", "16", "--out", run) == 0
    capsys.readouterr()
    assert call("report", run, "--no-pictures") == 0
    printed = capsys.readouterr().out
    assert "left out rightly %" in printed and "highest loss in the first epoch: known positives" in printed
    assert f"picture: {run / 'report.png'}" in printed and f"probabilities: {run / 'probabilities.png'}" in printed
    assert f"examples: {run / 'examples.png'}" in printed and "left out in epochs" in printed
    assert "hidden positives" in printed and "above 0.5 %" in printed
    for name in ("report.png", "probabilities.png", "examples.png"):
        with Image.open(run / name) as picture:
            assert picture.size[0] > 1000
    assert f"page: {run / 'report.html'}" in printed
    found = result(capsys, "report", run, "--out", tmp_path / "p.svg", "--no-pictures")
    assert found["page"] == str(tmp_path / "p.html") and found["not_shown"] == []
    assert found["picture"].endswith("p.svg") and len(found["epochs"]) == 2
    assert found["probabilities"] == str(tmp_path / "p-probabilities.svg")
    assert (tmp_path / "p-probabilities.svg").is_file() and (tmp_path / "p-examples.svg").is_file()
    assert [each["image"] for each in found["epochs"][0]["examples"]] == [
        each["image"] for each in found["epochs"][1]["examples"]
    ]
    assert sum(found["epochs"][0]["probabilities"]["known_positives"]) == 320
    assert found["epochs"][1]["unknown"]["left_out"] > 0
    lines = (run / "metrics.jsonl").read_text().splitlines()
    assert found["epochs"] == [json.loads(line) for line in lines]


def test_the_page_shows_pictures_of_the_data(run: Path, project: Path, tmp_path: Path, capsys: Capture) -> None:
    """Read as the run recorded it or, where it has moved, as the options say."""
    found = result(capsys, "report", run, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert found["picture"] == str(tmp_path / "page.png") and found["not_shown"] == []
    assert page.count('class="frame"') == 12 and page.count("data:image/webp") > 24
    moved = Path(shutil.copytree(run, tmp_path / "moved"))
    values = json.loads((moved / "config.json").read_text())
    values["source"]["data"] = str(tmp_path / "gone.csv")
    (moved / "config.json").write_text(json.dumps(values))
    (gap,) = result(capsys, "report", moved)["not_shown"]
    assert gap.startswith("There are no pictures, as the data cannot be read: ") and "gone.csv: no such file" in gap
    data = ("--data", project / "labels.csv", "--images", project / "photos")
    assert result(capsys, "report", moved, *data, "--split", "test")["not_shown"] == []
    page = (moved / "report.html").read_text(encoding="utf-8")
    assert "48 images of split &#39;test&#39;" in page and page.count('class="frame"') == 12


def test_several_runs_are_compared(run: Path, tmp_path: Path, capsys: Capture) -> None:
    other = Path(shutil.copytree(run, tmp_path / "other"))
    page = tmp_path / "page.html"
    found = result(capsys, "report", run, other, "--out", page)
    assert found["page"] == str(page) and [each["run"] for each in found["runs"]] == [str(run), str(other)]
    assert found["runs"][0]["metrics"] == found["runs"][1]["metrics"] and found["runs"][0]["best"]["epoch"] in (1, 2)
    assert call("report", run, other, "--out", page) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^run +.*known-only +96 +", printed, re.MULTILINE) and f"page: {page}" in printed
    assert not list(tmp_path.glob("*.png")), "figures are of single runs"


def test_rates_are_explained_where_they_are_known(run: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "config.json").write_bytes((run / "config.json").read_bytes())
    for rates, explained in ({}, False), ({"positives_right": 0.5, "true_positive_rate": 1.0}, True):
        record = EpochRecord("fine-tune", 2, 0.5, relabelled=Relabelled(8, 0, 0.6, **rates))
        RunFolder(tmp_path).append_record(record, 0)
        assert call("report", tmp_path) == 0
        printed = capsys.readouterr().out
        assert "positives added" in printed and ("TP, TN:" in printed) == explained


def test_what_targets_are_worth_is_printed_as_on_the_page(run: Path, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "config.json").write_bytes((run / "config.json").read_bytes())
    RunFolder(tmp_path).append_record(EpochRecord("fine-tune", 1, 0.5), 0)
    found = {"targets": 7000, "above_half": 30, "expected_per_image": 1.5, "average_precision": 0.625}
    worth = "argets: 7,000 of 0.01 or more, 30 above a half; 1.50 hidden positives expected per image; 62.5% average"
    notes = ({}, []), ({"note": "rates as given:\x1b 0.30"}, ["ates as given:\\x1b 0.30"])
    for more, told in notes:
        (tmp_path / "targets.json").write_text(json.dumps({**found, **more}))
        assert call("report", tmp_path) == 0
        page, printed = (tmp_path / "report.html").read_text(encoding="utf-8"), capsys.readouterr().out
        assert all(text in page and text in printed for text in [worth, *told])
    for damaged in ("[1]", '{"targets": "many"}', "{", "null", '{"note": 1}'):
        (tmp_path / "targets.json").write_text(damaged)
        assert call("report", tmp_path) == 0 and "argets: " not in capsys.readouterr().out


def test_bad_input_is_answered_in_one_line(run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "not a run folder" in complaint(capsys, "report", tmp_path)
    assert "must end in .html, .png, .svg or .pdf" in complaint(capsys, "report", run, "--out", "p.gif", code=2)
    assert "RUN is missing" in complaint(capsys, "report", code=2)
    assert "images: these options need --data" in complaint(capsys, "report", run, "--images", run, code=2)
    assert "no such file" in complaint(capsys, "report", run, "--data", tmp_path / "gone.csv")
    assert "no split named 'tset'" in complaint(capsys, "report", run, "--split", "tset")
    (tmp_path / "config.json").write_bytes((run / "config.json").read_bytes())
    assert "this run has not finished an epoch yet" in complaint(capsys, "report", tmp_path)
