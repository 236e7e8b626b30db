"""latent-noise: its loss label by label, and that it finds what nobody reports."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import baselines as oracle
from tests.oracles.losses import gradient
from tests.support.linear_problem import linear_problem, share_ranked_right
from tests.support.loss_cases import batches
from tests.support.one_positive import linear_model, train
from trilabel.labels import Labels
from trilabel.methods import METHODS, Batch, create_method
from trilabel.methods.latent_noise import reporting_loss
from trilabel.models import FeatureClassifier
from trilabel.models.heads.latent_noise import Beliefs, LatentNoiseHead, LatentNoiseSettings


@settings(max_examples=60, deadline=None)
@given(batches(st.floats(-8, 8)), st.integers(0, 2**16))
def test_the_loss_and_its_gradient_are_the_plain_loop(batch, seed):
    present, labels = batch
    draw = torch.Generator().manual_seed(seed)
    logits = torch.stack([present, *torch.randn(2, *present.shape, generator=draw, dtype=torch.float64) * 3])
    logits.requires_grad_()
    loss = reporting_loss(Beliefs(*logits), labels)
    loss.backward()
    three, signs = logits.tolist(), labels.tolist()
    assert loss.item() == pytest.approx(oracle.reporting_loss(*three, signs), rel=1e-4, abs=1e-6)
    for part in range(3):

        def moving(rows, part=part):
            return oracle.reporting_loss(*three[:part], rows, *three[part + 1 :], signs)

        np.testing.assert_allclose(logits.grad[part], gradient(moving, three[part]), rtol=1e-3, atol=1e-5)


def test_a_known_absent_is_not_there_and_an_unknown_one_may_be():
    logits = torch.tensor([3.0, 2.0, -2.0]).view(3, 1, 1).requires_grad_()
    costs = {}
    for label in (-1, 0):
        loss = reporting_loss(Beliefs(*logits), torch.tensor([[label]]))
        costs[label] = torch.autograd.grad(loss, logits)[0].flatten().tolist()
    assert costs[-1][0] > 0.9 and 0 < costs[0][0] < costs[-1][0]  # both push v down, a known negative with full force
    assert costs[-1][1] == 0 and costs[0][1] > 0  # of what is reported if present, a known negative says nothing


def test_full_labels_teach_the_visual_classifier_as_bce_does():
    features, truth = linear_problem()
    labels = Labels.from_signed(truth)
    torch.manual_seed(0)
    model = FeatureClassifier(LatentNoiseHead(16, 6))
    train(create_method("latent-noise", {}, labels), model, features, labels, 15)
    test_features, test_truth = linear_problem(seed=1)
    assert ((model(test_features).logits.detach().numpy() > 0) == (test_truth > 0)).mean() > 0.95


@pytest.mark.parametrize("score", ["visual", "relevance"])
def test_a_step_gives_the_scores_of_the_model(score):
    labels = Labels.from_signed([[1, 0, -1], [0, 1, 0]])
    model = FeatureClassifier(LatentNoiseHead(5, 3, LatentNoiseSettings(score)))
    batch = Batch(torch.randn(2, 5), None, labels.rows(np.arange(2)), torch.arange(2), 1)
    parts = create_method("latent-noise", {}, labels).step(model, batch)
    assert torch.equal(parts["logits"], model(batch.images).logits)
    beliefs = model.head.beliefs(batch.images)
    assert torch.equal(parts["loss"], reporting_loss(beliefs, batch.labels))
    assert METHODS["latent-noise"].heads == ("latent-noise",)


def reporting_problem(seed):
    """(features, truth, labels): only some positives are reported, with a probability that depends on the image."""
    features, truth = linear_problem(1500, seed)
    directions = np.random.default_rng(98).standard_normal(truth.shape[1:] + features.shape[1:]).T / 4
    reported_share = 1 / (1 + np.exp(-(1 + 2 * features.numpy() @ directions)))
    chosen = (truth > 0) & (np.random.default_rng(seed + 7).random(truth.shape) < reported_share)
    return features, truth, Labels.from_signed(chosen.astype(np.int8))


@pytest.mark.parametrize("seed", [0, 1])
def test_it_finds_what_nobody_reports(seed):
    features, truth, labels = reporting_problem(seed)
    hidden, absent = (truth > 0) & (labels.to_signed() == 0), truth < 0
    assert hidden.sum() > 800
    torch.manual_seed(seed)
    visual = LatentNoiseHead(16, 6)
    train(create_method("latent-noise", {}, labels), FeatureClassifier(visual), features, labels)
    reported = LatentNoiseHead(16, 6, LatentNoiseSettings("relevance"))
    reported.load_state_dict(visual.state_dict())
    plain = linear_model(16, 6)
    train(create_method("assume-negative", {}, labels), plain, features, labels)
    right = {
        name: share_ranked_right(head(features).detach().numpy(), hidden, absent)
        for name, head in (("visual", visual), ("reported", reported), ("plain", plain.head))
    }
    assert right["visual"] > 0.98 and right["plain"] < 0.95 and right["reported"] < right["visual"]
    known = labels.to_signed() > 0
    assert share_ranked_right(reported(features).detach().numpy(), known, hidden) > 0.7  # and knows what is reported
