"""Weak labels: the easy ones as a plain loop finds them, kept apart, saved, resumed, and scored against the truth."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import relabel as oracle
from tests.support import two_processes
from tests.support.runs import same, tensors_of, without_times
from trilabel.config import Config
from trilabel.data.dataset import Dataset
from trilabel.data.formats import csv_table
from trilabel.errors import TrilabelError
from trilabel.labels import Labels, simulate
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead
from trilabel.models.heads.weldon import WeldonHead
from trilabel.testing.threads import as_processes
from trilabel.training import relabelling as module
from trilabel.training.api import train
from trilabel.training.record import Relabelled
from trilabel.training.relabelling import Relabelling, describe
from trilabel.training.strategies import STRATEGIES, check_relabel, easy, relabel_epochs

RUNS = {"runs": ["a"]}
RATES = ("positives_right", "negatives_right", "true_positive_rate", "true_negative_rate")
every = pytest.mark.parametrize("strategy", STRATEGIES)


def some_labels(draw: np.random.Generator, images: int, classes: int) -> np.ndarray:
    return draw.choice([-1, 0, 1], (images, classes), p=[0.2, 0.6, 0.2]).astype(np.int8)


# ---- which are easy


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(STRATEGIES)), st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 9), st.data())
def test_the_easy_ones_are_those_of_the_plain_loop(
    strategy: str, seed: int, images: int, classes: int, data: st.DataObject
) -> None:
    draw = np.random.default_rng(seed)
    passes = 1 if strategy not in ("uncertainty", "ensemble") else data.draw(st.integers(2, 4))
    threshold = data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])) if strategy != "all" else None
    scores = draw.integers(-4, 5, (passes, images, classes)) / 4  # exact in float32, with ties and zeros
    labels = some_labels(draw, images, classes)
    found = easy(strategy, threshold, torch.tensor(scores, dtype=torch.float32), torch.from_numpy(labels))
    assert found.dtype == torch.int8
    assert found.tolist() == oracle.easy(strategy, threshold, scores.tolist(), labels.tolist())


def test_the_published_thresholds_by_hand() -> None:
    logits, labels = torch.tensor([[[2.0, -2.0, 1.9, 6.0, -7.0]]]), torch.tensor([[0, 0, 0, 0, 1]], dtype=torch.int8)
    found = {name: easy(name, STRATEGIES[name].threshold, logits, labels).tolist()[0] for name in STRATEGIES}
    assert found["score"] == found["ensemble"] == [1, -1, 0, 1, 0]
    assert found["proportion"] == [1, -1, 0, 1, 0]  # 80 % of four, rounded
    assert found["positive"] == [0, 0, 0, 1, 0]
    assert found["uncertainty"] == found["all"] == [1, -1, 1, 1, 0]  # one pass does not vary


@every
def test_scores_that_are_not_numbers_say_nothing_and_half_precision_will_do(strategy: str) -> None:
    labels = torch.zeros(1, 3, dtype=torch.int8)
    odd = torch.tensor([[[torch.nan, torch.inf, -torch.inf]]])
    assert easy(strategy, STRATEGIES[strategy].threshold, odd, labels)[0, 0] == 0
    half = torch.tensor([[[9.0, -9.0, 8.0]]], dtype=torch.bfloat16)
    assert easy(strategy, STRATEGIES[strategy].threshold, half, labels)[0, 0] == 1


# ---- what is kept


@pytest.mark.parametrize("accumulate", [True, False])
def test_known_labels_never_change_and_weak_ones_stay_or_are_chosen_again(
    monkeypatch: pytest.MonkeyPatch, accumulate: bool
) -> None:
    monkeypatch.setattr(module, "ROWS_AT_ONCE", 4)
    draw = np.random.default_rng(0)
    dense, truth = some_labels(draw, 11, 10), draw.choice([-1, 0, 1], (11, 10)).astype(np.int8)
    labels = Labels.from_signed(dense)
    relabelling = Relabelling("score", {"accumulate": accumulate}, labels)
    weak = np.zeros((11, 10), int)
    for _ in range(2):
        scores = torch.from_numpy(draw.normal(0, 3, (1, 11, 10)))
        relabelling.start_round()
        for rows in torch.randperm(11).split(4):
            relabelling.choose(scores[:, rows], labels.rows(rows.numpy()), rows)
        before = weak if accumulate else np.zeros_like(weak)
        weak = before + np.array(oracle.easy("score", 2, scores.tolist(), (dense + before).tolist()))
        assert np.array_equal(relabelling.weak_labels().toarray(), weak)
        rows = torch.tensor([7, 0, 3])
        filled = relabelling.fill(labels.rows(rows.numpy()), rows)
        assert torch.equal(filled, torch.from_numpy(np.where(dense == 0, weak, dense)[rows].astype(np.int8)))
        found = relabelling.summary(Labels.from_signed(truth))
        assert (found.positives, found.negatives) == ((weak > 0).sum(), (weak < 0).sum())
        assert found.used_share == pytest.approx(((dense != 0) | (weak != 0)).mean())
        assert [getattr(found, name) for name in RATES] == pytest.approx(
            list(oracle.rates(weak.tolist(), truth.tolist()))
        )
        assert relabelling.summary(None) == Relabelled(found.positives, found.negatives, found.used_share)


@pytest.mark.parametrize(("share", "used"), [(0.8, 0.9624), (0.5, 0.7740), (0.2, 0.4209)])
def test_shares_of_what_is_still_unknown_add_up_as_published(share: float, used: float) -> None:
    """Durand 2019, table 8: with 10 % of the labels known and two rounds."""
    dense = np.zeros((1000, 20), np.int8)
    dense.flat[:2000] = 1
    labels = Labels.from_signed(dense)
    relabelling = Relabelling("proportion", {"threshold": share}, labels)
    for _ in range(2):
        relabelling.start_round()
        for rows in torch.randperm(1000).split(50):
            relabelling.choose(torch.randn(1, len(rows), 20), labels.rows(rows.numpy()), rows)
    assert relabelling.summary(None).used_share == pytest.approx(used, abs=0.005)


def test_what_processes_chose_for_their_images_all_know() -> None:
    labels = Labels.from_signed(np.zeros((6, 9), np.int8))
    whole, *two = (Relabelling("all", {}, labels) for _ in range(3))
    scores = torch.randn(1, 6, 9, generator=torch.Generator().manual_seed(0))
    whole.choose(scores, labels.rows(np.arange(6)), torch.arange(6))
    for rank, rows in enumerate((torch.tensor([0, 2, 5]), torch.tensor([1, 3, 4]))):
        two[rank].choose(scores[:, rows], labels.rows(rows.numpy()), rows)
    as_processes(2, lambda rank, all_reduce: two[rank].sync(all_reduce))
    for one in two:
        assert same(one.state_dict(), whole.state_dict())
    as_processes(2, lambda rank, all_reduce: two[rank].sync(all_reduce))  # as in a round that adds nothing
    assert same(two[0].state_dict(), whole.state_dict())


def test_a_label_takes_two_bits() -> None:
    buffers = Relabelling("score", {}, Labels.from_signed(np.eye(100, 80, dtype=np.int8))).buffers()
    assert sum(buffer.nbytes for buffer in buffers) == 100 * 80 / 4


def test_a_step_does_not_wait_for_the_device() -> None:
    relabelling = Relabelling("score", {}, Labels.from_signed(np.eye(5, 4, dtype=np.int8))).to("meta")
    on_meta = torch.zeros(3, 4, dtype=torch.int8, device="meta")
    assert relabelling.fill(on_meta, torch.zeros(3, dtype=torch.int64, device="meta")).shape == (3, 4)


@pytest.mark.parametrize("head", [GapHead(64, 3), WeldonHead(64, 3)])
def test_stochastic_passes_drop_features(head: Any) -> None:
    relabelling = Relabelling("uncertainty", {"passes": 400, "dropout": 0.25}, Labels.from_signed([[1, 0, -1]]))
    features = torch.rand(2, 64) if isinstance(head, GapHead) else torch.rand(2, 64, 1, 1)
    torch.manual_seed(0)
    scores = relabelling.scores(FeatureClassifier(head).eval(), features)
    assert scores.shape == (400, 2, 3)
    weight = head.linear.weight
    # A kept feature counts 4/3, so each product has variance (x·w)²·(1/3) around itself.
    expected = ((features.flatten(1)[:, None] * weight) ** 2).sum(2) / 3
    torch.testing.assert_close(scores.var(0), expected, rtol=0.25, atol=0.0)
    torch.testing.assert_close(scores.mean(0), head(features), rtol=0.2, atol=0.05)
    plain = Relabelling("score", {}, Labels.from_signed([[1, 0, -1]]))
    assert torch.equal(plain.scores(FeatureClassifier(head).eval(), features)[0], head(features))


# ---- when


def test_by_default_half_way_and_at_three_quarters() -> None:
    assert relabel_epochs(20) == (10, 15)
    assert relabel_epochs(12) == (6, 9) and relabel_epochs(3) == (2,)
    relabelling = Relabelling("score", {}, Labels.from_signed([[1, -1]]))
    assert [epoch for epoch in range(1, 21) if relabelling.due(epoch, 20)] == [10, 15]
    given_ = Relabelling("score", {"epochs": "2,4"}, Labels.from_signed([[1, -1]]))
    assert [epoch for epoch in range(1, 21) if given_.due(epoch, 20)] == [2, 4]


@pytest.mark.parametrize(
    ("strategy", "values", "message"),
    [
        ("scores", {}, "no relabelling named 'scores'; there are: none, score, "),
        ("score", {"threshold": -1}, "threshold from 0 to inf, not -1"),
        ("proportion", {"threshold": 80}, "threshold from 0 to 1, not 80"),
        ("all", {"threshold": 1}, "has no threshold"),
        ("uncertainty", {"passes": 1}, "2 or more"),
        ("uncertainty", {"dropout": 1}, "above 0 and below 1"),
        ("ensemble", {}, "relabel.runs=RUN,RUN"),
        ("score", RUNS, "relabel.runs is a setting of relabelling by ensemble, not by score"),
        ("score", {"passes": 3}, "relabel.passes is a setting of relabelling by uncertainty, not by score"),
        ("score", {"epochs": "0,3"}, "must be 1 or more"),
        ("score", {"epochs": "7"}, "never happens in 6 epochs"),
        ("score", {"epochs": []}, "must be 1 or more"),
        ("score", {"epochs": "soon"}, "whole number, not 'soon'"),
        ("score", {"epoch": 3}, "relabelling 'score' has no setting 'epoch'; it has: epochs, "),
    ],
)
def test_what_makes_no_sense_is_refused(strategy: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(TrilabelError) as caught:
        check_relabel(strategy, values, [4, 6])
    assert message in str(caught.value) and "\n" not in str(caught.value)


# ---- in a run


@pytest.fixture
def holes(small_scenes: Dataset) -> Dataset:
    rows = small_scenes.rows_of("train")
    return small_scenes.with_labels(simulate.apply_to_rows(small_scenes.labels, rows, "keep-share=0.3", 0))


def relabelled(config: Config, strategy: str, **values: Any) -> Config:
    return replace(config, relabel=strategy, relabel_settings={"epochs": "2", **values})


@every
def test_a_run_learns_from_weak_labels_and_writes_them(
    holes: Dataset, quick: Config, tmp_path: Path, strategy: str
) -> None:
    thresholds = {"score": 0.3, "proportion": 0.5, "positive": 0.1, "ensemble": 0.3, "uncertainty": 0.05}
    values: dict[str, Any] = {"threshold": thresholds[strategy]} if strategy in thresholds else {}
    if strategy == "ensemble":
        values["runs"] = str(train(holes, replace(quick, epochs=1, seed=5), tmp_path / "member").folder)
    quick = replace(quick, val="none")  # the last epoch is the best
    plain = train(holes, quick, tmp_path / "plain")
    run = train(holes, relabelled(quick, strategy, **values), tmp_path / "run")
    assert run.history[0].relabelled is None
    found = run.history[1].relabelled
    rows = holes.rows_of("train")
    known, truth = holes.labels[rows].to_signed(), holes.truth[rows].to_signed()
    saved = tensors_of(run.folder)
    weak = sum(
        sign * module.unpacked(saved[f"relabelling.{name}"], known.shape[1]).numpy().astype(np.int8)
        for name, sign in (("present", 1), ("absent", -1))
    )
    assert not weak[known != 0].any() and weak.any()
    assert (found.positives, found.negatives) == ((weak > 0).sum(), (weak < 0).sum())
    assert found.used_share == pytest.approx(((weak != 0) | (known != 0)).mean())
    expected = list(oracle.rates(weak.tolist(), truth.tolist()))
    if strategy == "positive":  # it adds no negatives
        expected[1:] = [None, None, None]
    assert [getattr(found, name) for name in RATES] == pytest.approx(expected)
    if strategy == "proportion":  # of each of the batches of 16
        counts = [(known[start : start + 16] == 0).sum() for start in range(0, len(known), 16)]
        assert (weak != 0).sum() == sum(round(0.5 * int(count)) for count in counts)
    if strategy == "all":
        assert found.used_share == 1
    # Up to the first round nothing is different, except that `uncertainty` has dropout in training.
    same_before = without_times(run.history)[0] == without_times(plain.history)[0]
    assert same_before == (strategy != "uncertainty")
    assert not same(saved, tensors_of(plain.folder))
    written = csv_table.read(run.folder / "weak_labels.csv").labels
    named = Labels.from_signed(weak.astype(np.int8), holes.classes, [holes.ids[row] for row in rows])
    for image, row in enumerate(written.to_signed()):
        for column, sign in enumerate(row):
            place = named.ids.index(written.ids[image]), named.classes.index(written.classes[column])
            assert weak[place] == sign
    assert written.known == (weak != 0).sum()


@pytest.mark.parametrize("stages", ["fine-tune", "linear-then-fine-tune"])
def test_killed_while_relabelling_and_resumed_is_identical(
    holes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stages: Any
) -> None:
    config = replace(quick, stages=stages, linear_epochs=2, linear_lr=quick.lr, epochs=3, ema=0.9, save_minutes=0.0)
    config = relabelled(config, "uncertainty", threshold=0.05, passes=3, epochs="2,3")
    seen, relabel = list[str](), Relabelling.choose
    batches = len(range(0, len(holes.rows_of("train")), 16))
    stops = (1, batches // 2, batches, batches + 2, 2 * batches)

    def count(self: Any, *args: Any) -> None:
        seen.append("relabelling")
        relabel(self, *args)
        if len(seen) in stops:  # what a process leaves that is killed here
            shutil.copytree(tmp_path / "whole", tmp_path / f"cut{len(seen)}")

    with monkeypatch.context() as patched:
        patched.setattr(Relabelling, "choose", count)
        whole = train(holes, config, tmp_path / "whole")
    assert len(seen) >= 2 * batches
    for stop_at in stops:
        folder = tmp_path / f"cut{stop_at}"
        resumed = train(holes, config, folder, resume=True)
        assert same(tensors_of(folder), tensors_of(whole.folder))
        assert same(tensors_of(folder, "best"), tensors_of(whole.folder, "best"))
        assert without_times(resumed.history) == without_times(whole.history)
        assert (folder / "weak_labels.csv").read_text() == (whole.folder / "weak_labels.csv").read_text()


def test_two_processes_relabel_as_one_does(
    holes: Dataset, quick: Config, in_two: two_processes.Run, tmp_path: Path
) -> None:
    """Before the first epoch both have the same model; draws are by batch, whoever has it."""
    config = relabelled(replace(quick, epochs=2, device="cpu"), "uncertainty", threshold=0.05, epochs="1,2")
    one = train(holes, config, tmp_path / "one")
    two = two_processes.trained(in_two, holes, replace(config, devices=2), tmp_path / "two")
    assert one.history[0].relabelled == two.history[0].relabelled
    # The second time their models differ. A label is not both present and absent, and what is counted is what is kept.
    saved = tensors_of(two.folder)
    present, absent = (saved[f"relabelling.{name}"] for name in ("present", "absent"))
    assert present.any() and not (present & absent).any()
    found, classes = two.history[1].relabelled, len(holes.classes)
    counts = [int(module.unpacked(plane, classes).sum()) for plane in (present, absent)]
    assert counts == [found.positives, found.negatives]
    known = holes.labels[holes.rows_of("train")].to_signed() != 0
    assert not (module.unpacked(present | absent, classes).numpy() & known).any()


def test_members_of_an_ensemble_must_fit(holes: Dataset, quick: Config, tmp_path: Path) -> None:
    other = train(holes, replace(quick, epochs=1, image_size=48), tmp_path / "other")
    with pytest.raises(TrilabelError, match="48 pixels; these have 32"):
        train(holes, relabelled(quick, "ensemble", runs=str(other.folder)), tmp_path / "run")
    with pytest.raises(TrilabelError, match="not a run folder"):
        train(holes, relabelled(quick, "ensemble", runs=str(tmp_path)), tmp_path / "run")
    with pytest.raises(TrilabelError, match="a linear stage has only features"):
        train(holes, replace(relabelled(quick, "ensemble", runs="x"), stages="linear"), tmp_path / "run")


def test_one_epoch_is_too_few_to_relabel_from(holes: Dataset, quick: Config, tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match=r"never happens in 1 epochs; choose others, .* or train for longer"):
        train(holes, replace(quick, relabel="score", epochs=1), tmp_path / "run")


def test_too_many_weak_labels_for_a_table_stay_in_the_checkpoint(
    holes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("trilabel.training.exports._MOST_WEAK_LABELS", 10)
    run = train(holes, replace(relabelled(quick, "all"), val="none"), tmp_path / "run")
    assert not (run.folder / "weak_labels.csv").exists()
    assert "weak labels: too many for a table" in caplog.text


def test_the_running_mean_is_what_predicts(
    holes: Dataset, quick: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = relabelled(replace(quick, ema=0.99, val="none"), "score")
    seen: list[torch.Tensor] = []
    original = Relabelling.scores

    def scores(self: Any, model: Any, images: torch.Tensor) -> torch.Tensor:
        seen.append(model.head.linear.weight.detach().clone())
        return original(self, model, images)

    monkeypatch.setattr(Relabelling, "scores", scores)
    train(holes, replace(config, epochs=2), tmp_path / "run")
    train(holes, replace(config, epochs=1, relabel="none", relabel_settings={}), tmp_path / "first")
    mean = tensors_of(tmp_path / "first", "best")["model.head.linear.weight"]  # what was kept after the first epoch
    assert torch.equal(seen[0], mean)
    assert not torch.equal(mean, tensors_of(tmp_path / "first")["model.head.linear.weight"])


def test_a_best_epoch_from_before_has_no_table(
    holes: Dataset, quick: Config, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = relabelled(replace(quick, val="none"), "positive", threshold=1e9)
    run = train(holes, config, tmp_path / "run")
    assert not (run.folder / "weak_labels.csv").exists()
    assert "the best epoch has no weak labels" in caplog.text


def test_settings_may_be_tuples_and_still_be_resumed(holes: Dataset, quick: Config, tmp_path: Path) -> None:
    config = replace(quick, relabel="score", relabel_settings={"epochs": (2,)})
    train(holes, config, tmp_path / "run")
    train(holes, replace(config, epochs=3), tmp_path / "run", resume=True)


def test_settings_without_relabelling_are_refused(holes: Dataset, quick: Config, tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match="epochs: settings of relabelling, but relabel is none"):
        train(holes, replace(quick, relabel_settings={"epochs": "2"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_it_is_said_in_one_line() -> None:
    found = Relabelled(1200, 3, 0.5)
    start = "relabelled before epoch 10: 1,200 positives and 3 negatives added, 50.0% of labels used now (10.0% known)"
    assert describe(found, 0.1, 10) == start
    assert "no unknown label was easy enough" in describe(Relabelled(0, 0, 0.1), 0.1, 10)
    assert describe(replace(found, positives_right=0.855), 0.1, 10) == start.replace(
        "positives", "positives (85.5% right)"
    )


def test_weak_labels_help_where_the_model_is_right(quick: Config, tmp_path: Path) -> None:
    """Two classes that color alone tells apart: with the weak labels of the first epochs everything is labelled."""
    draw = np.random.default_rng(0)
    bright = draw.random((400, 2)) < 0.5
    images = torch.zeros(400, 3, 16, 16, dtype=torch.uint8)
    noise = torch.from_numpy(draw.integers(0, 40, images.shape).astype(np.uint8))
    images[:, 0] += torch.from_numpy(bright[:, 0] * 180).to(torch.uint8)[:, None, None]
    images[:, 1] += torch.from_numpy(bright[:, 1] * 180).to(torch.uint8)[:, None, None]
    truth = Labels.from_signed(np.where(bright, 1, -1).astype(np.int8))
    splits = {"train": np.arange(300), "val": np.arange(300, 400)}
    full = Dataset([str(i) for i in range(400)], None, truth, splits, images=images + noise)
    data = full.with_labels(simulate.apply_to_rows(truth, splits["train"], "keep-share=0.3", 7))
    config = relabelled(replace(quick, image_size=16, epochs=4), "score", threshold=1.0, epochs="3")
    found = train(data, config, tmp_path / "run").history[2].relabelled
    assert found.used_share > 0.8 and found.true_positive_rate > 0.95 and found.true_negative_rate > 0.95
