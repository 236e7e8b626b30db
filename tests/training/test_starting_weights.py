"""The backbone of a run is the one that its weights are for; a wrong variant is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.batch_norms import write_weights
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.models.variants import photographs
from trilabel.training.api import train
from trilabel.training.run_folder import RunFolder
from trilabel.training.starting_weights import with_backbone


@pytest.fixture(scope="module")
def keras(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Weights of a ResNet with its strides in the 1×1 convolutions."""
    return str(
        write_weights(tmp_path_factory.mktemp("keras") / "r.safetensors", "resnet26-v1", photographs(224).flip(3))
    )


def test_weights_alone_are_enough(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    """And a run that resumes needs them no longer."""
    file = write_weights(tmp_path / "weights.safetensors", "test_resnet", photographs(64))
    config = replace(quick, weights=str(file), epochs=1, image_size=32)
    run = train(small_scenes, config, tmp_path / "run")
    assert RunFolder(run.folder).read().config.backbone == "test_resnet"
    file.unlink()
    train(small_scenes, replace(config, epochs=2), tmp_path / "run", resume=True)


def test_a_run_says_which_backbone_it_has(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(small_scenes, replace(quick, backbone="test_resnet", epochs=1), tmp_path / "run")
    assert with_backbone(Config(weights=str(run.folder))).backbone == "test_resnet"
    assert with_backbone(Config(weights=str(run.folder), backbone="resnet18")).backbone == "resnet18"  # refused later


def test_what_was_chosen_is_told(keras: str, caplog: pytest.LogCaptureFixture) -> None:
    for name in ("auto", "tiny"):
        assert with_backbone(Config(backbone=name, weights=keras)).backbone == "resnet26-v1"
        assert "backbone: resnet26-v1, recognized by its tensors, and by the statistics" in caplog.messages[-1]


def test_a_variant_that_the_statistics_speak_against_is_refused(keras: str, caplog: pytest.LogCaptureFixture) -> None:
    message = r"times as far from their statistics in resnet26 as in resnet26-v1 .* pass --backbone resnet26-v1, or"
    with pytest.raises(TrilabelError, match=message):
        with_backbone(Config(backbone="resnet26", weights=keras))
    assert not caplog.messages
    insisting = Config(backbone="resnet26-v1.5", weights=keras)
    assert with_backbone(insisting) == insisting
    assert "try --backbone resnet26-v1" in caplog.messages[-1]
    caplog.clear()
    right = Config(backbone="resnet26-v1", weights=keras)
    assert with_backbone(right) == right and not caplog.messages


def test_other_backbones_are_left_to_whoever_loads_them(keras: str) -> None:
    for name in ("resnet18", "no such"):
        assert with_backbone(Config(backbone=name, weights=keras)).backbone == name


def test_without_a_file_there_is_nothing_to_recognize() -> None:
    assert with_backbone(Config(backbone="auto")).backbone == "tiny"
    assert with_backbone(Config(backbone="resnet18", weights="hub")).backbone == "resnet18"
    with pytest.raises(TrilabelError, match="name the backbone"):
        with_backbone(Config(backbone="auto", weights="hub"))


def test_a_run_without_weights_says_what_that_costs(
    small_scenes: Dataset, quick: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Where images are files; drawn scenes are made for this."""
    from tests.support.project import write_images_and_table
    from trilabel import data

    write_images_and_table(tmp_path, small_scenes)
    photos = data.read(tmp_path / "labels.csv", images=tmp_path / "photos")
    config = replace(quick, epochs=1)
    train(small_scenes, config, tmp_path / "drawn")
    assert "expect far lower scores" not in caplog.text
    train(photos, config, tmp_path / "photographed")
    assert caplog.text.count("expect far lower scores than with pretrained weights") == 1
