"""The plan of recipe `photos`: what it chooses, what it leaves to the user, and what `train` makes of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from safetensors.torch import save_file

from trilabel import Labels, TrilabelError, data, load, train
from trilabel.recipes import photos, small
from trilabel.training import plan, plan_kind
from trilabel.training.plan import with_plan
from trilabel.training.splits import TrainingSplit, split_for_training
from trilabel.training.time_left import describe_seconds

WEIGHTS = replace(photos(), backbone="resnet18+0", weights="resnet18.safetensors", device="cpu")


def of(train: int, val: int = 10) -> TrainingSplit:
    """So many images; a plan looks at nothing else of them."""
    return TrainingSplit(data.scenes(train=1, val=0, test=0, size=32), np.arange(train), np.arange(val))


@pytest.fixture
def few() -> TrainingSplit:
    return of(40)


@pytest.fixture
def speed(monkeypatch):
    """Sets how long an image of 224 pixels takes."""

    def set_speed(seconds):
        monkeypatch.setattr(plan, "_seconds_of_image", lambda config, size, device: seconds * (size / 224) ** 2)

    return set_speed


def test_without_weights_it_is_the_small_network_and_says_what_that_means(few, caplog):
    assert with_plan(replace(photos(), backbone="tiny"), few) == small()
    assert "no pretrained weights" in caplog.text and "trilabel weights" in caplog.text


@pytest.mark.parametrize(("seconds", "size"), [(0.1, 320), (5.0, 320), (6.0, 224), (100.0, 224)])
def test_on_a_cpu_a_head_on_features_as_large_as_they_do_not_take_long(few, speed, seconds, size, caplog):
    caplog.set_level("INFO")
    speed(seconds)
    found = with_plan(WEIGHTS, few)
    assert (found.stages, found.image_size, found.head, found.linear_lr) == ("linear", size, "gap", None)
    assert found.head_settings == {"normalize": True, "power": 3.0, "contrast": 1.5}
    assert (found.backbone, found.weights) == ("resnet18+0", "resnet18.safetensors")
    assert f"features of resnet18 at {size} pixels" in caplog.text and "this takes about" in caplog.text
    assert ("to be faster" in caplog.text) == (seconds == 100)


@pytest.fixture
def gpu(speed, monkeypatch):
    """Has plans think that there is a GPU."""
    for module in (plan, plan_kind):
        monkeypatch.setattr(module, "choose_device", lambda name: torch.device("cuda"))
    speed(0.001)


def test_on_a_gpu_many_images_are_fine_tuned_after_a_head_was_fitted(gpu, caplog):
    caplog.set_level("INFO")
    found = {count: with_plan(WEIGHTS, of(count)) for count in (100, 1000, 4574, 28_000)}
    assert found[100].stages == "linear"
    assert {found[count].stages for count in (1000, 4574, 28_000)} == {"linear-then-fine-tune"}
    assert [found[count].epochs for count in (1000, 4574, 28_000)] == [15, 5, 4]
    assert (found[4574].lr, found[4574].head, found[4574].image_size) == (3e-5, "gap", 448)
    assert found[4574].head_settings == {"normalize": True, "power": 3.0, "contrast": 1.5}
    assert (found[28_000].batch_size, found[28_000].lr) == (64, 6e-5)
    assert "a linear head fitted to features computed once, then fine-tuning resnet18 at 448 pixels" in caplog.text


@pytest.mark.parametrize(("images", "split", "stages"), [(1249, (1249, 0), "linear"), (1250, (1000, 250), None)])
def test_a_share_is_held_out_only_where_what_is_left_is_fine_tuned(gpu, images, split, stages):
    labels = Labels.from_signed(np.ones((images, 1), np.int8))
    given = data.Dataset(labels.ids, [""] * images, labels, {"train": np.arange(images)})
    found = split_for_training(given, WEIGHTS)
    assert (len(found.train), len(found.val)) == split
    planned = with_plan(WEIGHTS, found)
    assert planned.stages == (stages or "linear-then-fine-tune")
    assert (planned.val == "folds") == bool(stages)


@pytest.mark.parametrize(
    ("own", "head"),
    [
        ({"method": "self-training", "settings": {"labeled_by": "saliency"}}, "saliency"),  # needs class maps
        ({"relabel": "ensemble"}, "saliency"),
        ({"graph": "gnn"}, "saliency"),
        ({"head": "weldon"}, "weldon"),
        ({"head_settings": {"power": 2.0}}, "gap"),
        ({"keep_head": True}, "gap"),
    ],
)
def test_what_a_fitted_head_does_not_suit_is_fine_tuned_from_the_start(gpu, own, head):
    found = with_plan(replace(WEIGHTS, **own), of(4574))
    assert (found.stages, found.head, found.lr) == ("fine-tune", head, 5e-5)
    assert found.head_settings == own.get("head_settings", {})


def test_the_plan_names_what_the_user_chose_on_a_gpu(gpu, caplog):
    caplog.set_level("INFO")
    with_plan(replace(WEIGHTS, epochs=1, image_size=96), of(4574))
    assert "at 96 pixels for 1 epoch on the GPU" in caplog.text


def test_the_classes_of_the_weights_are_features_where_a_new_head_pools(speed, gpu, caplog):
    caplog.set_level("INFO")
    hub = replace(WEIGHTS, backbone="resnet18", weights="hub")
    for count in (40, 4574):  # on features, and fine-tuned
        assert with_plan(hub, of(count)).backbone == "resnet18+1000"
        assert "resnet18 and its 1,000 classes at" in caplog.text
        caplog.clear()
    for own in ({"head": "saliency"}, {"keep_head": True}, {"backbone": "resnet18+0"}):
        chosen = replace(hub, **own)
        assert with_plan(chosen, of(4574)).backbone == chosen.backbone


def test_a_run_with_the_classes_of_its_weights_is_whole_without_them(tmp_path, monkeypatch):
    """It trains, resumes when the weights are gone, scores alike when loaded, and is what another one starts from."""
    monkeypatch.chdir(tmp_path)
    write_photos()
    torch.manual_seed(0)
    save_file(timm.create_model("test_resnet").state_dict(), "weights.safetensors")
    settings = {"images": "photos", "weights": "weights.safetensors", "image_size": 32, "device": "cpu"}
    run = train("labels.csv", out="first", epochs=1, **settings)
    assert run.config.backbone == "test_resnet+1000"
    expected = load("first").predict("photos").scores
    (tmp_path / "weights.safetensors").unlink()
    for backbone in ("auto", "test_resnet"):
        again = train("labels.csv", out="first", epochs=1, resume=True, backbone=backbone, **settings)
        assert again.config.backbone == "test_resnet+1000"
    np.testing.assert_allclose(load("first").predict("photos").scores, expected)
    on = train("labels.csv", out="second", epochs=1, **settings | {"weights": "first"})
    assert on.config.backbone == "test_resnet+1000"


def test_few_images_for_a_head_are_all_learned_from(speed):
    speed(0.1)
    dataset = data.scenes(train=40, val=0, test=0, size=32)
    nothing = replace(dataset, splits={"train": np.arange(40)})
    split = split_for_training(nothing, WEIGHTS)
    assert (len(split.train), len(split.val), with_plan(WEIGHTS, split).val) == (40, 0, "folds")
    for other in (replace(WEIGHTS, rounds=2), replace(WEIGHTS, relabel="score"), replace(WEIGHTS, weights=None)):
        assert len(split_for_training(nothing, other).val) == 8
    assert with_plan(replace(WEIGHTS, val="none"), split).val == "none"


def test_one_image_is_learned_from_without_a_score(tmp_path, monkeypatch):
    """Parts of it there are none, and two images have two."""
    monkeypatch.chdir(tmp_path)
    write_photos()
    torch.manual_seed(0)
    save_file(timm.create_model("test_resnet").state_dict(), "weights.safetensors")
    header, *rows = Path("labels.csv").read_text().splitlines()
    rows.sort(key=lambda row: -row.count("1"))  # those with most positives first
    for images, val in ((1, "none"), (2, "folds")):
        Path("few.csv").write_text("\n".join([header, *rows[:images]]))
        settings = {"weights": "weights.safetensors", "image_size": 32, "device": "cpu", "epochs": 1}
        run = train("few.csv", images="photos", out=f"of-{images}", **settings)
        assert run.config.val == val and bool(run.metrics) == (val == "folds")
        assert len(load(f"of-{images}").predict("photos").scores) == 24


def test_what_the_user_sets_stays(few, speed):
    speed(0.1)
    own = replace(WEIGHTS, image_size=96, seed=5, method="hill", settings={"margin": 0.5}, epochs=3, val="0.5")
    found = with_plan(own, few)
    assert (found.image_size, found.seed, found.method, found.epochs, found.val) == (96, 5, "hill", 3, "0.5")
    for own in ({"head": "saliency"}, {"head_settings": {"normalize": True}}, {"keep_head": True}):
        assert with_plan(replace(WEIGHTS, **own), few).head_settings == own.get("head_settings", {})
    assert with_plan(small(), few) == small()


def test_the_speed_is_measured(few):
    assert plan._seconds_of_image(replace(photos(), backbone="tiny"), 32, torch.device("cpu")) > 0
    assert describe_seconds(10) == "a minute"


def write_photos():
    """A table and a folder of images; the scenes in them."""
    scenes = data.scenes(train=24, val=0, test=0, size=32)
    Path("photos").mkdir()
    lines = ["image," + ",".join(scenes.classes)]
    for name, image, signs in zip(scenes.ids, scenes.images, scenes.labels.to_signed(), strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(f"photos/{name}.png")
        lines.append(f"{name}.png," + ",".join("1" if sign > 0 else "0" for sign in signs))
    Path("labels.csv").write_text("\n".join(lines) + "\n")
    return scenes


def test_train_takes_a_table_and_settings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scenes = write_photos()
    run = train("labels.csv", images="photos", epochs=1, image_size=32, device="cpu")
    assert run.folder.as_posix() == "runs/labels" and len(run.history) == 1 and run.config.image_size == 32
    again = train("labels.csv", images="photos", epochs=1, image_size=32, device="cpu", resume=True)
    assert again.best == run.best
    with pytest.raises(TrilabelError, match="epoch"):
        train("labels.csv", images="photos", epoch=1)
    with pytest.raises(TrilabelError, match="a data set knows its images"):
        train(scenes, images="photos")
