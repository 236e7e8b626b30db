"""What SST, HST and SARB are for, on small feature maps: they find unknown positives, and learn from blends."""

import sys

import numpy as np
import pytest
import torch

from trilabel.labels import Labels
from trilabel.methods import Batch, create_method
from trilabel.methods.semantic import heterogeneous, pairs
from trilabel.methods.semantic.blending import blend_images
from trilabel.methods.semantic.steps import likeness
from trilabel.models import FeatureClassifier
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings

IMAGES, CLASSES, SIZE, CELLS = 240, 4, 8, 3
TRANSFER = {"semantic-transfer": {"threshold": 0.4, "lowest": 0.4}, "heterogeneous-transfer": {"threshold": 0.45}}


@pytest.fixture(autouse=True)
def small_pair_head(monkeypatch):
    monkeypatch.setattr(pairs, "_HIDDEN", 32)
    monkeypatch.setattr(pairs, "_WIDTH", 64)


def problem(share, seed=0):
    """(feature maps, truth, labels of which a share is known): class 1 mostly goes with class 0 and has no look."""
    draw = np.random.default_rng(seed)
    looks = 1.5 * draw.normal(size=(CLASSES, SIZE))
    looks[1] = 0
    truth = draw.random((IMAGES, CLASSES)) < 0.35
    truth[:, 1] = truth[:, 0] ^ (draw.random(IMAGES) < 0.08)
    maps = 0.4 * draw.normal(size=(IMAGES, SIZE, CELLS, CELLS))
    for image, label in zip(*np.nonzero(truth), strict=True):
        row, column = draw.integers(CELLS, size=2)
        maps[image, :, row, column] += looks[label]
    known = draw.random(truth.shape) < share
    return torch.tensor(maps, dtype=torch.float32), truth, Labels.from_signed(np.where(truth, 1, -1) * known)


def trained(name, settings, epochs=12, lr=5e-3, share=0.6):
    """(head, method, pseudo-labels of the last epoch, maps, truth, labels)."""
    maps, truth, labels = problem(share)
    torch.manual_seed(0)
    head = SemanticHead(SIZE, CLASSES, SemanticSettings(size=8, channels=16, pool=1), labels)
    model = FeatureClassifier(head)
    method = create_method(name, settings, labels, head.class_size)
    groups = [(list(model.parameters()), 1.0), *method.parameter_groups(lr)]
    optimizer = torch.optim.Adam([{"params": own, "lr": lr * scale} for own, scale in groups])
    targets = torch.zeros(truth.shape, dtype=torch.int8)
    for epoch in range(1, epochs + 1):
        if method.surveys(epoch):
            model.eval()
            with torch.no_grad():
                method.survey(model, [batch_of(maps, labels, torch.arange(IMAGES), epoch)], lambda value, how: value)
            model.train()
        for step, rows in enumerate(torch.randperm(IMAGES).split(48)):
            batch = batch_of(maps, labels, rows, epoch, step / 5)
            parts = method.step(model, batch)
            optimizer.zero_grad()
            parts["loss"].backward()
            optimizer.step()
            targets[rows] = parts["targets"]
    head.eval()
    return head, method, targets.numpy(), maps, truth, labels


def batch_of(maps, labels, rows, epoch, share=0.0):
    return Batch(maps[rows], None, labels.rows(rows.numpy()), rows, epoch, share=share)


def found_by(source, outcome, monkeypatch):
    """Unknown labels that count as present because of one source alone: the other finds nothing likely."""
    head, method, _, maps, _, labels = outcome
    other, nothing = {"within": ("likeness", -1.0), "across": ("shown_with", 0.0)}[source]
    module = sys.modules[type(method).__module__]
    with monkeypatch.context() as patch, torch.no_grad():
        real = getattr(module, other)
        patch.setattr(module, other, lambda *inputs: torch.full_like(real(*inputs), nothing))
        parts = method.step(FeatureClassifier(head), batch_of(maps, labels, torch.arange(IMAGES), 12))
    return (labels.to_signed() == 0) & (parts["targets"].numpy() > 0)


@pytest.mark.parametrize("name", TRANSFER)
def test_unknown_labels_that_count_as_present_mostly_are(name, monkeypatch):
    outcome = trained(name, {"start": 4, **TRANSFER[name]})
    _, method, targets, _, truth, labels = outcome
    unknown = labels.to_signed() == 0
    assert truth[unknown].mean() < 0.33  # what would be right by chance
    within, across = (found_by(source, outcome, monkeypatch) for source in ("within", "across"))
    assert within.sum() > 12 and truth[within].mean() > 0.75
    assert across.sum() > 120 and truth[across].mean() > 0.5
    assert across[truth & unknown].mean() > 0.8
    assert (targets > 0)[truth & unknown].mean() > 0.8
    if name == "heterogeneous-transfer":  # known positives below the thresholds draw them down
        assert method.within < 0.43 and method.across < 0.43


def test_features_are_drawn_to_the_prototypes_of_what_is_present(monkeypatch):
    apart = []
    for weight in (0, 5):
        monkeypatch.setattr(heterogeneous, "_PROTOTYPE_WEIGHT", weight)
        head, method, _, maps, truth, labels = trained("heterogeneous-transfer", {"start": 4})
        with torch.no_grad():
            alike = likeness(head.class_features(maps), method.prototypes.vectors).numpy()
        unknown = labels.to_signed() == 0
        apart.append(alike[unknown & truth].mean() - alike[unknown & ~truth].mean())
    assert apart[1] > 1.1 * apart[0]


def test_before_they_start_nothing_is_filled_in():
    for name in ("semantic-transfer", "heterogeneous-transfer", "semantic-blending"):
        _, _, targets, _, _, labels = trained(name, {"start": 99}, epochs=1)
        assert np.array_equal(targets, labels.to_signed())


def test_a_blend_scores_as_present_as_it_is():
    off = []
    for settings in ({"start": 4, "every": 3}, {"start": 99}):
        head, _, _, maps, _, labels = trained("semantic-blending", settings, 14, share=0.1)
        dense = torch.from_numpy(labels.to_signed())
        with torch.no_grad():
            features = head.class_features(maps)
            misses = []
            for share in (0.25, 0.5, 0.75):
                mixed, soft, known = blend_images(features, dense, torch.tensor(share))
                blended = (dense == 0) & known
                misses.append((torch.sigmoid(head.score(mixed)) - soft)[blended].abs().mean())
        off.append(float(torch.stack(misses).mean()))
    assert off[0] < 0.8 * off[1]
