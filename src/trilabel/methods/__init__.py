"""The methods, by the names that users give. Adding one: a file here, a line in METHODS, a row in docs, a test."""

from collections.abc import Mapping
from typing import Any

from trilabel.config import settings_of
from trilabel.errors import TrilabelError
from trilabel.labels import Labels
from trilabel.methods.assume_negative import AssumeNegative
from trilabel.methods.base import Batch, Method
from trilabel.methods.known_only import KnownOnly

__all__ = ["METHODS", "Batch", "Method", "check_method", "choose_method", "create_method"]

METHODS: dict[str, type[Method]] = {
    "known-only": KnownOnly,
    "assume-negative": AssumeNegative,
}


def create_method(name: str, settings: Mapping[str, Any], labels: Labels) -> Method:
    """The method `name` for training images with these labels; refuses labels that it cannot learn from."""
    chosen = check_method(name, settings, labels)
    return METHODS[name](chosen, labels)


def check_method(name: str, settings: Mapping[str, Any], labels: Labels) -> Any:
    """Reads a method's settings and makes sure that it can learn from these labels; gives the settings."""
    if name not in METHODS:
        raise TrilabelError(f"no method named {name!r}; there are: {', '.join(METHODS)}")
    chosen = settings_of(METHODS[name].Settings, settings, name)
    METHODS[name].check(chosen, labels)
    return chosen


def choose_method(labels: Labels) -> str:
    """The method for someone who named none: by whether any label is known to be absent."""
    return "known-only" if labels.counts_per_class()[1].any() else "assume-negative"
