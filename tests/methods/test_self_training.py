"""Consistency self-training: pseudo-labels and losses of a plain loop, every ablation of the paper, and its use."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.oracles import losses as oracle
from tests.support.linear_problem import learned, linear_problem, share_ranked_right
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.methods.self_training import pseudo_labels
from trilabel.models import FeatureClassifier
from trilabel.models.heads.gap import GapHead
from trilabel.models.heads.saliency import SaliencyHead

LABELS = Labels.from_signed(np.array([[1, 0, -1, 0], [0, 1, 0, -1], [0, 0, 0, 0]], np.int8))


def made(**settings):
    return create_method("self-training", settings, LABELS)


def model_of(head, features=5):
    torch.manual_seed(1)
    model = FeatureClassifier(head(features, 4))
    nn.init.normal_(model.head.linear.weight)
    return model


def batch_of(strong=True):
    draw = torch.Generator().manual_seed(0)
    weak, other = (torch.randn(3, 5, 2, 3, generator=draw) for _ in range(2))
    return Batch(weak, other if strong else None, LABELS.rows(np.arange(3)), torch.arange(3), 1)


class MapModel(nn.Module):
    """A head behind a face that gives maps, as a network does."""

    def __init__(self, head):
        super().__init__()
        self.head = head
        self.calls = []

    def forward(self, images, maps=False):
        self.calls.append((len(images), maps))
        output = FeatureClassifier(self.head)(self.head.reduce_features(images))
        return output._replace(maps=self.head.maps(images)) if maps else output


def logits_of(head, images, by, alpha=0.5, k=5):
    maps = head.maps(images).detach()
    if by == "head":
        return head(head.reduce_features(images)).detach()
    if by == "gap":
        return maps.mean((2, 3))
    return maps.mean((2, 3)) + alpha * maps.flatten(2).topk(k).values.mean(2)


def saliency(settings):
    return settings.get("label_alpha", 0.5), settings.get("label_k", 5)


def plain_loss(settings, head, batch):
    """The loss of a batch, label by label."""
    threshold, normalize = settings.get("threshold", 0.6), settings.get("normalize", "image")
    mean = oracle.per_image_bce if normalize == "image" else oracle.known_mean_bce
    labels = batch.labels.tolist()
    weak, strong = batch.images, batch.strong
    views = [weak] if strong is None else [weak, strong]
    seen = [row for view in views for row in logits_of(head, view, "head").tolist()]
    total = mean(seen, labels * len(views))
    if settings.get("pseudo") == "off":
        return total
    scores = logits_of(head, weak, settings.get("labeled_by", "head"), *saliency(settings)).tolist()
    pseudo = [
        [oracle_pseudo(x, z, threshold) for x, z in zip(xs, zs, strict=True)]
        for xs, zs in zip(scores, labels, strict=True)
    ]
    return total + mean(logits_of(head, views[-1], settings.get("learned_by", "head")).tolist(), pseudo)


def oracle_pseudo(logit, label, threshold):
    probability = 1 / (1 + np.exp(-logit))
    if label != 0:
        return 0
    return 1 if probability >= threshold else -1 if 1 - probability >= threshold else 0


ABLATIONS = {
    "BN-BCE + PL": (GapHead, {"normalize": "batch", "pseudo": "same-view"}),
    "CR without SR": (GapHead, {"normalize": "batch"}),
    "SR, both views": (SaliencyHead, {"normalize": "batch", "pseudo": "off"}),
    "CR, SR in pseudo-labels only": (GapHead, {"normalize": "batch", "labeled_by": "saliency"}),
    "… and more of it": (GapHead, {"labeled_by": "saliency", "label_alpha": 3.0, "label_k": 1}),
    "SR + CR without SR": (SaliencyHead, {"normalize": "batch", "labeled_by": "gap", "learned_by": "gap"}),
    "SR + CR": (SaliencyHead, {}),
    "a high threshold": (SaliencyHead, {"threshold": 0.9}),
}


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_row_of_the_ablation_is_the_plain_loop(name):
    head_of, settings = ABLATIONS[name]
    method, model = made(**settings), MapModel(model_of(head_of).head)
    batch = batch_of(strong=method.views == 2)
    parts = method.step(model, batch)
    assert parts["loss"].item() == pytest.approx(plain_loss(settings, model.head, batch), rel=1e-5)
    assert len(model.calls) == 1 and model.calls[0][0] == 3 * method.views  # one forward pass for both views
    assert torch.equal(parts["logits"], logits_of(model.head, batch.images, "head"))
    scores = logits_of(model.head, batch.images, settings.get("labeled_by", "head"), *saliency(settings))
    pseudo = pseudo_labels(scores, batch.labels, settings.get("threshold", 0.6))
    expected = batch.labels if settings.get("pseudo") == "off" else batch.labels + pseudo
    assert torch.equal(parts["targets"], expected)


def test_pseudo_labels_have_no_gradient():
    """Only the strong view learns from them: what the weak view adds is the known labels' share."""
    model, batch = MapModel(model_of(SaliencyHead).head), batch_of()
    weak = batch.images.clone().requires_grad_()
    made().step(model, batch._replace(images=weak, labels=torch.zeros(3, 4, dtype=torch.int8)))["loss"].backward()
    assert weak.grad is None or not weak.grad.any()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-20, 20) | st.sampled_from([np.inf, -np.inf]), min_size=1, max_size=9), st.floats(0.51, 1.0))
