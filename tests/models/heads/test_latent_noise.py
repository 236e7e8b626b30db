"""The latent-noise head: what is there and what is reported, and its probabilities at any logit."""

import math

import pytest
import torch

from tests.oracles.baselines import sigmoid
from trilabel.models.heads.latent_noise import Beliefs, LatentNoiseHead, LatentNoiseSettings
from trilabel.testing import check_head
from trilabel.testing.heads import FEATURES


@pytest.mark.parametrize("score", ["visual", "relevance"])
def test_it_is_a_head(score):
    check_head(LatentNoiseHead, LatentNoiseSettings(score))


def test_reports_start_the_same_for_all_images():
    beliefs = LatentNoiseHead(FEATURES, 4).beliefs(torch.randn(3, FEATURES))
    torch.testing.assert_close(torch.sigmoid(beliefs.reported_if_present), torch.full((3, 4), 0.9))
    torch.testing.assert_close(torch.sigmoid(beliefs.reported_if_absent), torch.full((3, 4), 0.05))
    assert beliefs.present.std() > 0


def moved(score="visual"):
    """A head that has learned something."""
    torch.manual_seed(0)
    head = LatentNoiseHead(FEATURES, 4, LatentNoiseSettings(score))
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter)
    return head


def test_the_answers_are_those_of_the_formula():
    features = torch.randn(3, FEATURES)
    visual, relevance = moved()(features), moved("relevance")(features)
    head = moved()
    for b in range(3):
        for c in range(4):
            v, r1, r0 = (
                sigmoid(
                    sum(w * scale * x for w, x in zip(part.weight[c].tolist(), features[b].tolist(), strict=True))
                    + part.bias[c].item()
                )
                for part, scale in ((head.visual, 1), (head.if_present, 0.1), (head.if_absent, 0.1))
            )
            p = r1 * v + r0 * (1 - v)
            assert visual[b, c].item() == pytest.approx(math.log(v / (1 - v)), rel=1e-4, abs=1e-5)
            assert relevance[b, c].item() == pytest.approx(math.log(p / (1 - p)), rel=1e-4, abs=1e-5)


HARD = [-1e30, -1e4, -200.0, -104.0, -20.0, 0.0, 20.0, 104.0, 200.0, 1e4, 1e30]


def test_any_logit_gives_finite_logarithms_and_gradients():
    grid = torch.cartesian_prod(*[torch.tensor(HARD)] * 3).T.unsqueeze(1).requires_grad_()
    reported, unreported = Beliefs(*grid).log_reported()
    (reported.sum() + unreported.sum()).backward()
    assert reported.isfinite().all() and unreported.isfinite().all() and grid.grad.isfinite().all()
    small = (grid.abs() <= 20).all(0)
    total = reported.exp() + unreported.exp()
    torch.testing.assert_close(total[small], torch.ones_like(total[small]))


@pytest.mark.parametrize("score", ["visual", "relevance"])
def test_maps_are_the_scores_of_the_cells(score):
    head, feature_map = moved(score), torch.randn(2, FEATURES, 3, 4)
    maps = head.maps(feature_map)
    for y in range(3):
        for x in range(4):
            torch.testing.assert_close(maps[:, :, y, x], head(feature_map[:, :, y, x]))
    if score == "visual":
        torch.testing.assert_close(maps.mean((2, 3)), head(head.reduce_features(feature_map)))
