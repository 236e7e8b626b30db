"""A project as a person would have it, and a run trained on it by the command line; tests do not write into them."""

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import pytest
from PIL import Image

from tests.support.command_line import QUICK, call
from tests.support.project import write_images_and_table
from trilabel import data
from trilabel.data.dataset import Dataset


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory, small_scenes: Dataset) -> Path:
    """A folder of images and a wide table in which half of the labels are unknown."""
    folder = tmp_path_factory.mktemp("project")
    write_images_and_table(folder, small_scenes)
    return folder


@pytest.fixture(scope="session")
def run(project: Path) -> Path:
    """A run trained on that project."""
    out = project / "run"
    assert call("train", project / "labels.csv", "--images", project / "photos", "--out", out, *QUICK) == 0
    return out


@pytest.fixture(scope="session", autouse=True)
def scenes_are_few_and_drawn_once() -> Iterator[None]:
    """The data set `scenes`, as the commands get it; drawing all of its 3,500 images takes seconds."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(data, "scenes", cache(partial(data.scenes, train=320, val=64, test=400)))
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