def test_pseudo_labels_are_confident_and_unknown(logits, threshold):
    tensor, labels = torch.tensor([logits]), torch.zeros(1, len(logits), dtype=torch.int8)
    expected = [oracle_pseudo(x, 0, threshold) for x in torch.tensor(logits).double().tolist()]
    probability = torch.sigmoid(tensor)
    clear = ((probability - threshold).abs() > 1e-6) & ((1 - probability - threshold).abs() > 1e-6)
    found = pseudo_labels(tensor, labels, threshold)
    assert found[clear].tolist() == [
        sign for sign, is_clear in zip(expected, clear[0].tolist(), strict=True) if is_clear
    ]
    assert not pseudo_labels(tensor, labels + 1, threshold).any()


def test_on_features_alone_both_views_are_the_same():
    features = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    batch = batch_of(strong=False)._replace(images=features)
    model = FeatureClassifier(GapHead(5, 4))
    same = create_method("self-training", {"pseudo": "same-view"}, LABELS).step(model, batch)["loss"]
    assert torch.equal(made().step(model, batch)["loss"], same)
    with pytest.raises(TrilabelError, match="fine-tune"):
        made(labeled_by="saliency").step(model, batch)


@pytest.mark.parametrize("threshold", [0.49, 0.3, 1.1, float("nan")])
def test_a_threshold_that_decides_nothing_is_refused(threshold):
    with pytest.raises(TrilabelError, match="threshold"):
        check_method("self-training", {"threshold": threshold}, LABELS)


def test_what_distortion_leaves_is_what_counts():
    """Few labels, and features that say nothing; the strong view shuffles these, so only what is left can agree."""
    right = {"same-view": [], "strong-view": []}
    for seed in range(4):
        draw = np.random.default_rng(seed)
        truth = np.where(draw.random((200, 6)) < 0.3, 1, -1).astype(np.int8)
        telling = truth + draw.normal(0, 0.7, truth.shape)
        features = np.concatenate((telling, draw.normal(0, 1, (200, 60))), 1).astype(np.float32)
        labels = Labels.from_signed(np.where(draw.random(truth.shape) < 0.1, truth, 0).astype(np.int8))
        for pseudo, found in right.items():
            method = create_method("self-training", {"pseudo": pseudo}, labels)
            model = trained_on_views(method, torch.from_numpy(features), labels, seed)
            called = model(torch.from_numpy(features)).logits.detach().numpy() > 0
            found.append((called == (truth > 0)).mean())
    gains = np.subtract(right["strong-view"], right["same-view"])
    assert gains.min() > 0.05, right


def trained_on_views(method, features, labels, seed):
    torch.manual_seed(seed)
    model, rows = FeatureClassifier(GapHead(features.shape[1], labels.shape[1])), torch.arange(len(features))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        strong = features.clone()
        strong[:, 6:] = features[torch.randperm(len(features)), 6:]
        optimizer.zero_grad()
        strong = strong if method.views == 2 else None
        method.step(model, Batch(features, strong, labels.rows(rows.numpy()), rows, 1))["loss"].backward()
        optimizer.step()
    return model


def test_it_learns_what_known_only_learns():
    features, truth = linear_problem()
    labels = Labels.from_signed(np.where(np.random.default_rng(3).random(truth.shape) < 0.5, truth, 0).astype(np.int8))
    model = learned(create_method("self-training", {}, labels), features, labels)
    scores = model(features).logits.detach().numpy()
    assert share_ranked_right(scores, truth > 0, truth < 0) > 0.97
