"""Changing fields of a configuration by name, as spec files and searches do."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_type_hints

from trilabel.config import SETTINGS_OF, Config
from trilabel.errors import TrilabelError, unknown_name_error
from trilabel.settings import read_as

_FIELDS = [field.name for field in fields(Config)]
_TYPES = get_type_hints(Config)


def with_changes(config: Config, values: Mapping[str, Any], where: str) -> Config:
    """The configuration with fields replaced; "settings.NAME" replaces one setting of the method, and so on.

    Settings belong to their component: changing the method drops the settings of the old one, and so for the head.
    where: the start of every error message.
    """
    new: dict[str, Any] = {}
    for part, settings in SETTINGS_OF.items():
        if values.get(part, getattr(config, part)) != getattr(config, part):
            new[settings] = {}
    for name, value in values.items():
        field_name, dot, setting = name.partition(".")
        if field_name not in _FIELDS:
            raise TrilabelError(f"{where}: {unknown_name_error('setting of a run', field_name, _FIELDS)}")
        if field_name in SETTINGS_OF.values():
            given = {setting: value} if dot else value
            if not isinstance(given, Mapping):
                raise TrilabelError(f"{where}: {field_name} must be a table of names and values, not {value!r}")
            new[field_name] = {**new.get(field_name, getattr(config, field_name)), **given}
        elif dot:
            raise TrilabelError(f"{where}: {name}: only {', '.join(SETTINGS_OF.values())} take a name after a dot")
        else:
            new[field_name] = read_as(_TYPES[field_name], value, f"{where}: {field_name}")
    try:
        return replace(config, **new)
    except TrilabelError as error:
        raise TrilabelError(f"{where}: {error}") from None
