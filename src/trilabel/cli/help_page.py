"""The text of `trilabel COMMAND --help`: the options that most people need; with `--help all` all, in groups."""

import re
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from inspect import getdoc
from typing import Any

from trilabel.cli.arguments import flag
from trilabel.cli.options import GROUPS, Option, options_of
from trilabel.config import Config
from trilabel.recipes import fine_tune, linear_then_fine_tune, small

_BY_PLAN = "by the plan"
_WIDEST = 110
_TEXT_AT = 24  # the column where explanations begin


def help_page(command: type[Any], name: str, base: Config, everything: bool = False) -> str:
    """What a command does, an example, and its options with the defaults of `base`."""
    options = options_of(command, base)
    words = [f"usage: trilabel {name} [OPTIONS]", *(option.metavar for option in options if option.positional)]
    shown = [option for option in options if everything or option.common or option.positional or option.required]
    if not everything and (order := getattr(command, "COMMON", None)):
        shown.sort(key=lambda option: order.index(option.name) if option.name in order else len(order))
    shown = [replace(option, default=_BY_PLAN) if option.name in _planned(base) else option for option in shown]
    parts = [" ".join(words), *_paragraphs(getdoc(command) or ""), *_sections(shown, everything)]
    if len(shown) < len(options):
        parts.append(f"All {len(options)} options, in groups: trilabel {name} --help all")
    return "\n\n".join(parts)


def _planned(base: Config) -> set[str]:
    """What the recipe `photos` chooses by what there is, in several ways."""
    plans = (small(), fine_tune(), linear_then_fine_tune()) if base.stages == "auto" else ()
    names = {f.name for f in fields(Config) if len({repr(getattr(plan, f.name)) for plan in plans}) > 1}
    return names - {name for name in names if getattr(base, name) in ("auto", True, False)}


def _paragraphs(text: str) -> Iterable[str]:
    """Wrapped, but for those with a command, which can be pasted from one line."""
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        yield line if ": trilabel " in line else textwrap.fill(line, _width())


def _sections(options: Sequence[Option], everything: bool) -> Iterable[str]:
    names = {option.name for option in options}
    positional = [option for option in options if option.positional]
    if positional:
        yield "\n".join(_entry(option.metavar, _text(option, names)) for option in positional)
    flags = [option for option in options if not option.positional]
    for group in GROUPS if everything else ("",):
        inside = [option for option in flags if not everything or option.group == group]
        lines = [_entry(_invocation(option), _text(option, names)) for option in inside]
        if not group:
            lines.append(_entry("-h, --help [all]", "Show this help; all: with every option."))
        if lines:
            yield "\n".join([f"{group or 'options'}:", *lines])


def _entry(invocation: str, text: str) -> str:
    """An option and what it does, beside it or, if it is long, below."""
    indent, first = " " * _TEXT_AT, f"  {invocation}"
    wrapped = textwrap.fill(
        text, _width(), initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
    return f"{first:<{_TEXT_AT}}{wrapped[_TEXT_AT:]}" if len(first) < _TEXT_AT - 1 else f"{first}\n{wrapped}"


def _invocation(option: Option) -> str:
    if option.kind is not bool:
        return f"{flag(option.name)} {option.metavar}"
    both = option.default or option.group in ("data", "model", "training")  # recipes turn these on and off
    return f"--[no-]{flag(option.name)[2:]}" if both else flag(option.name)


def _text(option: Option, names: Iterable[str]) -> str:
    """The explanation and the default, unless that is nothing; other options in backticks are written as flags."""
    text = re.sub(r"`(\w+)`", lambda found: flag(found[1]) if found[1] in names else found[0], option.what())
    if option.required:
        return f"{text} (required)"
    if option.kind is bool:
        return f"{text} (default: yes)" if option.default else text
    if option.default in (None, "", ()):
        return text
    default = " ".join(map(str, option.default)) if option.several else option.default
    return f"{text} (default: {default:g})" if isinstance(default, float) else f"{text} (default: {default})"


def _width() -> int:
    return max(50, min(_WIDEST, shutil.get_terminal_size((100, 24)).columns))
