import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, f1_score

from tests.oracles import metrics as oracle
from tests.support import two_processes
from trilabel import metrics
from trilabel.data.boxes import Boxes, BoxesByImage
from trilabel.errors import TrilabelError
from trilabel.metrics.average_precision import per_class, rank_together

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
close = pytest.approx


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Tests run in a process for each core; more threads would mostly wait for one another."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Sparse:
    """What the metrics rely on of `trilabel.Labels`."""

    def __init__(self, signed):
        self.csr, self.classes = sp.csr_array(signed.astype(np.int8)), [f"class {c}" for c in range(signed.shape[1])]

    def to_signed(self):
        return self.csr.toarray()


class OnlySigned:
    def __init__(self, signed):
        self.to_signed = lambda: signed


@st.composite
def problems(draw):
    """Few distinct scores, so that ties are common; infinite ones; any label, so that classes lack positives or all."""
    images, classes = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    score = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 0.25, 0.5, 0.75, 3.0, math.inf])
    sign = draw(st.sampled_from([st.sampled_from([-1, 0, 1]), st.just(0), st.sampled_from([-1, 1]), st.just(1)]))
    scores = draw(st.lists(score, min_size=images * classes, max_size=images * classes))
    signs = draw(st.lists(sign, min_size=images * classes, max_size=images * classes))
    dtype = draw(st.sampled_from(DTYPES))
    return torch.tensor(scores, dtype=dtype).view(images, classes), np.array(signs).reshape(images, classes)


def like_real(images, classes, seed, rounded=None):
    """Scores of a fair classifier for rare classes, most labels known, and one class without a positive."""
    rng = np.random.default_rng(seed)
    true = np.where(rng.random((images, classes)) < np.geomspace(0.003, 0.5, classes), 1, -1)
    true[:, 1] = -1
    scores = 1 / (1 + np.exp(3 - rng.normal(size=true.shape) - 2 * (true > 0)))
    labels = true * (rng.random(true.shape) < 0.8)
    return (scores if rounded is None else scores.round(rounded)).astype(np.float32), labels


def scikit_learn_ap(scores, labels):
    ap = np.full(scores.shape[1], np.nan)
    for c in range(scores.shape[1]):
        known = labels[:, c] != 0
        if (labels[known, c] > 0).any():
            ap[c] = average_precision_score(labels[known, c] > 0, scores[known, c])
    return ap


# ---- ranking


