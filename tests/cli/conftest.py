"""A project as a person would have it, and a run trained on it by the command line; tests do not write into them."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from tests.support.command_line import QUICK, call
from trilabel import data
from trilabel.data.dataset import Dataset


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, small_scenes: Dataset) -> Path:
    """A folder of images and a wide table in which half of the labels are unknown."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "photos").mkdir()
    assert small_scenes.images is not None
    names = [f"{name}.png" for name in small_scenes.ids]
    for name, image in zip(names, small_scenes.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(folder / "photos" / name)
    signed = small_scenes.labels.to_signed()
    hidden = np.random.default_rng(0).random(signed.shape) < 0.5
    hidden[small_scenes.rows_of("test")] = False
    table = pd.DataFrame(np.where(hidden, "", np.where(signed > 0, "1", "0")), columns=list(small_scenes.classes))
    split = np.empty(len(names), object)
    for name, rows in small_scenes.splits.items():
        split[rows] = name
    table.insert(0, "image", names)
    table["split"] = split
    table.to_csv(folder / "labels.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def run(project: Path) -> Path:
    """A run trained on that project."""
    out = project / "run"
    assert call("train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK) == 0
    return out


@pytest.fixture(scope="session", autouse=True)
def scenes_are_drawn_once() -> Iterator[None]:
    """The data set `scenes`, as the commands get it; drawing its 3,000 images takes seconds."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data, "scenes", cache(data.scenes))
        yield


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two tables about one folder of images, of which a and c have the same content."""
    (tmp_path / "photos").mkdir()
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        Image.new("RGB", (8, 8), color).save(tmp_path / f"photos/{name}.png")
    (tmp_path / "one.csv").write_text("image,cat,dog,split\nphotos/a.png,1,0,train\nphotos/b.png,0,1,train\n")
    (tmp_path / "two.csv").write_text("image,dog,Tree,split\nphotos/b.png,0,1,test\nphotos/c.png,1,,train\n")
    return tmp_path
