"""The method of `--method auto`, by label situation; where the best cannot be used, what would allow it."""

import numpy as np
import pytest

from tests.support.logistic_problem import CLASSES, logistic_problem, observed, one_named
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS, check_method, choose_method

TRUTH = logistic_problem(1000)[1].astype(np.int8)
FULL = Labels.from_signed(logistic_problem(100, seed=7)[1].astype(np.int8))
ALL = Labels.from_signed(TRUTH)
TAGS = observed(TRUTH, 0.4, 0.0)
AT_RANDOM = observed(TRUTH, 0.2, 0.2)
MANY_AT_RANDOM = observed(logistic_problem(6000)[1].astype(np.int8), 0.2, 0.2)
FEW_NEGATIVES = observed(TRUTH, 0.4, 0.01)
HALF_FULL = Labels.from_signed(np.where(np.arange(1000)[:, None] % 2, TRUTH, TAGS.to_signed()))
WAN = ("assume-negative", {"weight": None})


@pytest.mark.parametrize(
    ("labels", "validation", "chosen"),
    [
        (ALL, FULL, ("known-only", {})),  # nothing is unknown
        (TAGS, FULL, ("posterior", {})),  # rates by class shares
        (AT_RANDOM, FULL, ("posterior", {})),
        (FEW_NEGATIVES, FULL, ("posterior", {})),
        (one_named(TRUTH), FULL, ("posterior", {})),
        (HALF_FULL, None, ("posterior", {})),  # shares of the full half
        (MANY_AT_RANDOM, None, ("posterior", {})),  # fitted
        (MANY_AT_RANDOM, AT_RANDOM[:100], ("posterior", {})),
        (AT_RANDOM, None, ("known-only", {})),  # too few to fit
        (one_named(TRUTH), None, ("posterior", {})),  # one of k
        (FEW_NEGATIVES, None, ("known-only", {})),
        (TAGS, None, WAN),
        (TAGS, TAGS[:100], WAN),
        (TAGS, FULL[:20], WAN),
    ],
)
def test_each_situation(labels, validation, chosen):
    found = choose_method(labels, validation)
    assert found[:2] == chosen
    check_method(found.method, found.settings, labels, validation)  # it can be used
    wanted = labels.known_share < 1 and found.method != "posterior"
    assert ("not posterior: how often labels are known cannot be learned" in found.note) == wanted
    assert ("100 fully labelled validation images" in found.note) == wanted and "\n" not in found.note


def test_settings_of_the_user_say_more():
    assert choose_method(TAGS, None, {"positives_known": 0.3}) == ("posterior", {"positives_known": 0.3}, "")
    assert choose_method(TAGS, FULL, {"weight": 0.2})[:2] == ("assume-negative", {"weight": 0.2})
    assert choose_method(AT_RANDOM, FULL, {"normalize": "image"})[:2] == ("known-only", {"normalize": "image"})
    assert choose_method(TAGS, FULL, {"smoothing": 0.2})[:2] == ("posterior", {"smoothing": 0.2})
    assert choose_method(TAGS, None, {"smoothing": 0.2})[:2] == ("assume-negative", {"smoothing": 0.2})
    assert choose_method(AT_RANDOM, None, {"smoothing": 0.2})[:2] == ("known-only", {"smoothing": 0.2})
    assert choose_method(AT_RANDOM, None, {"rates": "fit"})[:2] == ("posterior", {"rates": "fit"})
    with pytest.raises(TrilabelError, match="needs fully labelled images, and there are none"):
        choose_method(TAGS, None, {"rates": "shares"})


def test_of_one_class_positives_alone_are_not_drawn_from_anything():
    """One of one would make it learn known positives alone, which teaches to call everything present."""
    one = Labels.from_signed(TAGS.to_signed()[:, :1])
    assert choose_method(one)[:2] == WAN
    with pytest.raises(TrilabelError, match="cannot be learned from positives alone"):
        check_method("posterior", {}, one)


def test_relabelling_learns_known_labels_alone():
    assert choose_method(AT_RANDOM, FULL, relabels=True) == ("known-only", {}, "")


def test_only_posterior_looks_at_validation_labels_before_a_run():
    """What it refuses without them it takes with them; the others are checked by training labels alone."""
    for labels, validation in ((TAGS, None), (TAGS, FULL)):
        for name in METHODS:
            refused = name == "posterior" and validation is None
            try:
                METHODS[name].check_sample(METHODS[name].Settings(), labels, validation)
            except TrilabelError as error:
                assert refused and "Use --method posterior --set rates=given" in str(error)
            else:
                assert not refused
    assert FULL.shape[1] == CLASSES
