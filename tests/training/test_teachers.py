"""Runs that teach: what they see of an image, and how their scores are combined."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from trilabel.config import Config
from trilabel.data.augment import Views
from trilabel.data.dataset import Dataset
from trilabel.errors import TrilabelError
from trilabel.labels import simulate
from trilabel.models import Classifier, create_model
from trilabel.training.api import train
from trilabel.training.checkpoint import load
from trilabel.training.run_folder import RunFolder
from trilabel.training.teachers import Teachers, check_teachers, crops_of, fitted_rates_of, open_teachers

CLASSES = 5


def model(seed: int, size: int = 32) -> Classifier:
    torch.manual_seed(seed)
    return create_model(Config(), CLASSES, image_size=size).eval()


def score(one: Classifier, image: torch.Tensor) -> np.ndarray:
    """The mean logits of an image (1×3×S×S, 0 to 255) and its mirror image."""
    see = Views(one.backbone.mean, one.backbone.std).plain
    both = [one(see(view)).logits[0].detach().numpy() for view in (image, image.flip(-1))]
    return (both[0] + both[1]) / 2


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randint(0, 256, (3, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_mirror_images_and_several_models_are_averaged_in_logits(images: torch.Tensor) -> None:
    models = [model(1), model(2)]
    found = Teachers(models, "mirror").eval()(images).logits.detach().numpy()
    for row, image in enumerate(images):
        wanted = np.mean([score(one, image[None].float()) for one in models], axis=0)
        assert found[row] == pytest.approx(wanted, abs=1e-5)


def test_of_nine_crops_the_two_highest_of_each_class_count_as_much_as_the_whole(images: torch.Tensor) -> None:
    one = model(1)
    found = Teachers([one], "crops").eval()(images).logits.detach().numpy()
    for row, image in enumerate(images):
        whole, crops = score(one, image[None].float()), []
        for top in (0, 6, 13):
            for left in (0, 6, 13):
                crop = image[None, :, top : top + 19, left : left + 19].float()  # 60 % of 32
                crops.append(score(one, F.interpolate(crop, (32, 32), mode="bilinear")))
        highest = [np.mean(sorted(each[column] for each in crops)[-2:]) for column in range(CLASSES)]
        assert found[row, :CLASSES] == pytest.approx((whole + highest) / 2, abs=1e-4)
        assert found[row, CLASSES:] == pytest.approx(whole, abs=1e-5)  # for the level


def test_crops_reach_all_corners(images: torch.Tensor) -> None:
    crops = crops_of(images)
    assert len(crops) == 9 and {crop.shape for crop in crops} == {(3, 3, 19, 19)}
    assert torch.equal(crops[0], images[..., :19, :19]) and torch.equal(crops[8], images[..., 13:, 13:])


def test_a_model_for_smaller_images_sees_them_smaller(images: torch.Tensor) -> None:
    small, large = model(1, 16), model(2)
    both = Teachers([small, large], "mirror").eval()
    smaller = F.interpolate(images.float(), (16, 16), mode="bilinear", antialias=True)
    views = zip(smaller.split(1), images.float().split(1), strict=True)
    wanted = [(score(small, less) + score(large, whole)) / 2 for less, whole in views]
    assert both.image_size == 32
    assert both(images).logits.detach().numpy() == pytest.approx(np.stack(wanted), abs=1e-5)


def test_one_model_that_is_sure_beyond_measure_does_not_outweigh_the_others(images: torch.Tensor) -> None:
    sure, other = model(1), model(2)
    with torch.no_grad():
        sure.head.start_at(torch.full((CLASSES,), -1e6))
        alone = Teachers([other], "mirror").eval()(images).logits
        both = Teachers([sure, other], "mirror").eval()(images).logits
    torch.testing.assert_close(both, (alone - 20) / 2)


def test_runs_on_other_classes_and_folders_without_a_run_are_refused(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    run = train(small_scenes, replace(quick, epochs=1), tmp_path / "run")
    check_teachers([str(run.folder)], small_scenes.classes)
    with pytest.raises(TrilabelError, match="run: a run on other classes cannot teach this one"):
        check_teachers([str(run.folder)], small_scenes.classes[1:])
    with pytest.raises(TrilabelError, match="run: a run on other classes cannot teach this one"):
        open_teachers([run.folder], small_scenes.classes[1:], quick)
    with pytest.raises(TrilabelError, match="none: not a run folder"):
        check_teachers([str(tmp_path / "none")], small_scenes.classes)
    (run.folder / "best.safetensors").unlink()
    with pytest.raises(TrilabelError, match=r"best\.safetensors: no such checkpoint"):
        check_teachers([str(run.folder)], small_scenes.classes)


def test_rates_that_a_posterior_run_fitted_are_taken_over(small_scenes: Dataset, quick: Config, tmp_path: Path) -> None:
    """Not those that it was given, nor those of runs of other methods."""
    labels = simulate.apply_to_rows(small_scenes.labels, small_scenes.rows_of("train"), "keep-share=0.5", 0)
    given = {"positives_known": 0.25, "negatives_known": 0.5}
    folders = {
        name: train(
            small_scenes.with_labels(labels),
            replace(quick, epochs=1, method=method, settings=settings),
            tmp_path / name,
        ).folder
        for name, method, settings in (
            ("known-only", "known-only", {}),
            ("given", "posterior", given),
            ("fitted", "posterior", {"rates": "fit", "fit_epochs": 1}),
        )
    }
    assert fitted_rates_of([folders["known-only"], folders["given"]]) is None
    found = fitted_rates_of(list(folders.values()))
    assert found is not None and found.shape == (2, 14)
    assert torch.equal(found, load(RunFolder(folders["fitted"]).best, "method.rates")[0]["method.rates"])
