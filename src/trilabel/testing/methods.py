"""What holds for every method, with each choice among its settings."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import torch

from trilabel.labels import Labels
from trilabel.methods.base import Method
from trilabel.models import HEADS, Head
from trilabel.plugin_files import reference
from trilabel.settings import settings_of
from trilabel.testing import method_steps
from trilabel.testing.expecting import case, expect, refusal
from trilabel.testing.method_case import FEATURES, MethodCase, Settings, each_choice, start
from trilabel.testing.threads import as_processes

_LONGEST = 120  # letters of a description
_LONGEST_MESSAGE = 200
_MANY = 997  # images; nothing but what is by image is as large


def check_method(
    method: type[Method[Any]],
    complete: Callable[[Settings, Labels], Settings] = lambda settings, labels: settings,
    head: Callable[[int, int, Labels], Head[Any]] | None = None,
) -> None:
    """Raises an AssertionError if a method breaks its contract: steps on any labels, saving, several processes, ….

    complete: (settings, labels) -> settings, with what the method cannot do without, such as a file that it reads.
    head: (features, classes, labels) -> the head to test it with; None: the first that it names, or any.

    >>> from trilabel.methods.known_only import KnownOnly
    >>> check_method(KnownOnly)
    """
    for check in METHOD_CHECKS:
        with case(check.__name__):
            check(MethodCase(method, complete, head))


def describes_itself(subject: MethodCase) -> None:
    """One line each on what it does, on labels and on cost; settings that all have defaults; heads that exist."""
    method = subject.method
    for name in ("description", "suits", "cost"):
        text = getattr(method, name, "")
        expect(text, f"{name} must say something")
        short = "\n" not in text and not text.endswith(".") and len(text) < _LONGEST
        expect(short, f"{name} must be one line of less than {_LONGEST} letters without a full stop")
    expect(method.__doc__, "the class needs a docstring")
    expect(method.views in (1, 2), f"views must be 1 or 2, not {method.views!r}")
    expect(method.Settings() == method.Settings(), "Settings must be a dataclass whose fields all have defaults")
    for name in method.heads:
        expect(name in HEADS or reference(name), f"heads names {name!r}, and there is no such head")


@each_choice
def continues_from_what_was_saved(subject: MethodCase, chosen: Settings) -> None:
    """A method that gets the state of another goes on as that one does."""
    labels = Labels.from_signed(np.array(method_steps.MIXED, np.int8))
    methods, model = [subject.create(chosen, labels) for _ in range(2)], subject.model(labels)
    for epoch in (1, 2, 3):
        start(methods[0], {"epoch": epoch})
        methods[0].step(model, subject.batch(model, labels, epoch))
    methods[1].load_state_dict(methods[0].state_dict())
    for epoch in (3, 4):
        one, two = (method.step(model, subject.batch(model, labels, epoch)) for method in methods)
        expect(torch.equal(one["loss"], two["loss"]), "after loading its state, it goes on differently")
    _expect_same_state(*methods)


@each_choice
def is_the_same_in_all_processes(subject: MethodCase, chosen: Settings) -> None:
    """After `sync`, what the processes remember is equal."""
    labels = Labels.from_signed(np.array([*method_steps.MIXED, *method_steps.MIXED], np.int8))
    methods, model = [subject.create(chosen, labels) for _ in range(2)], subject.model(labels)
    for epoch in (1, 2):
        for rank, method in enumerate(methods):
            method.step(model, subject.batch(model, labels, epoch, rows=[rank, 2 + rank, 4 + rank]))
    as_processes(2, lambda rank, all_reduce: methods[rank].sync(all_reduce))
    _expect_same_state(*methods)


@each_choice
def refuses_labels_without_positives(subject: MethodCase, chosen: Settings) -> None:
    """Nothing can be learned from such labels, and a run should say so before it begins."""
    unrefused = "check must refuse labels without positives, e.g. with methods.checks.require_positives"
    for labels in (Labels.from_signed([[0, 0], [0, 0]]), Labels.from_signed([[-1, 0], [0, -1]])):
        message = refusal(lambda labels=labels: subject.check(chosen, labels), unrefused)  # type: ignore[misc]
        expect(len(message) < _LONGEST_MESSAGE, f"a message must be short, not {message!r}")


def reads_its_settings_from_text(subject: MethodCase) -> None:
    """As the command line gives them; what is none of the values is refused."""
    kind = subject.method.Settings
    default, hints = kind(), get_type_hints(kind)
    texts = {field.name: str(getattr(default, field.name)).lower() for field in fields(kind)}
    expect(settings_of(kind, texts, "it") == default, "its default settings, written as text, are read differently")
    for setting, hint in hints.items():
        with case(setting):
            _check_setting(kind, setting, hint)


def _check_setting(kind: type[Any], setting: str, hint: Any) -> None:
    if get_origin(hint) is Literal:
        values: tuple[Any, ...] = get_args(hint)
    elif str in (get_args(hint) or (hint,)):  # a file, perhaps
        values = ("x.csv",)
    else:
        values = (True, False) if hint is bool else (1,)
    if values != ("x.csv",):
        message = refusal(lambda: settings_of(kind, {setting: "rubbish"}, "it"), "it takes any text; declare its type")
        expect(f"{setting!r} of method 'it' must be " in message, f"an unexpected message: {message}")
    for value in values:
        read = getattr(settings_of(kind, {setting: str(value)}, "it"), setting)
        expect(read == value, f"{value} is read as {read!r}")


@each_choice
def says_how_much_it_remembers(subject: MethodCase, chosen: Settings) -> None:
    """`memory_needed` counts the tables by image, so that a run that cannot fit is refused.

    Methods for certain heads may count more: what grows with classes.
    """
    labels = Labels.from_signed(np.random.default_rng(0).choice(np.array([-1, 0, 1], np.int8), (_MANY, 13)))
    method = subject.create(chosen, labels, FEATURES)
    tables = [buffer for buffer in method.buffers() if buffer.ndim and len(buffer) >= _MANY]
    kept = sum(table.numel() * table.element_size() for table in tables)
    needed = subject.method.memory_needed(method.settings, labels, FEATURES)
    right = kept <= needed if subject.method.heads else kept == needed
    expect(right, f"memory_needed says {needed} bytes, and its tables by image take {kept}")


METHOD_CHECKS: tuple[Callable[[MethodCase], None], ...] = (
    describes_itself,
    method_steps.steps_on_any_labels,
    method_steps.survives_unknown_batches,
    method_steps.leaves_its_input_alone,
    method_steps.waits_for_no_device,
    continues_from_what_was_saved,
    is_the_same_in_all_processes,
    refuses_labels_without_positives,
    reads_its_settings_from_text,
    says_how_much_it_remembers,
)


def _expect_same_state(method: Method[Any], other: Method[Any]) -> None:
    one, two = method.state_dict(), other.state_dict()
    expect(one.keys() == two.keys(), "what it remembers has other names")
    for key in one:
        expect(torch.equal(one[key], two[key]), f"{key} differs")
