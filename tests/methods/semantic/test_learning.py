"""What SST, HST and SARB are for, on small feature maps: they find unknown positives, and learn from blends."""

import numpy as np
import pytest
import torch

from trilabel.labels import Labels
from trilabel.methods import Batch, create_method
from trilabel.methods.semantic.blending import blend_images
from trilabel.models import FeatureClassifier
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings

IMAGES, CLASSES, SIZE, CELLS = 240, 6, 8, 3


def problem(seed=0):
    """(feature maps, truth, labels of which a tenth is known): odd classes mostly go with the even one before them."""
    draw = np.random.default_rng(seed)
    looks = draw.normal(size=(CLASSES, SIZE))
    truth = np.zeros((IMAGES, CLASSES), bool)
    for even in range(0, CLASSES, 2):
        truth[:, even] = draw.random(IMAGES) < 0.3
        truth[:, even + 1] = draw.random(IMAGES) < np.where(truth[:, even], 0.8, 0.05)
    maps = 0.4 * draw.normal(size=(IMAGES, SIZE, CELLS, CELLS))
    for image, label in zip(*np.nonzero(truth), strict=True):
        row, column = draw.integers(CELLS, size=2)
        maps[image, :, row, column] += looks[label]
    known = draw.random(truth.shape) < 0.1
    return torch.tensor(maps, dtype=torch.float32), truth, Labels.from_signed(np.where(truth, 1, -1) * known)


def trained(name, settings, epochs=14, lr=5e-3):
    """(head, method, pseudo-labels of the last epoch, maps, truth, labels)."""
    maps, truth, labels = problem()
    torch.manual_seed(0)
    head = SemanticHead(SIZE, CLASSES, SemanticSettings(size=8, channels=16, pool=1), labels)
    model = FeatureClassifier(head)
    method = create_method(name, settings, labels, head.class_size)
    groups = [(list(model.parameters()), 1.0), *method.parameter_groups()]
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


@pytest.mark.parametrize(
    ("name", "settings", "precision"),
    [
        ("semantic-transfer", {"start": 4, "threshold": 0.8, "lowest": 0.7}, 0.7),
        ("heterogeneous-transfer", {"start": 4, "every": 3, "threshold": 0.8}, 0.45),
    ],
)
def test_unknown_labels_that_count_as_present_mostly_are(name, settings, precision):
    _, _, targets, _, truth, labels = trained(name, settings)
    unknown = labels.to_signed() == 0
    found = unknown & (targets > 0)
    base = truth[unknown].mean()
    assert base < 0.33 and found.sum() > 20
    assert truth[found].mean() > precision  # by chance it would be `base`


def test_before_they_start_nothing_is_filled_in():
    for name in ("semantic-transfer", "heterogeneous-transfer", "semantic-blending"):
        _, _, targets, _, _, labels = trained(name, {"start": 99}, epochs=1)
        assert np.array_equal(targets, labels.to_signed())


def test_a_blend_scores_as_present_as_it_is():
    off = []
    for settings in ({"start": 4, "every": 3}, {"start": 99}):
        head, _, _, maps, _, labels = trained("semantic-blending", settings)
        dense = torch.from_numpy(labels.to_signed())
        with torch.no_grad():
            features = head.class_features(maps)
            misses = []
            for share in (0.25, 0.5, 0.75):
                mixed, soft = blend_images(features, dense, torch.tensor(share))
                blended = (dense == 0) & (soft != 0)
                misses.append((torch.sigmoid(head.score(mixed)) - soft)[blended].abs().mean())
        off.append(float(torch.stack(misses).mean()))
    assert off[0] < 0.8 * off[1]
