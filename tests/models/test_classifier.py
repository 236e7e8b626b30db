"""A classifier and its head alone give the same, whatever the head."""

import pytest
import torch

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.models import HEADS, FeatureClassifier, create_model
from trilabel.models.heads.gap import GapHead

WITHOUT_MAPS = ("label-rnn",)


def images(size=32, count=2):
    return torch.randn(count, 3, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("head", HEADS)
def test_a_head_gives_the_same_logits_from_images_and_from_features(head):
    model = create_model(Config(head=head), 5).eval()
    batch = images()
    with torch.no_grad():
        full = model(batch, maps=head not in WITHOUT_MAPS)
        alone = FeatureClassifier(model.head)(model.reduce_features(batch))
        assert torch.equal(model(batch).logits, full.logits) and model(batch).maps is None
    assert torch.equal(alone.logits, full.logits) and torch.equal(alone.features, full.features)
    assert full.logits.shape == (2, 5) and full.features.shape == (2, 128) and alone.maps is None
    assert full.maps is None if head in WITHOUT_MAPS else full.maps.shape == (2, 5, 4, 4)


def test_evaluation_is_in_float32_whatever_the_precision():
    model, batch = create_model(Config(), 5), images()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert model.train()(batch).logits.dtype == torch.bfloat16
        output = model.eval()(batch, maps=True)
        assert {part.dtype for part in output} == {torch.float32}
        alone = FeatureClassifier(model.head).eval()(model.reduce_features(batch))
        assert torch.float32 == alone.logits.dtype == alone.features.dtype


@pytest.mark.parametrize("head", WITHOUT_MAPS)
def test_a_head_without_maps_says_so(head):
    with pytest.raises(TrilabelError, match=f"head {head} has no class maps: .*; use another head"):
        create_model(Config(head=head), 5)(images(), maps=True)


def test_pooled_features_have_no_maps():
    with pytest.raises(TrilabelError, match="fine-tune"):
        FeatureClassifier(GapHead(4, 2))(torch.zeros(1, 4), maps=True)
