"""Long runs and large sets, small: that what `make reliability` measures is measured."""

import sys

import pytest
from reliability.endurance import CLASSES, flat_run, many_images, summary

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and symbolic links are of Unix")


def test_a_run_stays_flat(tmp_path):
    run = flat_run(tmp_path, epochs=20)
    assert [sample["epoch"] for sample in run["samples"]] == list(range(2, 21, 2))
    assert not run["lost"]


def test_many_images_are_bounded(tmp_path):
    large = many_images(tmp_path, images=300)
    assert not large["lost"] and large["classes"] == CLASSES
    assert all(large[step]["seconds"] > 0 for step in ("read", "load", "predict"))
    assert [row["tried"] for row in summary(None, large)] == [300, 300, 300]
