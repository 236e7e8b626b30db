"""What the pages that answer a question tell people to type works, on small scenes in the place of their photos."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from PIL import Image

from trilabel.cli.main import main
from trilabel.data.scenes import scenes

DOCS = Path(__file__).parents[1] / "docs"
QUICK = ["--epochs", "1", "--image-size", "32", "--workers", "0"]  # for `train` and `compare`, instead of minutes
CLASSES = ("cat", "dog", "sofa", "table")
Y = NDArray[np.int8]


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Y]:
    """A folder of images, 1.jpg and on, and the signs of four classes."""
    folder = tmp_path_factory.mktemp("photos")
    drawn = scenes(train=60, val=1, test=1, size=32)
    assert drawn.images is not None
    signed = drawn.labels.to_signed()
    for number, image in enumerate(drawn.images[:60], 1):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(folder / f"{number}.jpg")
    often = np.argsort(-(signed > 0).sum(0), kind="stable")[: len(CLASSES)]
    return folder, signed[:60][:, often]


def table(rows: Y, first: int = 1, classes: tuple[str, ...] = CLASSES, folder: str = "") -> pd.DataFrame:
    """A row per image: 1, 0, and nothing where unknown; a third is `test`."""
    cells = pd.DataFrame(np.array([0, "", 1], object)[rows + 1], columns=list(classes))
    cells.insert(0, "image", [f"{folder}{first + row}.jpg" for row in range(len(rows))])
    return cells.assign(split=["test" if row % 3 == 2 else "train" for row in range(len(rows))])


def some_known(signed: Y) -> Y:
    return np.where(np.random.default_rng(0).random(signed.shape) < 0.5, signed, 0).astype(np.int8)


def write_labels(signed: Y) -> None:
    table(some_known(signed)).to_csv("labels.csv", index=False)


def write_tags(signed: Y) -> None:
    named = [";".join(name for name, sign in zip(CLASSES, row, strict=True) if sign > 0) for row in signed]
    tags = pd.DataFrame({"image": [f"photos/{row}.jpg" for row in range(1, 61)], "tags": named})
    tags[:40].to_csv("tags.csv", index=False)
    table(signed[40:], 41, folder="photos/").assign(split="val").to_csv("full.csv", index=False)


def write_sets(signed: Y) -> None:
    table(signed[:30, :2], classes=CLASSES[:2], folder="photos/").to_csv("pets.csv", index=False)
    table(signed[30:, 2:], 31, ("couch", "table"), "photos/").to_csv("rooms.csv", index=False)
    Path("classes.csv").write_text("from,to\ncouch,sofa\n")


def write_findings(signed: Y) -> None:
    cells = table(some_known(signed), classes=("Edema", "Fracture", "Pneumonia", "Opacity"))
    cells.loc[:5, "Edema"] = -1
    cells.insert(1, "No Finding", np.where((signed > 0).any(1), "", "1"))
    cells.to_csv("chest.csv", index=False)


WRITTEN: dict[str, Callable[[Y], None]] = {
    "getting-started": write_labels,
    "questions/tags-only": write_tags,
    "questions/merging": write_sets,
    "questions/few-labels": write_labels,
    "questions/medical": write_findings,
    "questions/citing": lambda signed: None,
}


def blocks(page: str, language: str = "") -> list[str]:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[list[str]]:
    """The lines of trilabel, without weights that nobody has here."""
    lines = "".join(blocks(page)).replace("\\\n", " ").splitlines()
    ours = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("trilabel ")]
    return [
        [word for word in words if word not in ("--weights", "resnet50.safetensors")]
        + (QUICK if words[0] in ("train", "compare") else [])
        for words in ours
    ]


LONG = {"getting-started"}  # pictures, and the report


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.slow] * (page in LONG)) for page in WRITTEN])
def test_commands_work(page: str, photos: tuple[Path, Y], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, signed = photos
    monkeypatch.chdir(tmp_path)
    for name in ("photos", "scans"):
        Path(name).symlink_to(folder)
    Path("new-photos").mkdir()
    (Path("new-photos") / "new.jpg").symlink_to(folder / "1.jpg")
    WRITTEN[page](signed)
    assert commands(page)
    for words in commands(page):
        assert main(words) == 0, words


def test_every_page_of_a_question_is_here() -> None:
    assert {f"questions/{page.stem}" for page in (DOCS / "questions").glob("*.md")} < WRITTEN.keys()


def test_the_python_of_the_estimator_s_page_runs() -> None:
    names: dict[str, object] = {}
    for block in blocks("estimator", "python"):
        exec(compile(block, "docs/estimator.md", "exec"), names)
    assert names["model"].score(names["X"][300:], names["truth"][300:]) > 0.8  # type: ignore[attr-defined,index]
