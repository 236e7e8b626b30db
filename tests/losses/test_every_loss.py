"""What must hold for every loss: hard logits, hard batches, all dtypes, and no look at a value on the device."""

import pytest
import torch

from tests.support.loss_cases import value_and_gradient
from trilabel import TrilabelError, losses

KNOWN_ONLY = {
    "bce": losses.bce,
    "bce smoothed": lambda x, z: losses.bce(x, z, smoothing=(0.1, 0.3)),
    "partial_bce": losses.partial_bce,
    "partial_bce gamma -1": lambda x, z: losses.partial_bce(x, z, gamma=-1),
    "known_mean_bce": losses.known_mean_bce,
    "per_image_bce": losses.per_image_bce,
    "focal": losses.focal,
    "asymmetric": losses.asymmetric,
    "asymmetric not focused": lambda x, z: losses.asymmetric(x, z, gamma_pos=0, gamma_neg=0),
    "asymmetric not clipped": lambda x, z: losses.asymmetric(x, z, clip=0),
    "lsep": losses.lsep,
    "warp": losses.warp,
    "ranknet": losses.ranknet,
    "partial_asymmetric ignore": lambda x, z: losses.partial_asymmetric(x, z, mode="ignore"),
}
EVERY = KNOWN_ONLY | {
    "assume_negative": losses.assume_negative,
    "assume_negative smoothed": lambda x, z: losses.assume_negative(x, z, smoothing=0.1),
    "weak_assume_negative": losses.weak_assume_negative,
    "pairwise_ranking": losses.pairwise_ranking,
    "ignore_unobserved_negatives": lambda x, z: losses.ignore_unobserved_negatives(x, z, x.detach().sign()),
    "expected_positive": lambda x, z: losses.expected_positive(x, z, expected_positives=0.7),
    "role": lambda x, z: losses.role(x, z, x.detach().roll(1, -1), expected_positives=0.7),
    "role of itself": lambda x, z: losses.role(x, z, x, expected_positives=0.7),
    "large_loss reject": lambda x, z: losses.large_loss(x, z, epoch=3, delta=8),
    "large_loss correct": lambda x, z: losses.large_loss(x, z, epoch=3, delta=8, mode="correct"),
    "large_loss from start": lambda x, z: losses.large_loss(x, z, epoch=2, delta=0.3, start=1.5),
    "hill": losses.hill,
    "splc": lambda x, z: losses.splc(x, z, epoch=2),
    "partial_asymmetric negative": lambda x, z: losses.partial_asymmetric(x, z, mode="negative"),
    "partial_asymmetric": lambda x, z: losses.partial_asymmetric(x, z, top_k=1),
    "partial_asymmetric clipped": lambda x, z: losses.partial_asymmetric(x, z, top_k=1, clip=0.05),
}
# Smooth around the logits of `batch`, with nothing held constant: numerical derivatives must agree as they stand.
SMOOTH = [name for name in EVERY if not name.startswith(("focal", "asymmetric", "partial_asymmetric", "role"))]

inf = float("inf")
HARD = [-inf, -3e38, -1e30, -1e5, -104.0, -88.0, -20.0, 0.0, 20.0, 88.0, 104.0, 1e5, 1e30, 3e38, inf]

every = pytest.mark.parametrize("loss", EVERY.values(), ids=EVERY.keys())
known_only = pytest.mark.parametrize("loss", KNOWN_ONLY.values(), ids=KNOWN_ONLY.keys())
dtypes = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)


