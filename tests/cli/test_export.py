"""`trilabel export`, and the page about it: its commands and programs run, with NumPy, Pillow and onnxruntime alone."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageOps

import trilabel as tl
from tests.support import SECONDS_UNTIL_HUNG
from tests.support.command_line import Capture, call, complaint, result
from tests.support.pictures import pixels
from tests.test_docs import PAGES
from trilabel.data.decode import decode

PAGE = PAGES["docs/export.md"]
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line for kind, block in BLOCKS if not kind for line in block.splitlines() if line.startswith("trilabel ")]
PROGRAMS = [block for kind, block in BLOCKS if kind == "python"]
(CLASSIFY,) = (block for block in PROGRAMS if "onnxruntime" in block)


@pytest.fixture(scope="module")
def place(project, run, tmp_path_factory):
    """Where the page is read: a run, its data, and new photos."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(run, folder / "runs/first")
    shutil.copytree(project / "photos", folder / "photos")
    shutil.copy(project / "labels.csv", folder)
    (folder / "new-photos").mkdir()
    for file in sorted((project / "photos").iterdir())[:5]:
        shutil.copy(file, folder / "new-photos")
    turned = Image.Exif()
    turned[0x0112] = 6
    Image.fromarray(pixels(300, 200)).save(folder / "new-photos/turned.jpg", exif=turned)
    return folder


def test_the_commands_and_programs_of_the_page(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    for line in COMMANDS:
        if "--devices" in line and "--resume" not in line:
            continue  # starting processes takes long; tests/inference/test_serving.py does it
        words, _, file = line.removeprefix("trilabel ").replace(" --devices 2", "").partition(" > ")
        capsys.readouterr()
        assert call(*words.split(), *(["--workers", "0"] if words.startswith("predict") else [])) == 0, line
        if file:
            Path(file).write_text(capsys.readouterr().out)
    tables = {name: pd.read_csv(f"from-{name}.csv") for name in ("onnx", "folder", "pt2")}
    tables["run"] = pd.read_csv("all.csv")
    for table in tables.values():
        np.testing.assert_allclose(table.iloc[:, 1:], tables["run"].iloc[:, 1:], atol=5e-6)
    assert len(pd.read_parquet("all.parquet")) == 6
    card = Path("birds/README.md").read_text()
    assert "| test | 48 | 100.0 |" in card and "Data: labels.csv" in card and str(place) not in card
    for program in PROGRAMS:
        if program != CLASSIFY and 'tl.export("runs/first"' not in program:  # the export was run above
            exec(compile(program, "docs/export.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1].startswith("0.") and len(Path("some.jsonl").read_text()) > 100

    # Without trilabel: its place is not on the path of the program.
    imported = set(re.findall(r"^(?:import|from) (\w+)", CLASSIFY, re.MULTILINE))
    assert imported == {"json", "sys", "numpy", "onnxruntime", "PIL"} and len(CLASSIFY.splitlines()) <= 22
    Path("classify.py").write_text(CLASSIFY)
    files = [str(file) for file in sorted(Path("new-photos").iterdir())]
    command = [sys.executable, "-I", "classify.py", "model.onnx", *files]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS_UNTIL_HUNG)
    assert ended.returncode == 0, ended.stderr
    wanted = tl.load("runs/first", "cpu").predict(files, workers=0).to_records()
    for line, record in zip(ended.stdout.splitlines(), wanted, strict=True):
        name, *found = line.split("\t")
        expected = {f"{one} {record['scores'][one]:.2f}" for one in record["present"]}
        assert name == record["image"] and set(found) == (expected or {"(none)"})


def prepared_as_on_the_page(path, size):
    """The four lines of the program that make pixels of a file."""
    lines = re.search(r"    with Image.*?\n    (?=probabilities)", CLASSIFY, re.DOTALL)[0]
    names = {"Image": Image, "ImageOps": ImageOps, "np": np, "path": path, "size": size}
    exec(re.sub(r"^    ", "", lines, flags=re.MULTILINE), names)
    return names["pixels"]


KINDS = {
    "rgb.png": "RGB", "gray.png": "L", "palette.png": "P", "alpha.png": "RGBA", "rgb.jpg": "RGB", "gray.jpg": "L",
    "cmyk.jpg": "CMYK", "rgb.webp": "RGB", "rgb.bmp": "RGB", "rgb.gif": "P", "rgb.tif": "RGB",
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("height", "width"), [(17, 30), (700, 410)])
def test_the_program_prepares_images_as_trilabel_does(name, height, width, tmp_path):
    for turn in (1, 6) if name.endswith("jpg") else (1,):
        exif = Image.Exif()
        exif[0x0112] = turn
        options = {"exif": exif} if name.endswith("jpg") else {}
        Image.fromarray(pixels(height, width)).convert(KINDS[name]).save(tmp_path / name, **options)
        ours = decode(tmp_path / name, 64).permute(1, 2, 0).numpy()
        assert np.array_equal(prepared_as_on_the_page(tmp_path / name, 64), ours)


def test_what_was_written_is_told(run: Path, tmp_path: Path, capsys: Capture) -> None:
    told = result(capsys, "export", run, "--out", tmp_path / "birds")
    assert told["path"] == str(tmp_path / "birds") and told["classes"] == 14 and told["largest_difference"] < 1e-6
    assert call("export", run, "--out", tmp_path / "birds", "--overwrite") == 0
    assert "14 classes, images of 32 pixels" in capsys.readouterr().out


def test_bad_input_is_answered_in_one_line(run: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "not a run folder" in complaint(capsys, "export", tmp_path, "--out", tmp_path / "x.onnx")
    assert "--out FILE|FOLDER is missing" in complaint(capsys, "export", run, code=2)
    scores = tmp_path / "scores.json"
    assert "no such file" in complaint(capsys, "export", run, "--out", tmp_path / "x", "--scores", scores)
    for text in ("[", json.dumps({"mAP": 1})):
        scores.write_text(text)
        words = complaint(capsys, "export", run, "--out", tmp_path / "x", "--scores", scores)
        assert "scores.json: not what trilabel evaluate --json prints" in words
    assert not (tmp_path / "x").exists()
    (tmp_path / "model.pt2").write_bytes(b"")
    words = complaint(capsys, "predict", tmp_path / "model.pt2", tmp_path)
    assert "can run code" in words and "pass --trust model.pt2 with its path" in words
    (tmp_path / "model.onnx").write_bytes(b"")
    assert "not an ONNX file" in complaint(capsys, "predict", tmp_path / "model.onnx", tmp_path)
    assert "give the data" in complaint(capsys, "evaluate", tmp_path / "model.onnx", code=2)
