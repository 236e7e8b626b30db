"""What holds for every method in METHODS and each choice among its settings; a new method is tested by being listed.

What holds for methods of users, too, is in `trilabel.testing`.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.support.fixed_targets import with_targets
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS, check_method
from trilabel.models.heads.semantic import SemanticHead, SemanticSettings
from trilabel.testing import METHOD_CHECKS, MethodCase
from trilabel.testing.method_case import FEATURES, refused
from trilabel.testing.method_steps import POSITIVES_ONLY, SITUATIONS

NEEDED = {("posterior", "rates", "given"): {"positives_known": 0.5}}  # what else some choices cannot do without
SMALL = SemanticSettings(size=4, channels=8)  # the head is large by default

every = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(autouse=True)
def files(monkeypatch, tmp_path):
    """A place for the files that a method cannot do without."""
    monkeypatch.chdir(tmp_path)


def case_of(name):
    def complete(settings, labels):
        needed = [NEEDED.get((name, setting, value), {}) for setting, value in settings.items()]
        return with_targets(
            name, {key: value for one in (settings, *needed) for key, value in one.items()}, labels, Path()
        )

    def small(features, classes, labels):
        return SemanticHead(features, classes, SMALL, labels)

    return MethodCase(METHODS[name], complete, small if "semantic" in METHODS[name].heads else None)


@every
@pytest.mark.parametrize("check", METHOD_CHECKS, ids=lambda check: check.__name__)
def test_what_holds_for_every_method(name, check):
    check(case_of(name))


def test_no_two_describe_themselves_alike():
    descriptions = [method.description for method in METHODS.values()]
    assert len(set(descriptions)) == len(METHODS)


@every
def test_what_is_refused_is_refused_by_name_with_what_to_use_instead(name):
    labels = Labels.from_signed(np.array(SITUATIONS[POSITIVES_ONLY], np.int8))
    for settings in case_of(name).choices():
        message = refused(case_of(name), settings, labels)
        assert not message or (message.startswith(name) and " Use " in message)


@every
def test_labels_without_positives_are_refused_with_advice_that_works(name):
    for dense in ([[0, 0], [0, 0]], [[-1, 0], [0, -1]]):
        for settings in case_of(name).choices():
            with pytest.raises(TrilabelError) as caught:
                check_method(name, settings, Labels.from_signed(dense))
            message = str(caught.value)
            assert message.startswith(name) and message.endswith("; label some positives")  # nothing else would help


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("known-only", {"normalize": "all", "smoothing": 2}),
        ("known-only", {"normalize": "share", "at": 2}),
        ("assume-negative", {"weight": -1}),
        ("assume-negative", {"smoothing": 1.5}),
        ("focal", {"gamma": -1}),
        ("asymmetric", {"clip": 2}),
        ("hill", {"weight": 0.5}),
        ("splc", {"gamma": -1}),
        ("selective", {"gamma_neg": -1}),
        ("selective", {"clip": 2}),
        ("large-loss", {"start": float("nan")}),
    ],
)
def test_settings_out_of_range_are_refused_before_anything_is_trained(method, settings):
    with pytest.raises(TrilabelError, match=r"give|gamma|start|clip") as caught:
        check_method(method, settings, Labels.from_signed([[1, -1, 0]]))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [name for name in METHODS if "semantic" in METHODS[name].heads])
def test_methods_on_class_features_count_what_grows_with_classes(name):
    """Of 997 images: their tables, pairs of classes and examples of each."""
    labels = many_labels()
    for settings in case_of(name).choices():
        method = case_of(name).create(settings, labels, FEATURES)
        needed = METHODS[name].memory_needed(method.settings, labels, FEATURES)
        vectors = [weight for weight in method.parameters() if weight.ndim == 2 and len(weight) == 13 * 12 // 2]
        kept = sum(buffer.nbytes for buffer in method.buffers()) + 4 * sum(weight.nbytes for weight in vectors)
        made_from = 4 * FEATURES * labels.counts_per_class()[0].sum() if hasattr(method, "prototypes") else 0
        assert kept - 13 <= needed - made_from <= kept  # but which classes have prototypes


def test_imcl_counts_its_memory_of_as_many_as_there_are_images():
    labels = many_labels()
    method = case_of("imcl").create({"memory": 997}, labels, FEATURES)
    tables = [buffer for buffer in method.buffers() if buffer.ndim and len(buffer) == 997]
    needed = METHODS["imcl"].memory_needed(method.settings, labels, FEATURES)
    assert sum(table.numel() * table.element_size() for table in tables) == needed


def many_labels():
    return Labels.from_signed(np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (997, 13)))
