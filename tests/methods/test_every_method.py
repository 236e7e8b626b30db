"""What holds for every method in METHODS and each choice among its settings; a new method is tested by being listed."""

from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
import torch

from tests.support.fixed_targets import with_targets
from tests.support.threads import as_processes
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods import METHODS, Batch, check_method, create_method
from trilabel.models import HEADS, FeatureClassifier
from trilabel.models.heads.semantic import SemanticSettings
from trilabel.settings import settings_of

FEATURES = 5
NEEDED = {("posterior", "rates", "given"): {"positives_known": 0.5}}  # what else some choices cannot do without
SMALL = {"semantic": SemanticSettings(size=4, channels=8)}  # of heads that are large by default
MIXED = [[1, 0, -1, 0], [0, 1, 0, 1], [-1, 0, 1, 0]]
SITUATIONS = {
    "positives only": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]],
    "mixed": MIXED,
    "all known": [[1, -1], [-1, 1]],
    "rows of all unknown": [[0, 0, 0, 0], *MIXED, [0, 0, 0, 0]],
    "one class": [[1], [0], [-1]],
    "one image": [[1, 0, -1, 0]],
}


def choices_of(name):
    """The settings of a method by default, and with each value of each setting that has a list of them."""
    kind = METHODS[name].Settings
    yield {}
    for setting, hint in get_type_hints(kind).items():
        if get_origin(hint) is Literal:
            others = (value for value in get_args(hint) if value != getattr(kind(), setting))
            yield from ({setting: value, **NEEDED.get((name, setting, value), {})} for value in others)


