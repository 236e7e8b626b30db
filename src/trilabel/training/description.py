"""What a run is: its config.json, and the versions.json beside it."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from trilabel.config import LARGEST_IMAGE, Config
from trilabel.data.formats import FORMATS
from trilabel.errors import TrilabelError, one_line, system_error
from trilabel.files import write_text
from trilabel.input_files import check_regular
from trilabel.log import log
from trilabel.methods import METHODS
from trilabel.models import HEADS
from trilabel.plugin_files import reference
from trilabel.plugins import Origin, Registry
from trilabel.settings import filled
from trilabel.version import __version__

_BENEATH = ("torch", "torchvision", "timm", "lightning-fabric", "numpy", "scipy", "pillow")
_REGISTRIES: dict[str, Registry[Any]] = {"method": METHODS, "head": HEADS, "format": FORMATS}
_LARGEST_FILE = 50_000_000  # bytes; a million classes take half of it


@dataclass(frozen=True)
class RunDescription:
    """The description of a run, as in config.json."""

    config: Config
    classes: list[str]
    image_size: int
    source: Mapping[str, Any]  # how to read the data set again; empty if it was not given
    plugins: Mapping[str, Origin] = field(default_factory=dict)  # where method, head and format came from, if not ours

    @property
    def components(self) -> dict[str, str]:
        """The names of method, head and format ("" if the format was detected)."""
        return {"method": self.config.method, "head": self.config.head, "format": str(self.source.get("format") or "")}

    def origins(self) -> dict[str, Origin]:
        """Where this process has the components from that are not ours."""
        found = {component: _REGISTRIES[component].origin(name) for component, name in self.components.items()}
        return {component: origin for component, origin in found.items() if origin is not None}

    def require(self, components: Sequence[str], where: Path, unchanged: bool = False) -> None:
        """Raises an error if one of these components came from outside, and this process does not have it.

        unchanged: whether the file must also be as it was; otherwise a change is only logged. where: the run folder.
        """
        for component in components:
            name, before = self.components[component], self.plugins.get(component)
            if before is None:
                continue
            if name not in _REGISTRIES[component]:
                raise TrilabelError(
                    f"{where}: its {component} {name!r} came from {before}; {_how_to_get(name, before)}"
                )
            now = _REGISTRIES[component].origin(name)
            if now is not None and now.sha256 != before.sha256:
                changed = f"{where}: its {component} {name!r} has changed since the run was made"
                if unchanged:
                    raise TrilabelError(f"{changed}; restore {before}, or start a new run")
                log.warning(f"{changed}; scores may differ")


def _how_to_get(name: str, origin: Origin) -> str:
    if reference(name):
        return f"if you trust that file, pass trust='{origin.file}', or the path of your copy"
    if origin.package:
        return "install that package"
    return "register it under that name before"


def write_description(file: Path, description: RunDescription) -> None:
    """Writes config.json."""
    values = {
        "classes": description.classes,
        "image_size": description.image_size,
        "source": dict(description.source),
        "config": description.config.to_json(),
    }
    if description.plugins:
        values["plugins"] = {component: origin.to_json() for component, origin in description.plugins.items()}
    write_text(file, json.dumps(values, indent=1, ensure_ascii=False))


def read_description(file: Path) -> RunDescription:
    """The description that `write_description` wrote; anything else is refused in one line."""
    try:
        if check_regular(file).st_size > _LARGEST_FILE:
            raise TrilabelError(f"{file}: too large to describe a run; restore it or train again")
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise TrilabelError(
            f"{file.parent}: not a run folder (no {file.name} in it); name the folder that `trilabel train` wrote"
        ) from error
    except OSError as error:
        raise system_error(error, file) from error
    except UnicodeDecodeError as error:
        raise TrilabelError(f"{file}: damaged (not text); restore it or train again") from error
    try:
        return _checked(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise TrilabelError(
            f"{file}: damaged, or written by another version of trilabel ({one_line(error)}); restore it or train again"
        ) from error


def _checked(values: Any) -> RunDescription:
    if not isinstance(values, dict):
        raise TrilabelError("not a dictionary")
    for name, kind in {"classes": list, "image_size": int, "source": dict, "config": dict}.items():
        if not isinstance(values.get(name), kind):
            raise TrilabelError(f"{name} cannot be {repr(values[name])[:80]}" if name in values else f"no {name}")
    classes, size = values["classes"], values["image_size"]
    if not classes or not all(isinstance(name, str) for name in classes) or len(set(classes)) < len(classes):
        raise TrilabelError("classes must be different names, at least one")
    if not 0 < size <= LARGEST_IMAGE:
        raise TrilabelError(f"image_size must be from 1 to {LARGEST_IMAGE:,} pixels, not {str(size)[:80]}")
    plugins = values.get("plugins", {})
    if not isinstance(plugins, dict) or not plugins.keys() <= _REGISTRIES.keys():
        raise TrilabelError(f"plugins cannot be {repr(plugins)[:80]}")
    origins = {component: filled(Origin, origin, f"{component} in plugins") for component, origin in plugins.items()}
    return RunDescription(Config.from_json(values["config"]), classes, size, values["source"], origins)


def write_versions(file: Path) -> None:
    """Writes which versions of trilabel and of what it stands on made a run."""
    versions = {"trilabel": __version__, "python": platform.python_version()} | dict(map(_version_of, _BENEATH))
    write_text(file, json.dumps(versions, indent=1))


@cache
def _version_of(name: str) -> tuple[str, str]:
    try:
        return name, version(name)
    except PackageNotFoundError:
        return name, "not installed as a package"