def batch(images=4, classes=6, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(images, classes, generator=generator) * 3
    return logits.to(dtype), torch.randint(-1, 2, (images, classes), generator=generator, dtype=torch.int8)


def test_no_loss_is_forgotten():
    helpers = {"large_unknown", "unknown_as_absent", "with_gradient"}
    assert {name.split()[0] for name in EVERY} == set(losses.__all__) - helpers


@every
@dtypes
def test_any_logit_gives_a_finite_loss_and_gradient(loss, dtype):
    logits = torch.tensor(HARD).to(dtype).repeat(3, 1)
    labels = torch.tensor([[1], [-1], [0]]).expand(3, len(HARD))
    for rows in ([0, 1, 2], [0], [1], [2]):
        value, slope = value_and_gradient(loss, logits[rows], labels[rows])
        assert value.isfinite() and value >= 0
        assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert slope.isfinite().all() and slope.dtype == dtype


@pytest.mark.parametrize("name", ["bce", "asymmetric", "asymmetric not clipped"])
def test_a_hopeless_present_label_costs_its_logit_and_is_pulled_up(name):
    for x in [-inf, -1e30, -1e5, -200.0, -104.0]:
        value, slope = value_and_gradient(EVERY[name], torch.tensor([[x]]), torch.tensor([[1]]))
        assert value.item() == pytest.approx(min(-x, 1e30), rel=1e-6)
        assert slope.item() == pytest.approx(-1)


@every
@pytest.mark.parametrize("label", [1, -1, 0])
def test_nan_stays_nan(loss, label):
    value, _ = value_and_gradient(loss, torch.tensor([[float("nan"), 1.0]]), torch.tensor([[label, 1]]))
    assert value.isnan()


@known_only
@dtypes
def test_nothing_known_is_exactly_zero(loss, dtype):
    value, slope = value_and_gradient(loss, batch(dtype=dtype)[0], torch.zeros(4, 6, dtype=torch.int8))
    assert value == 0
    assert torch.equal(slope, torch.zeros(4, 6, dtype=dtype))


@known_only
def test_unknown_labels_get_no_gradient(loss):
    logits, labels = batch()
    _, slope = value_and_gradient(loss, logits, labels)
    assert ((slope == 0) | (labels != 0)).all() and (slope != 0).any()


@every
@pytest.mark.parametrize("label", [1, -1, 0])
def test_one_image_of_one_class(loss, label):
    value, slope = value_and_gradient(loss, torch.tensor([[0.5]]), torch.tensor([[label]]))
    assert value.shape == () and value >= 0 and slope.isfinite().all()


@every
@pytest.mark.parametrize("dtype", [torch.int8, torch.int64, torch.float16, torch.float32, torch.float64], ids=str)
def test_labels_of_any_dtype_give_the_same(loss, dtype):
    logits, labels = batch()
    assert torch.equal(loss(logits, labels.to(dtype)), loss(logits, labels))


@every
def test_inputs_are_left_as_they_were(loss):
    for logits in (batch()[0], batch(dtype=torch.float64)[0]):
        labels = batch()[1].to(logits.dtype)  # no conversion on the way in: what is done in place would show
        before = logits.clone(), labels.clone()
        value_and_gradient(loss, logits, labels)
        loss(logits, labels)
        assert torch.equal(logits, before[0]) and torch.equal(labels, before[1])


@every
def test_no_value_is_looked_at(loss):
    """Tensors on "meta" have no values: reading one, or a shape that depends on one, fails."""
    logits = torch.empty(3, 4, device="meta", requires_grad=True)
    loss(logits, torch.empty(3, 4, device="meta", dtype=torch.int8)).backward()
    assert logits.grad is not None and logits.grad.shape == (3, 4)


@every
def test_autocast_does_not_narrow_the_loss(loss):
    logits, labels = batch(dtype=torch.bfloat16)
    expected = value_and_gradient(loss, logits, labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value, slope = value_and_gradient(loss, logits, labels)
    assert value.dtype == torch.float32
    assert torch.equal(value, expected[0]) and torch.equal(slope, expected[1])


@pytest.mark.parametrize(
    "name", ["partial_bce", "asymmetric", "weak_assume_negative", "warp", "ranknet", "role", "partial_asymmetric"]
)
def test_compiles_into_one_graph(name):
    compiled = torch.compile(EVERY[name], fullgraph=True, backend="aot_eager")
    expected, got = value_and_gradient(EVERY[name], *batch()), value_and_gradient(compiled, *batch())
    torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("name", SMOOTH)
def test_gradient_is_the_numerical_one(name):
    logits, labels = batch(dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda x: EVERY[name](x, labels), logits.requires_grad_())


def test_second_derivatives_are_refused_rather_than_wrong():
    logits, labels = batch()
    with pytest.raises(RuntimeError, match="second derivative"):
        torch.autograd.grad(losses.bce(logits.requires_grad_(), labels), logits, create_graph=True)


@every
def test_unfit_batches_are_refused(loss):
    logits, labels = batch()
    refused = [
        (r"\(4, 6\).*\(4, 5\)", logits, labels[:, :5]),
        (r"\(6,\)", logits[0], labels[0]),
        (r"at least one image", logits[:0], labels[:0]),
        (r"one class", logits[:, :0], labels[:, :0]),
        (r"torch.int64", logits.long(), labels),
        (r"torch.bool", logits, labels > 0),
        (r"meta", logits, labels.to("meta")),
    ]
    for message, x, z in refused:
        with pytest.raises(TrilabelError, match=message):
            loss(x, z)
