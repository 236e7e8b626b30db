"""Parts combine: heads, graph, methods, relabelling and views in one run; or they are refused in a line."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.runs import same, tensors_of, without_times
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.images import ImageSource
from trilabel.data.side_tables import label_graph
from trilabel.errors import TrilabelError
from trilabel.inference.loading import load
from trilabel.labels import Labels, simulate
from trilabel.methods import METHODS, Batch, create_method
from trilabel.models import GRAPHS, HEADS, create_model
from trilabel.training.api import train
from trilabel.training.stage_setup import ModelAndMethod
from trilabel.training.strategies import STRATEGIES


@pytest.fixture
def holes(small_scenes: Dataset) -> Dataset:
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "keep-share=0.3", 0))


def goes_with(method: str) -> list[str]:
    return list(METHODS[method].heads) or [head for head in HEADS if not any(head in m.heads for m in METHODS.values())]


NEW = ("known-only", "imcl", "self-training", "latent-noise", "label-rnn")
COMBINATIONS = [
    (method, head, graph)
    for method in NEW
    for head in goes_with(method)
    for graph in (["none"] if METHODS[method].heads else ["none", *GRAPHS])
] + [("known-only", "semantic", "gnn")]


@pytest.mark.parametrize(("method", "head", "graph"), COMBINATIONS)
def test_every_head_and_graph_goes_with_every_method_and_relabelling(
    holes: Dataset, quick: Config, tmp_path: Path, method: str, head: str, graph: str
) -> None:
    config = replace(quick, method=method, head=head, graph=graph, relabel="score", epochs=2, batch_size=48)
    small: dict[str, Any] = {"channels": 8, "size": 4, "pool": 1} if head == "semantic" else {}
    config = replace(config, relabel_settings={"threshold": 0.1, "epochs": [2]}, head_settings=small)
    run = train(holes, config, tmp_path / "run")
    assert run.history[1].relabelled.used_share > 0.3
    assert all(np.isfinite(record.loss) for record in run.history)
    model = load(run)
    found = model.evaluate(holes, "val")
    assert found["mAP"] == pytest.approx(run.metrics["mAP"], abs=1e-6)
    saved = tensors_of(run.folder, "best")
    assert any(name.startswith("model.head.graph.") for name in saved) == (graph != "none")


@pytest.mark.parametrize("method", NEW)
def test_a_linear_stage_then_all(holes: Dataset, quick: Config, tmp_path: Path, method: str) -> None:
    head = goes_with(method)[-1 if METHODS[method].heads else goes_with(method).index("saliency")]
    config = replace(quick, method=method, head=head, stages="linear-then-fine-tune", linear_epochs=1, epochs=1)
    run = train(holes, config, tmp_path / "run")
    assert [record.stage for record in run.history] == ["linear", "fine-tune"]


def test_what_does_not_go_together_is_refused_before_anything_is_written(
    holes: Dataset, quick: Config, tmp_path: Path
) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"method": "label-rnn"}, "method 'label-rnn' needs --head label-rnn, not 'gap'"),
        ({"method": "label-rnn", "head": "label-rnn", "graph": "gnn"}, "cannot be combined with a graph"),
        ({"head": "wheldon"}, "no head named 'wheldon'; there are: gap, weldon, "),
        ({"head": "salency"}, "; did you mean 'saliency'?"),
        ({"relabel": "scores"}, "no relabelling named 'scores'; there are: none, score, "),
        ({"head": "weldon", "head_settings": {"botom": 1}}, "; did you mean 'bottom'?"),
        ({"head": "weldon", "head_settings": {"up": 1}}, "head 'weldon' has no setting 'up'; it has: top, bottom"),
        ({"head": "weldon", "head_settings": {"top": 2}}, "shares, above 0 and up to 1"),
        ({"head": "saliency", "settings": {"alpha": 1}}, "but the head has: --set head.alpha=…"),
        ({"head_settings": {"top": 1}}, "head 'gap' has no setting 'top'; it has: normalize, power"),
        ({"graph": "gmn"}, "no graph named 'gmn'; there are: none, gnn"),
        ({"graph_settings": {"hidden": 3}}, "hidden: settings of a graph, but the graph is none; pass --graph gnn"),
        ({"graph": "gnn", "graph_settings": {"steps": 0}}, "hidden and steps must be 1 or more"),
        ({"keep_head": True}, "keep_head starts from the head of a trained run: pass --weights RUN"),
    ]
    for changes, message in wrong:
        with pytest.raises(TrilabelError) as caught:
            train(holes, replace(quick, **changes), tmp_path / "run")
        assert message in str(caught.value) and "\n" not in str(caught.value)
        assert not (tmp_path / "run").exists()


# ---- starting from another run


def test_a_run_may_start_from_the_head_of_another(holes: Dataset, quick: Config, tmp_path: Path) -> None:
    first = train(holes, quick, tmp_path / "first")
    still = replace(quick, weights=str(first.folder), lr=1e-12, epochs=1)
    kept = train(holes, replace(still, keep_head=True), tmp_path / "kept")
    fresh = train(holes, still, tmp_path / "fresh")
    before = tensors_of(first.folder, "best")
    for run, is_same in ((kept, True), (fresh, False)):
        after = tensors_of(run.folder, "best")
        close = torch.allclose(after["model.head.linear.weight"], before["model.head.linear.weight"], atol=1e-6)
        assert close is is_same
        name = "model.backbone.network.stages.0.0.weight"
        torch.testing.assert_close(after[name], before[name], atol=1e-6, rtol=0)
    others = Labels.from_csr(holes.labels.csr, [f"other {name}" for name in holes.classes], holes.labels.ids)
    with pytest.raises(TrilabelError, match="needs a run on the same classes in the same order"):
        train(replace(holes, labels=others, truth=None), replace(still, keep_head=True), tmp_path / "others")
    # It goes on without the run that it started from.
    folder = tmp_path / "kept"
    first.folder.rename(tmp_path / "elsewhere")
    train(holes, replace(still, keep_head=True, epochs=2), folder, resume=True)
    (tmp_path / "elsewhere").rename(first.folder)
    # WELDON and saliency take over what a gap head learned.
    train(holes, replace(still, keep_head=True, head="weldon"), tmp_path / "weldon")
    with pytest.raises(TrilabelError, match="do not fit head 'embedding' of 14 classes"):
        train(holes, replace(still, keep_head=True, head="embedding"), tmp_path / "embedding")


def test_resuming_needs_neither_the_first_run_nor_the_files_that_a_head_was_made_from(
    holes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = tmp_path / "vectors.txt"
    draw = np.random.default_rng(0)
    vectors.write_text("".join(f"{name} {' '.join(map(str, draw.normal(size=5)))}\n" for name in holes.classes))
    config = replace(quick, head="gcn", head_settings={"vectors": str(vectors), "size": 5, "hidden": 8}, epochs=2)
    whole = train(holes, config, tmp_path / "whole")
    original = ImageSource.batches
    count = itertools.count(1)

    def batches(self: Any, *args: Any, **options: Any) -> Any:
        for drawn in original(self, *args, **options):
            if next(count) == 12:
                raise RuntimeError("pulled the plug")
            yield drawn

    monkeypatch.setattr(ImageSource, "batches", batches)
    with pytest.raises(RuntimeError, match="pulled"):
        train(holes, config, tmp_path / "cut")
    monkeypatch.setattr(ImageSource, "batches", original)
    vectors.unlink()
    resumed = train(holes, config, tmp_path / "cut", resume=True)
    assert same(tensors_of(resumed.folder), tensors_of(whole.folder))
    assert without_times(resumed.history) == without_times(whole.history)


# ---- views, and what is written


def test_strong_views_for_methods_with_one(
    holes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trilabel.data.augment import Views

    seen = []
    for name in ("weak", "strong"):
        original = getattr(Views, name)
        monkeypatch.setattr(Views, name, lambda *a, name=name, original=original: (seen.append(name), original(*a))[1])
    for method, augment, expected in (
        ("known-only", "weak", {"weak"}),
        ("known-only", "strong", {"strong"}),
        ("self-training", "strong", {"weak", "strong"}),
    ):
        seen.clear()
        config = replace(quick, method=method, augment=augment, epochs=1, batch_size=96)
        train(holes, config, tmp_path / f"{method}-{augment}")
        assert set(seen) == expected


def test_the_learned_label_graph_is_written_and_read(holes: Dataset, quick: Config, tmp_path: Path) -> None:
    run = train(holes, replace(quick, method="imcl", settings={"warm_up": 0}), tmp_path / "run")
    graph = label_graph.from_file(run.folder / "label_graph.csv", holes.classes)
    saved = tensors_of(run.folder, "best")["method.weight"]
    dense = torch.zeros(14, 14)
    dense.scatter_(1, graph.index, graph.weight)
    index, used = (tensors_of(run.folder, "best")[f"method.{name}"] for name in ("index", "used"))
    expected = torch.zeros(14, 14).scatter_(1, index, saved.clamp(0, 1) * used)
    torch.testing.assert_close(dense, expected, atol=1e-5, rtol=1e-4)
    plain = train(holes, quick, tmp_path / "plain")
    assert not (plain.folder / "label_graph.csv").exists()


@pytest.mark.parametrize("method", NEW)
def test_a_batch_without_images_gives_every_weight_a_gradient(method: str) -> None:
    """Several processes wait for each other's gradients; one whose images were all broken must have them too."""
    labels = Labels.from_signed(np.array([[1, -1, 0], [0, 1, -1]], np.int8))
    model = create_model(Config(head=goes_with(method)[0]), 3, image_size=32, labels=labels)
    task = ModelAndMethod(model, create_method(method, {}, labels, 128))
    nothing = torch.zeros(0, dtype=torch.int64)
    black = torch.zeros(1, 3, 32, 32)
    task(Batch(black, None, torch.zeros(0, 3, dtype=torch.int8), nothing, 1))["loss"].backward()
    assert all(weights.grad is not None and not weights.grad.any() for weights in task.parameters())


def test_every_strategy_is_described() -> None:
    assert all(strategy.what and "\n" not in strategy.what for strategy in STRATEGIES.values())
