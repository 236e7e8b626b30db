"""The embedding head: WSABIE with one layer, Fast0Tag with two and word vectors."""

import pytest
import torch

from tests.support.linear_problem import linear_problem
from tests.support.one_positive import train
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import create_method
from trilabel.models import FeatureClassifier, create_model
from trilabel.models.heads.embedding import EmbeddingHead, EmbeddingSettings
from trilabel.testing import check_head
from trilabel.testing.heads import FEATURES, drawn_labels


@pytest.fixture
def file(tmp_path):
    """Vectors (0, 1, −0.5), (1, 1, −0.5) … for the names that classes without names get."""
    path = tmp_path / "vectors.txt"
    names = drawn_labels(classes=6).classes
    path.write_text("".join(f"{name} {row} 1 -0.5\n" for row, name in enumerate(names)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("read", [False, True], ids=["learned", "read"])
def test_it_is_a_head(layers, read, file):
    check_head(EmbeddingHead, EmbeddingSettings(file if read else None, 3, layers))


def test_the_score_is_an_inner_product():
    head = EmbeddingHead(FEATURES, 4, EmbeddingSettings(size=5))
    features = torch.randn(3, FEATURES)
    logits, (linear,) = head(features), head.project
    for b in range(3):
        image = [sum(linear.weight[k, d] * features[b, d] for d in range(FEATURES)) + linear.bias[k] for k in range(5)]
        for c in range(4):
            torch.testing.assert_close(logits[b, c], sum(image[k] * head.vectors[c, k] for k in range(5)))


def test_two_layers_have_a_relu_between():
    head = EmbeddingHead(FEATURES, 4, EmbeddingSettings(size=5, layers=2))
    features = torch.randn(3, FEATURES)
    first, _, second = head.project
    hidden = (features @ first.weight.T + first.bias).clamp(min=0)
    torch.testing.assert_close(head(features), (hidden @ second.weight.T + second.bias) @ head.vectors.T)


@pytest.mark.parametrize("layers", [1, 2])
def test_maps_are_the_scores_of_the_cells(layers):
    head = EmbeddingHead(FEATURES, 4, EmbeddingSettings(size=5, layers=layers))
    feature_map = torch.randn(2, FEATURES, 3, 4)
    maps = head.maps(feature_map)
    assert maps.shape == (2, 4, 3, 4)
    for y in range(3):
        for x in range(4):
            torch.testing.assert_close(maps[:, :, y, x], head(feature_map[:, :, y, x]))
    mean_is_logit = torch.allclose(maps.mean((2, 3)), head(head.reduce_features(feature_map)), atol=1e-5)
    assert mean_is_logit == (layers == 1)


def test_vectors_from_a_file_are_those_of_the_names_and_stay(file, tmp_path):
    chosen, labels = EmbeddingSettings(file, 3), drawn_labels()
    head = EmbeddingHead(FEATURES, 4, chosen, labels)
    expected = torch.tensor([[row, 1, -0.5] for row in range(4)])
    assert torch.equal(head.vectors, expected) and "vectors" in dict(head.named_buffers())
    train(
        create_method("ranking", {"loss": "ranknet"}, labels),
        FeatureClassifier(head),
        torch.randn(30, FEATURES),
        labels,
        2,
    )
    assert torch.equal(head.vectors, expected)

    learned = EmbeddingHead(FEATURES, 4, EmbeddingSettings(None, 3), labels)
    assert "vectors" in dict(learned.named_parameters()) and learned.state_dict().keys() == head.state_dict().keys()
    gone = EmbeddingSettings(str(tmp_path / "gone.txt"), 3)
    EmbeddingHead(FEATURES, 4, gone).load_state_dict(head.state_dict())  # to load a run the file is not needed
    with pytest.raises(TrilabelError, match=r"gone\.txt"):
        EmbeddingHead(FEATURES, 4, gone, labels)


def test_settings_out_of_range_are_refused():
    for settings, message in (({"layers": 3}, "layers must be 1 or 2, not 3"), ({"size": 0}, "at least 1 number")):
        with pytest.raises(TrilabelError, match=message):
            create_model(Config(head="embedding", head_settings=settings), 4)


@pytest.mark.parametrize(
    ("method", "settings", "layers"),
    [("ranking", {"loss": "warp"}, 1), ("ranking", {"loss": "ranknet"}, 2), ("known-only", {}, 1)],
    ids=["WSABIE", "Fast0Tag", "BCE"],
)
def test_it_learns(method, settings, layers, tmp_path):
    features, truth = linear_problem()
    labels = Labels.from_signed(truth)
    file = tmp_path / "vectors.txt"
    lines = [f"{name} {' '.join(str(int(row == k)) for k in range(6))}\n" for row, name in enumerate(labels.classes)]
    file.write_text("".join(lines), encoding="utf-8")
    torch.manual_seed(0)
    model = FeatureClassifier(
        EmbeddingHead(16, 6, EmbeddingSettings(str(file) if layers == 2 else None, 6, layers), labels)
    )
    train(create_method(method, settings, labels), model, features, labels, 10)
    test_features, test_truth = linear_problem(seed=1)
    scores, present = model(test_features).logits.detach().numpy(), test_truth > 0
    if method == "known-only":
        assert ((scores > 0) == present).mean() > 0.95
    some = present.any(1) & ~present.all(1)
    right = [(row[p][:, None] > row[~p]).mean() for row, p in zip(scores[some], present[some], strict=True)]
    assert sum(right) / len(right) > 0.97
