"""What must hold for every loss: hard logits, hard batches, all dtypes, derivatives, and no wait for the device."""

import pytest
import torch

from tests.support.cases import case
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
    "focal gamma 0.5": lambda x, z: losses.focal(x, z, gamma=0.5),
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
    "hill gamma 0.5": lambda x, z: losses.hill(x, z, gamma=0.5),
    "splc": lambda x, z: losses.splc(x, z, epoch=2),
    "splc gamma 0.5": lambda x, z: losses.splc(x, z, epoch=2, gamma=0.5),
    "posterior": lambda x, z: losses.posterior(x, z, log_factor=-0.7),
    "posterior smoothed": lambda x, z: losses.posterior(x, z, log_factor=0.3, smoothing=0.1),
    "posterior one of k": lambda x, z: losses.posterior(x, z, losses.one_of_k_log_factor(x, z)),
    "posterior assume-negative": lambda x, z: losses.posterior(x, z, log_factor=-inf),
    "partial_asymmetric negative": lambda x, z: losses.partial_asymmetric(x, z, mode="negative"),
    "partial_asymmetric": lambda x, z: losses.partial_asymmetric(x, z, top_k=1),
    "partial_asymmetric clipped": lambda x, z: losses.partial_asymmetric(x, z, top_k=1, clip=0.05),
}
# Smooth around the logits of `batch`, with nothing held constant: numerical derivatives must agree as they stand.
SMOOTH = [
    name for name in EVERY if not name.startswith(("focal", "asymmetric", "partial_asymmetric", "posterior", "role"))
]

