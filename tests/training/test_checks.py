"""What cannot work is refused before anything slow starts."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import torch

from trilabel.config import Config
from trilabel.data import memory
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource
from trilabel.errors import TrilabelError
from trilabel.labels import simulate
from trilabel.methods import METHODS, check_method
from trilabel.recipes import linear_then_fine_tune
from trilabel.training import setup
from trilabel.training.api import train
from trilabel.training.checks import check_components, check_memory, slow_head, too_short

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def no_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """No image may be read."""

    def batches(*arguments: object, **more: object) -> None:
        pytest.fail("images were read")

    monkeypatch.setattr(ImageSource, "batches", batches)


@pytest.mark.usefixtures("no_images")
@pytest.mark.parametrize("stages", ["linear", "linear-then-fine-tune"])
def test_maps_in_a_linear_stage_are_refused_before_features_are_computed(
    small_scenes: Dataset, quick: Config, tmp_path: Path, stages: str
) -> None:
    config = replace(quick, method="self-training", stages=stages)
    for settings in ({"labeled_by": "saliency"}, {"learned_by": "gap"}):
        with pytest.raises(TrilabelError, match=r"needs class maps.*--stages fine-tune, or --head saliency or"):
            train(small_scenes, replace(config, settings=settings), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_head_that_keeps_the_map_gives_class_maps_in_a_linear_stage(
    small_scenes: Dataset, quick: Config, tmp_path: Path
) -> None:
    config = replace(quick, method="self-training", settings={"labeled_by": "gap"}, stages="linear", head="weldon")
    assert len(train(small_scenes, replace(config, epochs=1), tmp_path / "run").history) == 1


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SimpleNamespace:
    """Bytes that are free on the host and on the GPU."""
    found = SimpleNamespace(host=10**9, gpu=10**9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=found.host))
    monkeypatch.setattr(memory, "_OWN_CGROUPS", tmp_path / "missing")
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (found.gpu, 10**12))
    return found


def test_what_a_method_remembers_must_fit_where_it_is_kept(
    small_scenes: Dataset, quick: Config, machine: SimpleNamespace
) -> None:
    labels = small_scenes.labels
    config = replace(quick, method="role")
    settings = check_method("role", {}, labels)
    needed = METHODS["role"].memory_needed(settings, labels)

    def check(device: torch.device, processes: int = 1, **changes: object) -> None:
        changed = replace(config, **changes)  # type: ignore[arg-type]
        check_memory(changed, check_method("role", changed.settings, labels), labels, 128, device, processes)

    machine.host, machine.gpu = 2 * needed, 0  # a copy is written to checkpoints
    check(CPU)
    for processes, changes in ((2, {}), (1, {"relabel": "score"})):
        with pytest.raises(TrilabelError, match=r"192 images × 14 classes: .* are free \(memory\); .*=factorized"):
            check(CPU, processes, **changes)
    with pytest.raises(TrilabelError, match=r"are free \(cuda\); use --set estimator=factorized") as caught:
        check(GPU)
    assert "\n" not in str(caught.value)
    machine.host, machine.gpu = 2 * needed, needed
    check(GPU)
    check(GPU, 2)
    check(CPU, settings={"estimator": "network"})
    machine.host = needed - 1
    with pytest.raises(TrilabelError, match=r"are free \(memory\)"):
        check(GPU)


@pytest.mark.parametrize(("free", "fits"), [(0, False), (96 * 128 * 4 - 1, False), (96 * 128 * 4, True)])
def test_features_must_fit(
    small_scenes: Dataset, quick: Config, tmp_path: Path, machine: SimpleNamespace, free: int, fits: bool
) -> None:
    machine.host = free
    config = replace(quick, stages="linear", epochs=1)
    if fits:
        train(small_scenes, config, tmp_path / "run")
        return
    with pytest.raises(TrilabelError, match=r"linear stage keeps .* GB, and .* GB are free for each process"):
        train(small_scenes, config, tmp_path / "run")


@pytest.mark.parametrize(
    ("method", "setting"),
    [("imcl", "warm_up"), *((f"{name}", "start") for name in METHODS if "semantic" in METHODS[name].heads)],
)
def test_a_stage_that_ends_before_the_method_begins_is_said(quick: Config, method: str, setting: str) -> None:
    def warnings(epochs: int, begins: int, **more: object) -> list[str]:
        config = replace(quick, method=method, epochs=epochs, **more)  # type: ignore[arg-type]
        return too_short(config, METHODS[method].Settings(**{setting: begins}))

    (warning,) = warnings(5, 5)
    assert f"begins after {setting}=5 epochs of a stage, and fine-tune has 5" in warning and "\n" not in warning
    assert f"--set {setting}=" in warning
    assert not warnings(6, 5) and not warnings(1, 0)
    # IMCL has one warm-up in a run, the others one in each stage.
    stages = {"stages": "linear-then-fine-tune"}
    assert len(warnings(3, 5, linear_epochs=8, **stages)) == (method != "imcl")
    assert len(warnings(3, 5, linear_epochs=2, **stages)) == 2


def test_a_head_that_would_learn_at_the_rate_of_fine_tuning_is_said() -> None:
    recipe = linear_then_fine_tune()
    (warning,) = slow_head(replace(recipe, head="saliency", head_settings={}))
    assert "3e-05" in warning and "--linear-lr 1e-3" in warning and "\n" not in warning
    fitted, given = recipe, replace(recipe, head="saliency", head_settings={}, linear_lr=1e-3)
    alone = replace(given, stages="linear", linear_lr=None)  # its rate is that of the head
    assert not slow_head(fitted) and not slow_head(given) and not slow_head(alone)
    assert not slow_head(replace(given, linear_lr=None, lr=1e-3))


def test_rates_that_cannot_be_found_are_refused_before_a_model_is_made(
    small_scenes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    monkeypatch.setattr(setup, "create_model", lambda *_: made.append(1))
    rows = small_scenes.rows_of("train")
    tags = small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "tags=0.4", 0))
    config = replace(quick, method="posterior", val="none")
    with pytest.raises(TrilabelError, match="cannot be learned from positives alone"):
        train(tags, config, tmp_path / "run")
    check_components(config, tags.labels[rows], validation=tags.labels[tags.rows_of("val")])
    assert not made and not (tmp_path / "run").exists()


def test_it_is_said_before_training(
    small_scenes: Dataset, quick: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    train(small_scenes, replace(quick, method="imcl", stages="linear", epochs=1), tmp_path / "run")
    said = [record for record in caplog.records if "begins after warm_up=5" in record.message]
    assert len(said) == 1 and said[0].levelname == "WARNING"


def test_memory_counts_the_class_features_of_a_head_that_has_them(
    small_scenes: Dataset, quick: Config, machine: SimpleNamespace, tmp_path: Path
) -> None:
    kind, labels = METHODS["semantic-blending"], small_scenes.labels[small_scenes.rows_of("train")]
    machine.host = 2 * kind.memory_needed(kind.Settings(), labels, 256) - 1  # and the backbone has 128
    config = replace(quick, method="semantic-blending", head="semantic", head_settings={"channels": 256})
    with pytest.raises(TrilabelError, match=r"'semantic-blending' remembers .*smaller --set head.channels"):
        train(small_scenes, config, tmp_path / "run")
