"""label-rnn: its loss list by list, and that it learns which label follows which."""

import numpy as np
import pytest
import torch

from tests.oracles import baselines as oracle
from tests.support.linear_problem import linear_problem, share_ranked_right
from tests.support.one_positive import train
from trilabel.labels import Labels
from trilabel.methods import METHODS, Batch, create_method
from trilabel.models import FeatureClassifier
from trilabel.models.heads.label_rnn import LabelRnnHead, LabelRnnSettings

DENSE = [[1, 0, 1, -1], [0, 0, 0, 0], [1, 1, 1, 1], [-1, 1, 0, -1], [-1, -1, -1, -1]]


@pytest.mark.parametrize("longest", [1, 3, 10])
def test_the_loss_is_the_mean_over_all_steps(longest):
    labels = Labels.from_signed(DENSE)
    torch.manual_seed(1)
    head = LabelRnnHead(5, 4, LabelRnnSettings(3, 4, longest), labels)
    batch = Batch(torch.randn(5, 5), None, labels.rows(np.arange(5)), torch.arange(5), 1)
    parts = create_method("label-rnn", {}, labels).step(FeatureClassifier(head), batch)
    slow, costs = oracle.LabelRnn(head), []
    for image, signs in zip(batch.images.tolist(), DENSE, strict=True):
        costs += slow.cost(image, oracle.list_of(signs, [0, 1, 2, 3], head.steps))
    assert parts["loss"].item() == pytest.approx(sum(costs) / len(costs), rel=1e-5)
    assert torch.equal(parts["logits"], head(batch.images))
    assert METHODS["label-rnn"].heads == ("label-rnn",)


def trained(features, labels, epochs=15, **settings):
    torch.manual_seed(0)
    head = LabelRnnHead(features.shape[1], labels.shape[1], LabelRnnSettings(16, 32, **settings), labels)
    train(create_method("label-rnn", {}, labels), FeatureClassifier(head), features, labels, epochs)
    return head


def test_it_ranks_images_and_classes_and_calls_what_is_there_present():
    features, truth = linear_problem()
    head = trained(features, Labels.from_signed(truth))
    test_features, test_truth = linear_problem(seed=1)
    scores, present = head(test_features).detach().numpy(), test_truth > 0
    assert share_ranked_right(scores, present, ~present) > 0.95
    assert ((scores > 0) == present).mean() > 0.9
    some = present.any(1) & ~present.all(1)
    right = [(row[p][:, None] > row[~p]).mean() for row, p in zip(scores[some], present[some], strict=True)]
    assert sum(right) / len(right) > 0.95


def test_a_label_is_expected_only_after_the_one_it_follows():
    """Whether a or c is present is random, whatever the image; b is present exactly where a is."""
    draw = np.random.default_rng(0)
    first = draw.random(600) < 0.5
    dense = np.where(np.stack([first, first, ~first], 1), 1, -1).astype(np.int8)
    dense[0] = [1, -1, -1]  # b is the rarer one, so that a comes first
    labels, features = Labels.from_signed(dense), torch.from_numpy(draw.standard_normal((600, 4)).astype(np.float32))
    head = trained(features, labels, 8)
    assert head.order.tolist().index(0) < head.order.tolist().index(1)
    after = {}
    for name, signs in {"a": [1, 0, 0], "c": [0, 0, 1]}.items():
        lists, _ = head.lists_of(torch.tensor([signs]).expand(600, 3))
        after[name] = head.unroll(features, lists).exp().mean(0)
    start, end = after["a"][0], 3
    assert 0.3 < start[0] < 0.7 and 0.3 < start[2] < 0.7 and start[1] < 0.1
    assert after["a"][1][1] > 0.9 and after["c"][1][end] > 0.9 and after["c"][1][1] < 0.1


def test_images_without_positives_learn_the_end():
    features = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    dense = np.zeros((200, 3), np.int8)
    dense[(features[:, 0] > 0).numpy(), 1] = 1
    head = trained(features, Labels.from_signed(dense), 10)
    scores = head(features).detach().numpy()
    assert ((scores[:, 1] > 0) == (dense[:, 1] > 0)).mean() > 0.95 and (scores[:, [0, 2]] < 0).all()
