"""One trained run for all tests of pages."""

import pytest

from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.labels import simulate
from trilabel.training.api import train
from trilabel.training.run_folder import RunFolder


@pytest.fixture(scope="session")
def small_run(small_scenes: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunFolder, Dataset]:
    """A trained run, and its data with the truth that was hidden from it; tests do not write into its folder."""
    hidden = simulate.apply_to_rows(small_scenes.labels, small_scenes.rows_of("train"), "keep-share=0.5", 0)
    config = Config(method="large-loss", image_size=32, epochs=2, batch_size=16, workers=0, settings={"delta": 5})
    run = train(small_scenes.with_labels(hidden), config, tmp_path_factory.mktemp("page") / "run")
    return RunFolder(run.folder), small_scenes
