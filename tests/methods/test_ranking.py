"""ranking is PR, LSEP, WARP or RankNet by its settings, and ranks hidden positives above negatives."""

import numpy as np
import pytest
import torch

from tests.oracles import losses as oracle
from tests.support.linear_problem import share_ranked_right
from tests.support.one_positive import linear_model, one_positive_problem, train
from trilabel import losses
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import Batch, check_method, create_method
from trilabel.models import Output

LABELS = Labels.from_signed([[1, 0, -1, 0], [0, 0, 0, 0], [0, 1, 0, -1], [1, 1, -1, -1]])
KNOWN = LABELS.rows(np.arange(4))
AN = torch.where(KNOWN > 0, 1, -1)


def step(settings, known=KNOWN):
    """(what a step returns, logits) of an example batch."""
    logits = 3 * torch.randn(known.shape, generator=torch.Generator().manual_seed(2))
    batch = Batch(logits, None, known, torch.arange(len(known)), 1)
    return create_method("ranking", settings, LABELS).step(lambda images: Output(images, images), batch), logits


@pytest.mark.parametrize(
    ("settings", "loss"),
    [
        # The loss ranks above unknown labels: what ranks below must be unknown to it, and what takes no part absent.
        ({}, lambda x: losses.pairwise_ranking(x, KNOWN.clamp(min=0))),
        ({"loss": "pairwise", "unknown": "ignore"}, lambda x: losses.pairwise_ranking(x, swapped(KNOWN))),
        ({"loss": "lsep"}, lambda x: losses.lsep(x, AN)),
        ({"loss": "lsep", "unknown": "ignore"}, lambda x: losses.lsep(x, KNOWN)),
        ({"loss": "warp"}, lambda x: losses.warp(x, AN)),
        ({"loss": "warp", "unknown": "ignore"}, lambda x: losses.warp(x, KNOWN)),
        ({"loss": "ranknet"}, lambda x: losses.ranknet(x, AN)),
        ({"loss": "ranknet", "unknown": "ignore"}, lambda x: losses.ranknet(x, KNOWN)),
    ],
)
def test_each_setting_is_the_loss_it_names(settings, loss):
    parts, logits = step(settings)
    assert set(parts) == {"loss", "logits"} and torch.equal(parts["loss"], loss(logits)) and parts["loss"] > 0


def swapped(known):
    """Absent for unknown and unknown for absent."""
    return torch.where(known > 0, 1, torch.where(known == 0, -1, 0))


@pytest.mark.parametrize("unknown", ["absent", "ignore"])
def test_the_pairs_one_by_one(unknown):
    for loss, cost in (("pairwise", oracle.sigmoid), ("lsep", None), ("warp", None), ("ranknet", None)):
        parts, logits = step({"loss": loss, "unknown": unknown})
        signs = (AN if unknown == "absent" else KNOWN).tolist()
        if cost is None:
            expected = getattr(oracle, loss)(logits.tolist(), signs)
        else:
            expected = 0.0
            for row, zs in zip(logits.tolist(), signs, strict=True):
                pairs = [
                    (x, y) for x, z in zip(row, zs, strict=True) for y, w in zip(row, zs, strict=True) if z > 0 > w
                ]
                expected += sum(max(0.0, 1 - cost(x) + cost(y)) for x, y in pairs) / 16
        assert parts["loss"].item() == pytest.approx(expected, rel=1e-5), loss


@pytest.mark.parametrize("loss", ["pairwise", "lsep", "warp", "ranknet"])
def test_an_image_without_pairs_costs_nothing(loss):
    for dense in ([[0, 0, 0, 0]], [[1, 1, 1, 1]], [[1, 0, 0, 0]]):
        parts, _ = step({"loss": loss, "unknown": "ignore"}, torch.tensor(dense, dtype=torch.int8))
        assert parts["loss"] == 0


def test_positives_only_cannot_be_ranked_above_known_negatives():
    only = Labels.from_signed([[1, 0], [0, 1]])
    with pytest.raises(TrilabelError, match=r"^ranking with unknown=ignore .*known to be absent.* Use unknown=absent$"):
        check_method("ranking", {"unknown": "ignore"}, only)
    check_method("ranking", {"unknown": "absent"}, only)
    for unknown in ("absent", "ignore"):
        for dense in ([[-1, 0]], [[0, 0]]):
            with pytest.raises(TrilabelError, match=r"^ranking.*no label here is known to be present"):
                check_method("ranking", {"unknown": unknown}, Labels.from_signed(dense))


@pytest.mark.parametrize("loss", ["pairwise", "lsep", "warp", "ranknet"])
def test_hidden_positives_rank_above_true_negatives(loss):
    features, truth, labels, _ = one_positive_problem()
    model = linear_model(features.shape[1], labels.shape[1])
    train(create_method("ranking", {"loss": loss}, labels), model, features, labels)
    scores = model(features).logits.detach().numpy().T  # it ranks the classes of an image
    hidden, absent = ((truth > 0) & (labels.to_signed() == 0)).T, (truth < 0).T
    both = hidden.any(0) & absent.any(0)
    assert both.sum() > 200
    assert share_ranked_right(scores[:, both], hidden[:, both], absent[:, both]) > 0.85