inf = float("inf")
HARD = [-inf, -3e38, -1e30, -1e5, -104.0, -88.0, -20.0, 0.0, 20.0, 88.0, 104.0, 1e5, 1e30, 3e38, inf]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def batch(images=4, classes=6, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(images, classes, generator=generator) * 3
    return logits.to(dtype), torch.randint(-1, 2, (images, classes), generator=generator, dtype=torch.int8)


def test_no_loss_is_forgotten():
    helpers = {"large_unknown", "one_of_k_log_factor", "target_bce", "unknown_as_absent", "with_gradient"}
    assert {name.split()[0] for name in EVERY} == set(losses.__all__) - helpers


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_logit_gives_a_finite_loss_and_gradient(dtype):
    logits = torch.tensor(HARD).to(dtype).repeat(3, 1)
    labels = torch.tensor([[1], [-1], [0]]).expand(3, len(HARD))
    for name, loss in EVERY.items():
        for rows in ([0, 1, 2], [0], [1], [2]):
            with case(name, f"rows {rows}"):
                value, gradient = value_and_gradient(loss, logits[rows], labels[rows])
                assert value.isfinite() and value >= 0
                assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
                assert gradient.isfinite().all() and gradient.dtype == dtype


@pytest.mark.parametrize(
    ("name", "margin"), [("bce", 0), ("asymmetric", 0), ("asymmetric not clipped", 0), ("hill", 1), ("splc", 1)]
)
def test_a_hopeless_present_label_costs_its_logit_and_is_pulled_up(name, margin):
    for x in [-inf, -1e30, -1e5, -200.0, -104.0]:
        value, gradient = value_and_gradient(EVERY[name], torch.tensor([[x]]), torch.tensor([[1]]))
        assert value.item() == pytest.approx(min(margin - x, 1e30), rel=1e-6)
        assert gradient.item() == pytest.approx(-1)


@pytest.mark.parametrize("label", [1, -1, 0])
def test_nan_stays_nan(label):
    for name, loss in EVERY.items():
        with case(name):
            value, _ = value_and_gradient(loss, torch.tensor([[float("nan"), 1.0]]), torch.tensor([[label, 1]]))
            assert value.isnan()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_nothing_known_is_exactly_zero(dtype):
    for name, loss in KNOWN_ONLY.items():
        with case(name):
            value, gradient = value_and_gradient(loss, batch(dtype=dtype)[0], torch.zeros(4, 6, dtype=torch.int8))
            assert value == 0
            assert torch.equal(gradient, torch.zeros(4, 6, dtype=dtype))


def test_unknown_labels_get_no_gradient():
    logits, labels = batch()
    for name, loss in KNOWN_ONLY.items():
        with case(name):
            _, gradient = value_and_gradient(loss, logits, labels)
            assert ((gradient == 0) | (labels != 0)).all() and (gradient != 0).any()


@pytest.mark.parametrize("label", [1, -1, 0])
def test_one_image_of_one_class(label):
    for name, loss in EVERY.items():
        with case(name):
            value, gradient = value_and_gradient(loss, torch.tensor([[0.5]]), torch.tensor([[label]]))
            assert value.shape == () and value >= 0 and gradient.isfinite().all()


def test_labels_of_any_dtype_give_the_same():
    logits, labels = batch()
    for name, loss in EVERY.items():
        for dtype in (torch.int8, torch.int64, torch.float16, torch.float32, torch.float64):
            with case(name, dtype):
                assert torch.equal(loss(logits, labels.to(dtype)), loss(logits, labels))


def test_inputs_are_left_as_they_were():
    for name, loss in EVERY.items():
        for dtype in (torch.float32, torch.float64):
            with case(name, dtype):
                logits, labels = batch(dtype=dtype)
                labels = labels.to(dtype)  # no conversion on the way in: what is done in place would show
                before = logits.clone(), labels.clone()
                value_and_gradient(loss, logits, labels)
                loss(logits, labels)
                assert torch.equal(logits, before[0]) and torch.equal(labels, before[1])


def test_no_value_is_read():
    """Tensors on "meta" have no values: reading one, or a shape that depends on one, fails."""
    for name, loss in EVERY.items():
        with case(name):
            logits = torch.empty(3, 4, device="meta", requires_grad=True)
            loss(logits, torch.empty(3, 4, device="meta", dtype=torch.int8)).backward()
            assert logits.grad is not None and logits.grad.shape == (3, 4)


def test_autocast_does_not_narrow_the_loss():
    logits, labels = batch(dtype=torch.bfloat16)
    for name, loss in EVERY.items():
        with case(name):
            expected = value_and_gradient(loss, logits, labels)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                value, gradient = value_and_gradient(loss, logits, labels)
            assert value.dtype == torch.float32
            assert torch.equal(value, expected[0]) and torch.equal(gradient, expected[1])


@pytest.mark.parametrize(
    "name",
    ["partial_bce", "asymmetric", "weak_assume_negative", "warp", "ranknet", "role", "partial_asymmetric", "posterior"],
)
def test_compiles_into_one_graph(name):
    compiled = torch.compile(EVERY[name], fullgraph=True, backend="aot_eager")
    expected, got = value_and_gradient(EVERY[name], *batch()), value_and_gradient(compiled, *batch())
    torch.testing.assert_close(got, expected)


def test_gradient_is_the_numerical_one():
    logits, labels = batch(dtype=torch.float64)
    for name in SMOOTH:
        with case(name):
            assert torch.autograd.gradcheck(lambda x, name=name: EVERY[name](x, labels), logits.requires_grad_())


def test_second_derivative_is_the_numerical_one():
    logits, labels = batch(dtype=torch.float64)
    for name in SMOOTH:
        if name in ("ranknet", "warp"):  # ranknet has none; warp is made of straight lines
            continue
        with case(name):
            assert torch.autograd.gradgradcheck(lambda x, name=name: EVERY[name](x, labels), logits.requires_grad_())


def test_second_derivatives_of_hard_logits_are_finite():
    logits = torch.tensor(HARD).repeat(3, 1).requires_grad_()
    labels = torch.tensor([[1], [-1], [0]]).expand(3, len(HARD))
    for name, loss in EVERY.items():
        if name != "ranknet":
            with case(name):
                (gradient,) = torch.autograd.grad(loss(logits, labels), logits, create_graph=True)
                torch.testing.assert_close(gradient, value_and_gradient(loss, logits.detach(), labels)[1])
                if gradient.requires_grad:  # else the second derivative is 0
                    (second,) = torch.autograd.grad(gradient.sum(), logits, allow_unused=True)
                    assert second is None or second.isfinite().all()


def test_a_second_derivative_that_is_missing_is_refused_rather_than_wrong():
    logits, labels = batch()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(losses.ranknet(logits.requires_grad_(), labels), logits, create_graph=True)


def test_unfit_batches_are_refused():
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
    for name, loss in EVERY.items():
        for message, x, z in refused:
            with case(name, message), pytest.raises(TrilabelError, match=message):
                loss(x, z)