@settings(max_examples=80, deadline=None)
@given(problems())
def test_average_precision_follows_its_definition(problem):
    scores, labels = problem
    wide = scores.double().tolist()
    expected = oracle.average_precision(wide, labels)
    envelope = oracle.average_precision(wide, labels, interpolated=True)
    for form in (labels, torch.tensor(labels), OnlySigned(labels), labels.astype(np.float32)):
        assert metrics.average_precision(scores, form) == close(expected, nan_ok=True)
    assert metrics.interpolated_average_precision(scores, labels) == close(envelope, nan_ok=True)
    sparse = per_class(scores, sp.csr_array(labels.astype(np.int8)))
    assert np.stack(sparse) == close(np.array([expected, envelope]), nan_ok=True)
    together = rank_together(scores.T, torch.tensor(labels).T).numpy()
    assert together == close(np.array([expected, envelope]), nan_ok=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("rounded", [None, 2, 1, 0])
def test_average_precision_is_scikit_learns(rounded, device):
    scores, labels = like_real(4000, 12, seed=1, rounded=rounded)
    expected = scikit_learn_ap(scores, labels)
    assert np.isnan(expected).tolist() == [c == 1 for c in range(12)]
    given = torch.tensor(scores, device=device)
    assert metrics.average_precision(given, labels) == close(expected, abs=1e-12, nan_ok=True)
    assert metrics.average_precision(scores.astype(np.float64), labels) == close(expected, abs=1e-12, nan_ok=True)
    few = labels * (np.random.default_rng(0).random(labels.shape) < 0.1)
    expected = scikit_learn_ap(scores, few)
    assert metrics.average_precision(given, few) == close(expected, abs=1e-12, nan_ok=True)
    assert metrics.average_precision(given, Sparse(few)) == close(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    "bend",
    [
        lambda s: s,
        lambda s: np.log(s / (1 - s)),
        lambda s: s**40,  # crowded near 0
        lambda s: s * 1e-38,  # the smallest float32 there are
        lambda s: (s - 0.5) * 6e38,  # a range that float32 cannot hold
        lambda s: np.where(s > 0.9, np.inf, np.where(s < 0.02, -np.inf, s)),
        lambda s: 1 + s * 1e-6,  # neighbouring float32
        lambda s: np.where(s < 0.5, -0.0, 0.0),
        lambda s: np.zeros_like(s),
    ],
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_way_of_counting_agrees(bend, dtype):
    scores, labels = like_real(3000, 8, seed=2)
    table = torch.tensor(bend(scores.astype(np.float64))).to(dtype)
    signs = torch.tensor(labels, dtype=torch.int8)
    # Ranks have the same order and the same ties as the scores, and are finite, so scikit-learn takes them.
    ranks = np.stack([np.unique(column, return_inverse=True)[1] for column in table.double().numpy().T], axis=1)
    expected = scikit_learn_ap(ranks, labels)
    for ap, interpolated in (
        per_class(table, signs),
        per_class(table, sp.csr_array(labels.astype(np.int8))),
        rank_together(table.T, signs.T).numpy(),
    ):
        assert ap == close(expected, abs=1e-12, nan_ok=True)
        assert interpolated == close(per_class(table.double(), signs)[1], abs=1e-12, nan_ok=True)
        assert np.all((interpolated >= ap) | np.isnan(ap))


def test_threads_agree(monkeypatch):
    scores, labels = like_real(500, 50, seed=8)
    expected = metrics.average_precision(scores, labels)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert np.array_equal(metrics.average_precision(scores, labels), expected, equal_nan=True)


@pytest.mark.parametrize("device", DEVICES)
def test_devices_agree_on_everything(device):
    scores, labels = like_real(2000, 9, seed=3, rounded=2)
    for form in (labels, Sparse(labels * (np.arange(2000) % 20 == 0)[:, None])):
        expected = metrics.evaluate(scores, form.to_signed() if isinstance(form, Sparse) else form)
        got = metrics.evaluate(torch.tensor(scores, device=device), form)
        assert {k: v for k, v in got.items() if k != "per_class_ap"} == close(
            {k: v for k, v in expected.items() if k != "per_class_ap"}
        )


def test_reference_numbers():
    """AP from scikit-learn, the others from released code: score >= 0.5, all labels known, CF1 from CP and CR."""
    with np.load(Path(__file__).parents[1] / "reference" / "metrics.npz") as stored:
        ref = dict(stored)
    scores, labels = ref["scores"], np.where(ref["true"] == 1, 1, -1)
    assert metrics.average_precision(scores, labels) == close(ref["ap_all"])
    assert metrics.average_precision(scores, labels * ref["known"]) == close(ref["ap_known"], nan_ok=True)
    result = metrics.evaluate(scores, labels)
    assert [result[k] for k in ("OP", "OR", "OF1")] == close(ref["OP_OR_OF1"])
    assert [result[k] for k in ("CP", "CR", "CF1")] == close(ref["CP_CR_CF1"])
    assert result["macro_F1"] == close(float(ref["macro_f1"]))
    assert result["exact_match"] == close(float(ref["exact_match"]))
    # Released code ranks ties as its sort left them. Given that order for the one class with ties, we agree.
    assert result["mAP_interpolated"] < float(ref["map_voc2012_interpolated"]) - 0.004
    scores[ref["order_of_tied_class_5"], 5] = np.linspace(1, 0, len(scores))
    interpolated = metrics.interpolated_average_precision(scores, labels)
    assert metrics.mean(interpolated) == close(float(ref["map_voc2012_interpolated"]))


def test_groups_hold_equally_many_classes_from_rare_to_common():
    ap = [0.1, 0.2, 0.3, math.nan, 0.5, 0.6, 0.7]
    annotations = [70, 60, 50, 40, 30, 20, 10]
    assert metrics.map_by_group(ap, annotations, groups=3) == close([0.6, 0.3, 0.15])
    assert np.isnan(metrics.map_by_group([0.5, math.nan], [1, 2], groups=2)).tolist() == [False, True]
    with pytest.raises(TrilabelError, match="5 groups of 2 classes"):
        metrics.map_by_group([0.5, 0.5], [1, 2])
    with pytest.raises(TrilabelError, match="one number a class"):
        metrics.map_by_group([0.5, 0.5], [1], groups=1)


# ---- counting


@settings(max_examples=80, deadline=None)
@given(problems(), st.sampled_from([0.5, 0.0, -1.5, 10.0, -10.0]), st.integers(1, 7))
def test_counts_follow_their_definitions(problem, threshold, k):
    scores, labels = problem
    wide = scores.double().tolist()
    predicted = oracle.at_threshold(wide, threshold)
    six, macro = oracle.precision_recall_f1(predicted, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.precision_recall_f1(scores, labels, threshold) == close(six, nan_ok=True)
        assert metrics.macro_f1(scores, labels, threshold) == close(macro, nan_ok=True)
        assert metrics.micro_f1(scores, labels, threshold) == close(six["OF1"], nan_ok=True)
        expected = oracle.exact_match(predicted, labels)
        assert metrics.exact_match(scores, labels, threshold) == close(expected, nan_ok=True)
        six, _ = oracle.precision_recall_f1(oracle.at_top(wide, k), labels)
        assert metrics.precision_recall_f1(scores, labels, top=k) == close(six, nan_ok=True)
        precision, recall = oracle.at_k(wide, labels, k)
        assert metrics.precision_at_k(scores, labels, k) == close(precision, nan_ok=True)
        assert metrics.recall_at_k(scores, labels, k) == close(recall, nan_ok=True)


def test_counts_over_many_blocks_and_sparse_labels():
    scores, labels = like_real(9000, 40, seed=4)
    everything = metrics.evaluate(scores, np.where(labels == 0, -1, labels))
    kept = [c for c in range(40) if c != 1]
    truth, guess = labels[:, kept] == 1, scores[:, kept] >= 0.5
    assert everything["macro_F1"] == close(f1_score(truth, guess, average="macro"))
    assert everything["exact_match"] == close(((scores >= 0.5) == (labels == 1)).all(1).mean())
    few = labels * (np.random.default_rng(0).random(labels.shape) < 0.05)
    assert metrics.evaluate(scores, Sparse(few)) == metrics.evaluate(scores, few.astype(np.int8))


def test_threshold_is_compared_exactly_in_half_precision():
    scores = torch.tensor([[0.546875]], dtype=torch.bfloat16)  # bfloat16 would round the threshold down to the score
    assert metrics.precision_recall_f1(scores, torch.tensor([[1]]), threshold=0.548)["OR"] == 0
    assert metrics.precision_recall_f1(scores, torch.tensor([[1]]), threshold=0.546875)["OR"] == 1


def test_pointing_game():
    rng = np.random.default_rng(5)
    maps, labels = rng.integers(0, 6, (30, 4, 5, 7)).astype(np.float32), rng.integers(-1, 2, (30, 4))
    corners = np.sort(rng.random((200, 2, 2)), axis=1).reshape(200, 4)
    image, label = rng.integers(0, 30, 200), rng.integers(0, 4, 200)
    boxes = {}
    for i, c, box in zip(image.tolist(), label.tolist(), corners.tolist(), strict=True):
        boxes.setdefault((i, c), []).append(box)
    expected = oracle.pointing_game(maps.tolist(), labels, boxes)
    assert 0 < expected < 1
    for form in (labels, Sparse(labels)):
        assert metrics.pointing_game(maps, form, Boxes(image, label, corners)) == close(expected)
    assert math.isnan(metrics.pointing_game(maps, 0 * labels, Boxes(image, label, corners)))
    assert math.isnan(metrics.pointing_game(maps, labels, Boxes([], [], np.zeros((0, 4)))))
    with pytest.raises(TrilabelError, match="outside the 30 images or 4 classes"):
        metrics.pointing_game(maps, labels, Boxes([30], [0], corners[:1]))
    with pytest.raises(TrilabelError, match="M×4 corners"):
        metrics.pointing_game(maps, labels, Boxes([1], [0], corners))


def random_game(seed, images=30, classes=4, count=200):
    rng = np.random.default_rng(seed)
    maps, labels = (
        rng.integers(0, 6, (images, classes, 5, 7)).astype(np.float32),
        rng.integers(-1, 2, (images, classes)),
    )
    corners = np.sort(rng.random((count, 2, 2)), axis=1).reshape(count, 4).astype(np.float32)
    return maps, labels, Boxes(rng.integers(0, images, count), rng.integers(0, classes, count), corners)


def as_lists(boxes, chosen=lambda image, cls: True):
    """{(image, class): [corners, …]}, as the oracle takes boxes."""
    found = {}
    for image, cls, corners in zip(boxes.image.tolist(), boxes.cls.tolist(), boxes.xyxy.tolist(), strict=True):
        if chosen(image, cls):
            found.setdefault((image, cls), []).append(corners)
    return found


def test_pointing_counts_by_class_and_batches_add_up():
    maps, labels, boxes = random_game(6)
    whole = metrics.pointing_counts(maps, labels, boxes)
    for c in range(4):
        ours = as_lists(boxes, lambda image, cls, c=c: cls == c)
        pairs = sum(labels[image, c] > 0 for image, _ in ours)
        assert whole[1, c] == pairs > 0
        assert whole[0, c] / pairs == close(oracle.pointing_game(maps.tolist(), labels, ours))
    by_image, rows = BoxesByImage(boxes), np.random.default_rng(0).permutation(30)
    parts = [rows[:1], rows[1:12], rows[12:12], rows[12:]]
    counted = [metrics.pointing_counts(maps[part], labels[part], by_image.of(part)) for part in parts]
    assert np.array_equal(sum(counted), whole) and not counted[2].any()
    empty = Boxes(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 4), np.float32))
    assert metrics.pointing_counts(maps, labels, empty).tolist() == [[0] * 4] * 2
    with pytest.raises(TrilabelError, match=r"image row 3, class 2 is NaN"):
        maps[3, 2, 1, 1] = np.nan
        metrics.pointing_counts(maps, labels, boxes)


# ---- all together


def test_evaluate_is_plain_and_complete():
    scores, labels = like_real(300, 6, seed=6)
    result = json.loads(json.dumps(metrics.evaluate(scores, labels, class_names=list("abcdef")), allow_nan=False))
    six = ["CP", "CR", "CF1", "OP", "OR", "OF1"]
    at_k = [f"{name}_at_{k}" for k in (1, 3, 5) for name in ("precision", "recall")]
    counts = ["images", "classes", "known_share", "classes_without_ap", "per_class_ap", "class_names"]
    others = ["mAP", "mAP_interpolated", "macro_F1", "micro_F1", "exact_match"]
    assert set(result) == {*six, *(f"{name}_top3" for name in six), *at_k, *counts, *others}
    ap = scikit_learn_ap(scores, labels)
    assert result["mAP"] == close(np.nanmean(ap))
    assert result["per_class_ap"] == [None if math.isnan(v) else close(v) for v in ap]
    assert result["known_share"] == close((labels != 0).mean())
    assert (result["images"], result["classes"], result["classes_without_ap"]) == (300, 6, int(np.isnan(ap).sum()))
    assert result["CF1_top3"] == close(metrics.precision_recall_f1(scores, labels, top=3)["CF1"])
    assert result["recall_at_5"] == close(metrics.recall_at_k(scores, labels, 5))


def test_nothing_known_and_nothing_at_all():
    result = metrics.evaluate(np.ones((3, 2), np.float32), np.zeros((3, 2), np.int8))
    assert result["mAP"] is None and result["OF1"] is None and result["exact_match"] is None
    assert (result["classes_without_ap"], result["known_share"], result["per_class_ap"]) == (2, 0.0, [None, None])
    assert "precision_at_3" not in result and result["CP_top3"] is None
    assert metrics.evaluate(np.ones((0, 2)), np.zeros((0, 2)))["known_share"] is None


def test_input_is_not_changed_and_may_be_read_only_or_reversed():
    scores, labels = like_real(50, 5, seed=7)
    before, expected = scores.copy(), metrics.average_precision(scores, labels)
    scores.setflags(write=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        metrics.evaluate(scores, labels)
        assert metrics.average_precision(scores[::-1, ::-1], labels[::-1, ::-1])[::-1] == close(expected, nan_ok=True)
    assert np.array_equal(scores, before)
    assert metrics.average_precision(torch.tensor(before, requires_grad=True), labels) == close(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        (np.array([[0.1, 0.2], [0.3, np.nan]]), np.ones((2, 2)), "image row 1, class 1 is NaN"),
        (np.array([[0.1, np.nan], [0.3, 0.4]]), Sparse(np.zeros((2, 2))), "row 0, class 1 ('class 1') is NaN"),
        (np.ones((2, 2)), np.ones((2, 3)), "scores are (2, 2), labels (2, 3)"),
        (np.ones((2, 2), int), np.ones((2, 2)), "torch.int64 of shape (2, 2); give floats"),
        (np.ones(2), np.ones(2), "of shape (2,); give floats, images × classes"),
        (np.ones((2, 2)), np.array([[1, -1], [2, 0]]), "label value 2 at (1, 0)"),
        (np.ones((2, 2)), np.array([[1, 0.5], [1, 0]]), "label value 0.5 at (0, 1)"),
        (np.ones((2, 2)), np.array([[1, 1], [1, np.nan]]), "label value nan at (1, 1)"),
        (np.ones((2, 2)), np.ones((2, 2), bool), "cannot say unknown"),
    ],
)
def test_faulty_input_is_refused(scores, labels, message):
    with pytest.raises(TrilabelError) as caught:
        metrics.average_precision(scores, labels)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def test_names_and_k_are_checked():
    with pytest.raises(TrilabelError, match="1 class names for scores of 2 classes"):
        metrics.evaluate(np.ones((2, 2)), np.ones((2, 2)), class_names=["cat"])
    with pytest.raises(TrilabelError, match=r"class 1 \('dog'\) is NaN"):
        metrics.evaluate(np.array([[1, np.nan]]), np.ones((1, 2)), class_names=["cat", "dog"])
    with pytest.raises(TrilabelError, match="top 0 classes"):
        metrics.precision_at_k(np.ones((2, 2)), np.ones((2, 2)), 0)


# ---- collecting


def test_accumulator_puts_scores_in_the_order_of_the_data_set():
    expected = torch.rand(7, 3)
    one, two = metrics.Accumulator(7, 3), metrics.Accumulator(7, 3)
    one.add(torch.tensor([6, 0, 3]), expected[[6, 0, 3]].double().requires_grad_())
    two.add(torch.tensor([1, 3, 5]), expected[[1, 3, 5]])
    two.add(torch.tensor([], dtype=torch.long), torch.empty(0, 3))
    one.merge(two)
    with pytest.raises(TrilabelError, match="2 of 7 images were never scored, the first at position 2"):
        one.scores()
    one.add(torch.tensor([2, 4]), expected[[2, 4]].bfloat16())
    one.add(torch.tensor([2, 4]), expected[[2, 4]])
    one.gather(lambda tensor: tensor)  # Fabric adds no dimension where there is one process
    assert one.scores().dtype == torch.float32 and torch.equal(one.scores(), expected)


@pytest.mark.parametrize(
    ("index", "shape", "message"),
    [([0, 7], (2, 3), "positions 0 to 7"), ([-1], (1, 3), "positions -1"), ([1], (1, 2), "B×3"), ([1], (2, 3), "B×3")],
)
def test_accumulator_refuses_what_does_not_fit(index, shape, message):
    with pytest.raises(TrilabelError, match=message):
        metrics.Accumulator(7, 3).add(torch.tensor(index), torch.zeros(shape))


@pytest.fixture(scope="module")
def run_in_two(tmp_path_factory):
    with two_processes.start(tmp_path_factory.mktemp("gloo")) as run:
        yield run


@pytest.mark.parametrize("first", [[0, 2, 4, 6, 8, 10], [0], [], list(range(11))])
def test_two_processes_count_every_image_once(run_in_two, first):
    second = [i for i in range(11) if i not in first] or [10, 0]  # as padding does: some are scored twice
    second = [*second, first[0]] if first else second
    expected = [[i, i + 0.5] if i in second else [-1, -1] for i in range(11)]
    assert run_in_two(two_processes.gather_scores, (first, second)) == [expected, expected]