@contextmanager
def case(*what):
    """Names the case in the report of what fails inside."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {what}")
        raise


every = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(autouse=True)
def files(monkeypatch, tmp_path):
    """A place for the files that a method cannot do without."""
    monkeypatch.chdir(tmp_path)


def batch_of(name, labels, epoch=1, warm_up=False, rows=None):
    rows = torch.arange(len(labels)) if rows is None else torch.tensor(rows)
    shape = (4, 4) if "semantic" in METHODS[name].heads else () if METHODS[name].heads else (2, 2)
    images = torch.randn(len(rows), FEATURES, *shape, generator=torch.Generator().manual_seed(0))
    return Batch(images, None, labels.rows(rows.numpy()), rows, epoch, 1e-3, warm_up)


def method_for(name, settings, labels):
    """The method, or None where it refuses the labels and says in one line what to use instead."""
    torch.manual_seed(0)
    try:
        features = model_for(name, labels).head.class_size or FEATURES
        settings = with_targets(name, settings, labels, Path.cwd())
        return create_method(name, settings, labels, features, validation_of(labels))
    except TrilabelError as error:
        assert "\n" not in str(error) and " Use " in str(error) and str(error).startswith(name)
        return None


def validation_of(labels):
    """Full labels of forty images, in which every class is present and absent."""
    present = np.random.default_rng(0).random((40, labels.shape[1])) < 0.5
    return Labels.from_signed(np.where(present, 1, -1).astype(np.int8))


def model_for(name, labels):
    """A model with a head that the method works with."""
    torch.manual_seed(0)
    head, *_ = METHODS[name].heads or ("saliency",)  # a method for any head may use class maps
    return FeatureClassifier(HEADS[head](FEATURES, labels.shape[1], SMALL.get(head), labels))


def moments(method):
    """Every kind of step that the loop makes."""
    yield from ({"epoch": epoch} for epoch in (1, 2, 6))
    if method.warm_up_epochs:
        yield {"warm_up": True}


def start(method, moment):
    if moment.get("epoch") == 1:
        method.start_epoch(1)


@torch.no_grad()
def survey(method, name, model, labels, moment):
    """The pass over all images before an epoch, if the method asks for it, as the loop makes it."""
    if not moment.get("warm_up") and method.surveys(moment["epoch"]):
        method.survey(model.eval(), [batch_of(name, labels, **moment)], lambda value, how: value)
        model.train()


@every
def test_it_describes_itself(name):
    method = METHODS[name]
    for text in (method.description, method.suits, method.cost):
        assert text and "\n" not in text and not text.endswith(".") and len(text) < 120
    assert method.views in (1, 2) and method.__doc__
    assert [each.description for each in METHODS.values()].count(method.description) == 1
    assert all(head in HEADS for head in method.heads)


@every
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_step_gives_a_finite_loss_and_finite_gradients(name, situation):
    labels = Labels.from_signed(np.array(SITUATIONS[situation], np.int8))
    for settings in choices_of(name):
        for half in (False, True):
            with case(settings, "bf16" if half else "float32"):
                method = method_for(name, settings, labels)
                if method is None:
                    assert situation == "positives only"
                    continue
                check_steps(method, name, labels, half, all_used=situation == "mixed")


def check_steps(method, name, labels, half, all_used):
    """Every kind of step: types, shapes and finite values; with `all_used` every parameter gets a gradient."""
    model = model_for(name, labels)
    for moment in moments(method):
        start(method, moment)
        model.zero_grad()
        method.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            survey(method, name, model, labels, moment)
            parts = method.step(model, batch_of(name, labels, **moment))
        assert parts["loss"].shape == () and parts["loss"].dtype == torch.float32 and torch.isfinite(parts["loss"])
        assert parts["logits"].shape == labels.shape and not parts["logits"].requires_grad
        assert parts["logits"].dtype in ((torch.bfloat16, torch.float32) if half else (torch.float32,))
        if "targets" in parts:
            assert parts["targets"].shape == labels.shape and parts["targets"].abs().max() <= 1
        if "soft_targets" in parts:
            soft = parts["soft_targets"]
            assert soft.shape == labels.shape and ((soft >= 0) & (soft <= 1)).all() and not soft.requires_grad
        assert all(part.ndim == 0 for key, part in parts.items() if key not in ("logits", "targets", "soft_targets"))
        parts["loss"].backward()
        gradients = [parameter.grad for parameter in (*model.parameters(), *method.parameters())]
        assert all(torch.isfinite(gradient).all() for gradient in gradients if gradient is not None)
        if all_used:
            assert all(gradient is not None for gradient in gradients) and gradients[0].abs().max() > 0
    assert all(torch.isfinite(value).all() for value in method.state_dict().values() if value.is_floating_point())


@every
def test_a_batch_of_all_unknown_does_no_harm(name):
    labels = Labels.from_signed(np.array([*MIXED, [0] * 4, [0] * 4], np.int8))
    for settings in choices_of(name):
        with case(settings):
            method, model = method_for(name, settings, labels), model_for(name, labels)
            for moment in moments(method):
                parts = method.step(model, batch_of(name, labels, rows=[4, 3], **moment))
                assert torch.isfinite(parts["loss"])
                model.zero_grad()
                if parts["loss"].requires_grad:
                    parts["loss"].backward()
                assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@every
def test_a_step_leaves_its_batch_and_the_labels_as_they_are(name):
    labels = Labels.from_signed(np.array(MIXED, np.int8))
    for settings in choices_of(name):
        with case(settings):
            method, model = method_for(name, settings, labels), model_for(name, labels)
            for moment in moments(method):
                batch = batch_of(name, labels, **moment)
                before = [None if part is None else part.clone() for part in batch[:4]]
                method.step(model, batch)
                assert all(two is None or torch.equal(one, two) for one, two in zip(batch[:4], before, strict=True))
                assert np.array_equal(labels.to_signed(), MIXED)


@every
def test_known_labels_are_scored_as_what_they_are(name):
    labels = Labels.from_signed(np.array(MIXED, np.int8))
    for settings in choices_of(name):
        with case(settings):
            method, model = method_for(name, settings, labels), model_for(name, labels)
            for moment in moments(method):
                batch = batch_of(name, labels, **moment)
                targets = method.step(model, batch).get("targets")
                if targets is not None:
                    assert torch.equal(targets[batch.labels != 0], batch.labels[batch.labels != 0])
            weak = method.weak_labels()
            assert weak is None or not weak.toarray()[np.array(MIXED) != 0].any()


@every
def test_no_value_is_read(name):
    """On the meta device there are no values: code that reads one, and so would wait for a real device, fails."""
    labels = Labels.from_signed(np.array(MIXED, np.int8))
    for settings in choices_of(name):
        with case(settings):
            method, model = method_for(name, settings, labels).to("meta"), model_for(name, labels).to("meta")
            for moment in moments(method):
                start(method, moment)
                batch = batch_of(name, labels, **moment)
                on_meta = {part: getattr(batch, part).to("meta") for part in ("images", "labels", "rows")}
                parts = method.step(model, batch._replace(**on_meta))
                parts["loss"].backward()
                assert all(part.device.type == "meta" for part in parts.values())


@every
def test_it_continues_from_what_was_saved(name):
    labels = Labels.from_signed(np.array(MIXED, np.int8))
    for settings in choices_of(name):
        with case(settings):
            methods, model = [method_for(name, settings, labels) for _ in range(2)], model_for(name, labels)
            for epoch in (1, 2, 3):
                start(methods[0], {"epoch": epoch})
                methods[0].step(model, batch_of(name, labels, epoch))
            methods[1].load_state_dict(methods[0].state_dict())
            for epoch in (3, 4):
                one, two = (method.step(model, batch_of(name, labels, epoch)) for method in methods)
                assert torch.equal(one["loss"], two["loss"])
            assert_same_state(*methods)


@every
def test_synced_processes_have_the_same_state(name):
    labels = Labels.from_signed(np.array([*MIXED, *MIXED], np.int8))
    for settings in choices_of(name):
        with case(settings):
            methods, model = [method_for(name, settings, labels) for _ in range(2)], model_for(name, labels)
            for epoch in (1, 2):
                for rank, method in enumerate(methods):
                    method.step(model, batch_of(name, labels, epoch, rows=[rank, 2 + rank, 4 + rank]))
            as_processes(2, lambda rank, all_reduce, methods=methods: methods[rank].sync(all_reduce))
            assert_same_state(*methods)


def assert_same_state(method, other):
    one, two = method.state_dict(), other.state_dict()
    assert one.keys() == two.keys()
    for key in one:
        assert torch.equal(one[key], two[key]), key


@every
def test_labels_without_positives_are_refused_with_advice_that_works(name):
    for dense in ([[0, 0], [0, 0]], [[-1, 0], [0, -1]]):
        for settings in choices_of(name):
            with case(settings, dense):
                with pytest.raises(TrilabelError) as caught:
                    check_method(name, settings, Labels.from_signed(dense))
                message = str(caught.value)
                assert "\n" not in message and message.startswith(name) and len(message) < 200
                assert message.endswith("; label some positives")  # no other method or setting would help


@every
def test_settings_may_be_text(name):
    kind = METHODS[name].Settings
    default, hints = kind(), get_type_hints(kind)
    texts = {field.name: str(getattr(default, field.name)).lower() for field in fields(kind)}
    assert settings_of(kind, texts, name) == default
    for setting, hint in hints.items():
        if str in (get_args(hint) or (hint,)) and get_origin(hint) is not Literal:  # a file, perhaps
            assert getattr(settings_of(kind, {setting: "x.csv"}, name), setting) == "x.csv"
            continue
        for value in get_args(hint) if get_origin(hint) is Literal else (True, False) if hint is bool else (1,):
            read = getattr(settings_of(kind, {setting: str(value)}, name), setting)
            assert read == value and (isinstance(read, str | int) or hint in (float, float | None))
        with pytest.raises(TrilabelError, match=f"{setting!r} of method {name!r} must be "):
            settings_of(kind, {setting: "rubbish"}, name)


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


@every
def test_the_memory_that_a_method_says_it_needs_is_what_its_tables_take(name):
    """Of 997 images; what does not grow with them is not counted, except IMCL's memory of as many.

    Methods on class features count what grows with classes, pairs of these and examples of each: at least their tables.
    """
    labels = Labels.from_signed(np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (997, 13)))
    for settings in [*choices_of(name), *([{"memory": 997}] if name == "imcl" else [])]:
        with case(name, settings):
            settings = with_targets(name, settings, labels, Path.cwd())
            method = create_method(name, settings, labels, FEATURES, validation_of(labels))
            tables = [buffer for buffer in method.buffers() if buffer.ndim and len(buffer) == 997]
            needed = METHODS[name].memory_needed(method.settings, labels, FEATURES)
            if "semantic" in method.heads:
                vectors = [weight for weight in method.parameters() if weight.ndim == 2 and len(weight) == 13 * 12 // 2]
                kept = sum(buffer.nbytes for buffer in method.buffers()) + 4 * sum(weight.nbytes for weight in vectors)
                made_from = 4 * FEATURES * labels.counts_per_class()[0].sum() if hasattr(method, "prototypes") else 0
                assert kept - 13 <= needed - made_from <= kept  # but which classes have prototypes
                continue
            assert sum(table.numel() * table.element_size() for table in tables) == needed
