"""HST: how thresholds learn."""

import pytest
import torch

from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import check_method, create_method
from trilabel.methods.semantic.heterogeneous import exceeding

LABELS = Labels.from_signed([[1, -1, 0], [0, 1, -1]])


def test_how_far_likeness_exceeds_the_threshold_has_a_gradient_at_both_ends():
    """Whatever torch.clamp does there, which changed with its version 2.14."""
    alike = torch.tensor([-0.75, -0.5, 0.0, 0.5, 0.75], requires_grad=True)
    score = exceeding(alike, torch.tensor(-0.5))
    assert score.tolist() == [0, 0, 0.5, 1, 1]
    score.sum().backward()
    assert alike.grad.tolist() == [0, 1, 1, 1, 0]


def test_thresholds_learn_at_a_rate_of_their_own():
    for settings, rate in (({}, 1e-3), ({"threshold_lr": 0.02}, 0.02)):
        method = create_method("heterogeneous-transfer", settings, LABELS, 8)
        for lr in (1e-5, 1e-2):
            (_, of_pairs), (thresholds, scale) = method.parameter_groups(lr)
            assert of_pairs == 1 and thresholds == [method.within, method.across]
            assert scale * lr == pytest.approx(rate)


@pytest.mark.parametrize("rate", [-5, 0])
def test_a_rate_that_is_no_number_above_0_is_refused(rate):
    with pytest.raises(TrilabelError, match="threshold_lr is a number above 0, not "):
        check_method("heterogeneous-transfer", {"threshold_lr": rate}, LABELS)
