"""The label RNN: lists, steps and scores against an image at a time in plain Python."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import baselines as oracle
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.models import create_model
from trilabel.models.heads.label_rnn import LabelRnnHead, LabelRnnSettings
from trilabel.testing import check_head
from trilabel.testing.heads import FEATURES, drawn_labels

SMALL = LabelRnnSettings(size=3, hidden=4)


def head_with(longest=10, classes=4, spread=1.5):
    """A head with weights large enough for the order of the labels to matter."""
    torch.manual_seed(0)
    head = LabelRnnHead(FEATURES, classes, LabelRnnSettings(3, 4, longest), drawn_labels(classes=classes))
    for parameter in head.parameters():
        torch.nn.init.normal_(parameter, std=spread)
    return head


@pytest.mark.parametrize("longest", [1, 3, 10])
def test_it_is_a_head(longest):
    check_head(LabelRnnHead, LabelRnnSettings(3, 4, longest))


def test_frequent_classes_come_first():
    dense = np.array([[1, 0, 1, -1], [1, -1, 1, 1], [-1, -1, 1, 1]], np.int8)
    head = LabelRnnHead(FEATURES, 4, SMALL, Labels.from_signed(dense))
    assert head.order.tolist() == [2, 0, 3, 1] and "order" in head.state_dict()
    lists, counted = head.lists_of(torch.tensor(dense))
    assert lists.tolist() == [[2, 0, 4, 4, 4], [2, 0, 3, 4, 4], [2, 3, 4, 4, 4]]
    assert counted.sum(1).tolist() == [3, 4, 3]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_lists_are_the_plain_loop(data):
    classes, longest = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 7))
    row = st.lists(st.sampled_from([1, -1, 0]), min_size=classes, max_size=classes)
    dense = data.draw(st.lists(row, min_size=1, max_size=5))
    head = LabelRnnHead(2, classes, LabelRnnSettings(2, 2, longest), Labels.from_signed(np.array(dense, np.int8)))
    counts = [sum(signs[c] > 0 for signs in dense) for c in range(classes)]
    order = sorted(range(classes), key=lambda c: (-counts[c], c))
    lists, counted = head.lists_of(torch.tensor(dense, dtype=torch.int8))
    assert lists.shape == counted.shape == (len(dense), head.steps) and head.steps == min(longest, classes + 1)
    for signs, names, counts_here in zip(dense, lists.tolist(), counted.tolist(), strict=True):
        expected = oracle.list_of(signs, order, head.steps)
        assert names == expected + [classes] * (head.steps - len(expected))
        assert counts_here == [True] * len(expected) + [False] * (head.steps - len(expected))


@pytest.mark.parametrize("longest", [1, 2, 3, 10])
def test_scores_are_the_plain_loop(longest):
    head = head_with(longest)
    features = torch.randn(12, FEATURES)
    slow = oracle.LabelRnn(head)
    expected = [slow.scores(image) for image in features.tolist()]
    # Single precision tells probabilities next to 1 apart less and less.
    np.testing.assert_allclose(head(features).detach().clamp(max=9), np.minimum(expected, 9), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("longest", [1, 2, 3, 10])
def test_steps_are_the_plain_loop(longest):
    head, labels = head_with(longest), drawn_labels(12)
    features, dense = torch.randn(12, FEATURES), labels.rows(np.arange(12))
    lists, counted = head.lists_of(dense)
    steps = head.unroll(features, lists)
    assert steps.shape == (12, head.steps, 5)
    torch.testing.assert_close(steps.exp().sum(2), torch.ones(12, head.steps))
    costs = -steps.gather(2, lists.unsqueeze(2)).squeeze(2)
    slow = oracle.LabelRnn(head)
    for b, image in enumerate(features.tolist()):
        expected = slow.cost(image, oracle.list_of(dense[b].tolist(), head.order.tolist(), head.steps))
        np.testing.assert_allclose(costs[b][counted[b]].detach(), expected, rtol=1e-3, atol=1e-4)


def test_scores_are_sound_where_the_network_is_sure():
    head = head_with(spread=30)
    features = torch.randn(50, FEATURES, requires_grad=True)
    logits = head(features)
    logits.sum().backward()
    assert logits.isfinite().all() and logits.max() > 16 and features.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in head.parameters())


def test_every_weight_has_a_part_in_the_scores():
    head = head_with()
    head(torch.randn(20, FEATURES)).sum().backward()
    assert all(parameter.grad.abs().max() > 0 for parameter in head.parameters())


def test_settings_out_of_range_are_refused():
    for name in ("size", "hidden", "longest"):
        with pytest.raises(TrilabelError, match=f"head label-rnn: {name} must be at least 1, not 0"):
            create_model(Config(head="label-rnn", head_settings={name: 0}), 4)
