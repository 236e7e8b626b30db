"""Long runs and large sets, small: that what `make reliability` measures is measured."""

import sys

import pytest
from reliability.endurance import CLASSES, flat_run, many_images, summary
from reliability.serving import measure

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks and symbolic links are of Unix")


def test_a_run_stays_flat(tmp_path):
    run = flat_run(tmp_path, epochs=20)
    assert [sample["epoch"] for sample in run["samples"]] == list(range(2, 21, 2))
    assert not run["lost"]


def test_many_images_are_bounded(tmp_path):
    large = many_images(tmp_path, images=300)
    assert not large["lost"] and large["classes"] == CLASSES
    assert all(large[step]["seconds"] > 0 for step in ("read", "load", "predict", "evaluate"))
    assert [row["tried"] for row in summary(None, large)] == [300, 300, 300, 300]


@pytest.mark.slow
def test_scores_of_many_classes_are_never_all_in_memory(tmp_path):
    """300 MB of scores, of which one in a hundred has a known label."""
    for kind in (".parquet", "evaluate"):
        found = measure(tmp_path, images=30_000, classes=2500, known=0.01, kind=kind)
        assert found["megabytes"] < 250, kind
