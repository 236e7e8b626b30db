"""Arguments that a command cannot take, answered in one line, before the parser sees them."""

import re
import shlex
from ast import literal_eval
from collections.abc import Container, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, Literal, get_args, get_origin

from trilabel.cli.arguments import UsageError, flag
from trilabel.cli.options import Option
from trilabel.errors import TrilabelError
from trilabel.settings import read_as

_ARGUMENT = r"(?<![\w.'-])(?<!--read )(?<!--set )"  # not what was typed
_TEXT = r"'(?:[^'\\]|\\.)*'"
_LIST = rf"\[{_TEXT}(?:, {_TEXT})*\]"
_LISTS = rf"{_ARGUMENT}[a-z_]+={_LIST}"
_GIVEN = rf"{_ARGUMENT}([a-z_]+)=({_TEXT}|{_LIST}|[A-Z]{{4,}}\b)"
_NUMBER = re.compile(r"-\.?\d")


def checked(arguments: Sequence[str], options: Sequence[Option]) -> list[str]:
    """The arguments as the parser reads them; raises an error that names the option if one cannot be right.

    An option for several values may be given several times: the parser would forget all but the last.
    """
    by_flag = {flag(option.name): option for option in options if not option.positional}
    switches = {f"--no-{name[2:]}": option for name, option in by_flag.items() if option.kind is bool}
    rest, found, given, words = list(arguments), list[str](), set[str](), list[str]()
    lists: dict[str, list[str]] = {}
    while rest:
        argument = rest.pop(0)
        if not _is_option(argument):
            words.append(argument)
            found.append(argument)
            continue
        name, equals, value = argument.partition("=")
        name = name.replace("_", "-")
        if name in switches or (name in by_flag and by_flag[name].kind is bool):
            if equals:
                raise UsageError(f"{name} takes no value; write {name} or --no-{name.removeprefix('--no-')[2:]}")
            found.append(name)
            continue
        if name not in by_flag:
            raise UsageError(_no_option(name, [*by_flag, *switches]))
        option = by_flag[name]
        given.add(option.name)
        values = [value] if equals else _take(rest, option)
        values = [_checked_value(option, one) for one in values]
        if option.several:
            lists.setdefault(name, [name]).extend(values)
        else:
            found += [name, *values]
    _check_words(words, options)
    for option in options:
        if option.required and not option.positional and option.name not in given:
            raise UsageError(f"{option.label} {option.metavar} is missing")
    return [*found, *(word for values in lists.values() for word in values)]


def in_flags(message: str, options: Iterable[Option], of_formats: Container[str] = ()) -> str:
    """A message of the library with the arguments of Python in it written as options.

    of_formats: names of options of formats, which are given by --read.

    >>> option = Option("image_size", int, 1, str, "N")
    >>> in_flags("image_size must be more than 0", [option])
    '--image-size must be more than 0'
    """
    names = {option.name for option in options if not option.positional}

    def given(found: re.Match[str]) -> str:
        """An argument with its value."""
        name, value = found[1], found[2]
        if name not in names and name not in of_formats:
            return found[0]
        try:
            values = literal_eval(value) if value[0] in "['" else value
        except (SyntaxError, ValueError):  # words of a user's file that only look like an argument
            return found[0]
        if name not in names:
            return f"--read {shlex.quote(f'{name}={values}')}"
        return " ".join([flag(name), *map(shlex.quote, [values] if isinstance(values, str) else map(str, values))])

    def given_together(found: re.Match[str]) -> str:
        return re.sub(rf"{_GIVEN}(?:, )?", lambda one: f"{given(one)} ", found[0]).rstrip()

    def word(found: re.Match[str]) -> str:
        is_name = found[1] in names and ("_" in found[1] or found.start() == 0)
        return flag(found[1]) if is_name else found[0]

    message = re.sub(rf"{_LISTS}(?:, {_LISTS})+", given_together, message)
    message = re.sub(_GIVEN, given, message)
    return re.sub(r"(?<![\w./\\'\"`=-])([a-z]+(?:_[a-z]+)*)(?= (?:must|needs|starts)\b)", word, message)


def _is_option(argument: str) -> bool:
    return argument.startswith("-") and len(argument) > 1 and not _NUMBER.match(argument)


def _no_option(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, 1, 0.7) or [one for one in names if one.startswith(name)]
    return f"no option {name}" + (f"; did you mean {near[0]}?" if near else "")


def _take(rest: list[str], option: Option) -> list[str]:
    """Takes the values of an option from what follows it."""
    values: list[str] = []
    while rest and not _is_option(rest[0]) and (option.several or not values):
        values.append(rest.pop(0))
    if not values and not option.several:
        raise UsageError(f"{option.label} needs a value: {option.label} {option.metavar}")
    return values


def _checked_value(option: Option, text: str) -> str:
    """The text of a value, as the parser reads it."""
    if option.optional and text.lower() == "none":
        return "None"
    kind: Any = get_args(option.kind)[0] if option.several else option.kind
    if kind in (int, float) or get_origin(kind) is Literal:
        try:
            read_as(kind, text, option.label)
        except TrilabelError as error:
            raise UsageError(str(error)) from None
    return text


def _check_words(words: Sequence[str], options: Sequence[Option]) -> None:
    """Whether there are as many words without an option as the command takes."""
    taken = [option for option in options if option.positional]
    needed = [option.label for option in taken if option.required and not option.several]
    if len(words) < len(needed):
        raise UsageError(f"{needed[len(words)]} is missing")
    if len(words) > len(taken) and not any(option.several for option in taken):
        raise UsageError(f"{words[len(taken)]!r} is one argument too many")
