"""SARB: the shares of a blend stay shares that learn, and prototypes are the means of quarters."""

import numpy as np
import pytest
import torch

from trilabel.labels import Labels
from trilabel.losses.soft_bce import soft_known_bce
from trilabel.methods import Batch, create_method
from trilabel.methods.semantic.blending import blend_images
from trilabel.models import FeatureClassifier
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings

IMAGES, CLASSES, SIZE = 12, 3, 6


def made(**settings):
    """(method, model, all images as one batch)."""
    draw = np.random.default_rng(0)
    labels = Labels.from_signed(draw.choice(np.array([-1, 0, 1], np.int8), (IMAGES, CLASSES)))
    torch.manual_seed(0)
    model = FeatureClassifier(SemanticHead(SIZE, CLASSES, SemanticSettings(size=4, channels=8, pool=1), labels))
    method = create_method("semantic-blending", {"start": 0, **settings}, labels, 8)
    rows = torch.arange(IMAGES)
    return method, model, Batch(torch.randn(IMAGES, SIZE, 4, 4), None, labels.rows(rows.numpy()), rows, 1)


@torch.no_grad()
def survey(method, model, batch):
    parts = (batch._replace(images=batch.images[some], rows=some) for some in batch.rows.split(5))
    method.survey(model.eval(), parts, lambda value, how: value)
    model.train()


@pytest.mark.parametrize(("beyond", "end"), [(1.2, 1), (-0.3, 0)])
def test_a_share_that_left_0_to_1_comes_back_and_learns_on(beyond, end):
    method, model, batch = made()
    survey(method, model, batch)
    for share in (method.alpha, method.beta):
        share.data.fill_(beyond)
    parts = method.step(model, batch)
    parts["loss"].backward()
    assert method.alpha == method.beta == parts["alpha"] == parts["beta"] == end
    assert method.alpha.grad.abs() > 1e-3 and method.beta.grad.abs() > 1e-3


def test_a_blend_counts_even_if_its_target_is_0():
    labels = torch.tensor([[0, 1], [1, -1]])
    features = torch.randn(2, 2, 3)
    mixed, targets, known = blend_images(features, labels, torch.tensor(1.0))
    assert torch.equal(mixed, features) and targets.tolist() == [[0, 1], [1, -1]] and known.all()
    logits = torch.tensor([[2.0, 1.0], [1.0, -1.0]])
    right = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor([[0.0, 1], [1, 0]]))
    torch.testing.assert_close(soft_known_bce(logits, targets, known), right)


def test_shares_learn_slowly_at_any_rate_of_the_model():
    method, _, _ = made()
    for lr in (1e-5, 1e-2):
        ((parameters, scale),) = method.parameter_groups(lr)
        assert len(parameters) == 2 and scale * lr == pytest.approx(1e-5)


def test_prototypes_of_quarters_are_the_means_of_what_is_seen_there():
    method, model, batch = made(kind="quadrants")
    survey(method, model, batch)
    model.eval()
    with torch.no_grad():
        attention = model.head.attention(batch.images)
        features, quadrants = attention.features, attention.quadrants()
    vectors = method.prototypes.vectors
    assert vectors.shape == (CLASSES, 4, 8) and method.prototypes.made.all()
    some_empty = False
    for number in range(CLASSES):
        present = batch.labels[:, number] > 0
        for quadrant in range(4):
            there = present & (quadrants[:, number] == quadrant)
            some_empty |= not there.any()
            mean = features[there if there.any() else present, number].mean(0)
            torch.testing.assert_close(vectors[number, quadrant], mean)
    assert some_empty
    model.train()
    with torch.autocast("cpu", torch.bfloat16):
        loss = method.step(model, batch)["loss"]
    loss.backward()
    assert loss.isfinite() and method.beta.grad.abs() > 0
