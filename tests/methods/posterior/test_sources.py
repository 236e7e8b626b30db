"""Where rates come from: the first source that the labels allow, told in a line; what cannot be known is refused."""

import numpy as np
import pytest

from tests.support.logistic_problem import CLASSES, logistic_problem, observed, one_named
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import create_method
from trilabel.methods.posterior import PosteriorSettings
from trilabel.methods.posterior.sources import find_source

TRUTH = logistic_problem(1000)[1].astype(np.int8)
FULL = Labels.from_signed(logistic_problem(100, seed=7)[1].astype(np.int8))
TAGS = observed(TRUTH, 0.4, 0.0)
FEW_NEGATIVES = observed(TRUTH, 0.4, 0.01)
MANY_NEGATIVES = observed(TRUTH, 0.4, 0.2)
ONE = one_named(TRUTH)


def made(labels, settings=None, validation=None):
    return create_method("posterior", settings or {}, labels, 0, validation)


def refusal(labels, settings=None, validation=None):
    with pytest.raises(TrilabelError) as caught:
        made(labels, settings, validation)
    message = str(caught.value)
    assert message.startswith("posterior: ") and "\n" not in message and " Use " in message
    return message


@pytest.mark.parametrize(
    ("labels", "validation", "kind", "note"),
    [
        (TAGS, FULL, "rates", "rates by class shares of 100 fully labelled images: present labels are known 0."),
        (MANY_NEGATIVES, FULL, "rates", "rates by class shares"),
        (ONE, FULL, "rates", "rates by class shares"),
        (MANY_NEGATIVES, None, "fit", "fitted in a warm-up"),
        (MANY_NEGATIVES, FULL[:20], "fit", "fitted in a warm-up"),  # too few to be worth more
        (ONE, None, "one-of-k", "drawn at random from all that it has"),
        (FULL, None, "rates", "every label is known"),
    ],
)
def test_the_order(labels, validation, kind, note):
    method = made(labels, validation=validation)
    assert method.kind == kind and note in method.notes[0] and "\n" not in "".join(method.notes)


def test_what_cannot_be_identified_is_refused_with_what_would_help():
    for message in (refusal(TAGS), refusal(TAGS, validation=FULL[:20])):
        assert "cannot be learned from positives alone" in message
        assert "--method posterior --set rates=given positives_known=0.3" in message
        assert "100 fully labelled validation images" in message
    assert "from so few known negatives" in refusal(FEW_NEGATIVES)
    assert "needs fully labelled images, and there are none" in refusal(TAGS, {"rates": "shares"})
    assert "rates=fit needs known negatives" in refusal(TAGS, {"rates": "fit"})


def test_what_the_refusal_names_helps():
    method = made(TAGS, {"rates": "given", "positives_known": "0.3"})
    assert np.allclose(method.rates[0], 0.3) and "0.70 times what the model believes" in method.notes[0]
    assert np.abs(made(TAGS, validation=FULL).rates[0].numpy() - 0.4).mean() < 0.1


def test_a_sample_that_cannot_be_fair_is_not_used():
    """Full images with hardly any positives, and others where more are known than these would have."""
    empty = Labels.from_signed(np.where(np.arange(100)[:, None] == np.arange(CLASSES), 1, -1).astype(np.int8))
    assert "positives alone" in refusal(observed(TRUTH, 0.6, 0.0), validation=empty)
    assert "too few positives to be like the others" in refusal(TAGS, {"rates": "shares"}, empty)


def test_one_of_k_warns_where_labels_exclude_each_other():
    exclusive = Labels.from_signed(np.where(np.eye(8)[np.arange(60) % 8] > 0, 1, -1).astype(np.int8))
    positives = Labels.from_signed(np.maximum(exclusive.to_signed(), 0))
    method = made(positives, {"rates": "one-of-k"}, exclusive)
    assert "labels nearly exclude each other (1.00 positives per image)" in method.notes[1]
    assert len(made(ONE, {"rates": "one-of-k"}, FULL).notes) == 1
    assert "takes labels as independent" in made(ONE).notes[1]  # cannot be seen here
    at_random = observed(TRUTH, 0.4, 0.4)
    assert "known negatives are taken for what people were asked of" in made(at_random, {"rates": "one-of-k"}).notes[-1]
    # By shares such labels are learned as they should be: what is not named is absent.
    assert made(positives, {}, exclusive).rates[0].min() > 0.95


def test_tables(tmp_path):
    names, table = TAGS.classes, tmp_path / "table.csv"
    table.write_text("class,positives,negatives\n" + "".join(f"{name},0.5,0.25\n" for name in names), encoding="utf-8")
    for settings in ({}, {"rates": "given"}):
        assert made(TAGS, {"table": str(table), **settings}).rates.T.tolist() == [[0.5, 0.25]] * CLASSES
    with pytest.raises(TrilabelError, match="the columns must be class,share"):
        made(TAGS, {"table": str(table), "rates": "shares"})
    table.write_text("class,positives\n" + "".join(f"{name},0.5\n" for name in names), encoding="utf-8")
    assert made(TAGS, {"table": str(table)}).rates.T.tolist() == [[0.5, 0]] * CLASSES
    shares = (TRUTH > 0).mean(0)
    lines = (f"{name},{share}\n" for name, share in zip(names, shares, strict=True))
    table.write_text("class,share\n" + "".join(lines), encoding="utf-8")
    assert np.abs(made(TAGS, {"table": str(table)}).rates[0].numpy() - 0.4).mean() < 0.05
    table.write_text("class,positives,negatives\n" + "".join(f"{name},0.5,1\n" for name in names), encoding="utf-8")
    with pytest.raises(TrilabelError, match="are all known; give a share below 1"):
        made(TAGS, {"table": str(table)})


def test_positives_that_people_added_do_not_make_classes_more_frequent() -> None:
    """The more of an image's positives are named, the larger the share of all that is; it was once one of them."""
    one, two = Labels.from_signed([[1, 0, 0, 0]] * 4), Labels.from_signed([[1, 1, 0, -1]] * 4)
    settings = PosteriorSettings(rates="one-of-k")
    first, second = (find_source(settings, labels, None).rates.positives for labels in (one, two))
    np.testing.assert_allclose(first, 1 / 1.5)
    np.testing.assert_allclose(second, 1 / 1.5)
