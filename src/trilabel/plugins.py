"""The components of one kind by name (methods, heads, formats): ours, and those from outside the package.

From outside come those of installed packages (entry points of the groups trilabel.methods, trilabel.heads and
trilabel.formats), those registered in Python, and FILE.py:NAME (see `plugin_files`). Installing a package and naming a
file are what a person does: a name that was read from a run folder loads neither a file nor a package that is not
installed for trilabel.
"""

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from trilabel.errors import TrilabelError, one_line, unknown_name_error
from trilabel.log import log
from trilabel.plugin_files import LoadedFile, find, load_file, loaded_files, reference

T = TypeVar("T")


@dataclass(frozen=True)
class Origin:
    """Where a component from outside came from: a file, a package, or a module of the program that registered it."""

    file: str = ""
    sha256: str = ""  # of the file
    package: str = ""
    version: str = ""
    module: str = ""

    def __str__(self) -> str:
        return self.file or f"{self.package} {self.version}".strip() or f"module {self.module}"

    def to_json(self) -> dict[str, str]:
        """Its fields that say something."""
        return {name: value for name, value in asdict(self).items() if value}


class Registry(Mapping[str, T]):
    """Components by name: ours, then those registered, then those of installed packages.

    Names of files (FILE.py:NAME) are looked up but not listed. A package is imported when one of its names is looked
    up.
    """

    def __init__(self, kind: str, own: dict[str, T], must_be: str, is_one: Callable[[Any], bool]) -> None:
        """kind: method, head or format. own: ours. must_be, is_one: what each must be, in words and as a test."""
        self.kind, self.own, self.must_be, self.is_one = kind, own, must_be, is_one
        self.registered: dict[str, T] = {}
        _registries[kind] = self

    def register(self, name: str, component: T | None = None) -> Any:
        """Makes a component known under a name in this process; also a decorator: `@register("mine")`.

        Runs remember the name and where the component came from; register it again before using them.
        """
        if component is None:
            return lambda given: self.register(name, given)
        known = self.registered.get(name)
        if name in self.own or (known is not None and _place(known) != _place(component)):
            raise TrilabelError(f"{self.kind} {name!r}: this name is taken; choose another")
        self.registered[name] = self._checked(component, name)
        return component

    def find(self, name: str) -> T:
        """The component; for an unknown name an error that says what to do."""
        if reference(name) is None and name not in self:
            raise unknown_name_error(self.kind, name, self)
        return self[name]

    def canonical(self, name: str) -> str:
        """The name, with the path of the file that was loaded for it; an error if there is no such component."""
        self.find(name)
        refers = reference(name)
        return name if refers is None else str(refers._replace(file=find(refers)[0].path))

    def origin(self, name: str) -> Origin | None:
        """Where a component came from; None for ours and for unknown ones."""
        if name in self.own or name not in self:
            return None
        if refers := reference(name):
            return _origin_of_file(find(refers)[0])
        return _origin_of_module(_place(self[name])) if name in self.registered else _origin_of_entry(self._entry(name))

    def usable(self) -> Iterator[tuple[str, T]]:
        """Names and components, ours first; those of packages that cannot be imported are left out with a warning."""
        for name in self:
            try:
                component = self[name]
            except TrilabelError as error:
                log.warning(f"{error}; it is left out")
                continue
            yield name, component

    def __getitem__(self, name: str) -> T:
        if name in self.own or name in self.registered:
            return self.own[name] if name in self.own else self.registered[name]
        if refers := reference(name):
            return self._checked(find(refers)[1], str(refers))
        if name not in _entries(self.kind):
            raise KeyError(name)
        return self._checked(self._load(self._entry(name)), name)

    def __contains__(self, name: object) -> bool:
        if name in self.own or name in self.registered or name in _entries(self.kind):
            return True
        refers = reference(name) if isinstance(name, str) else None
        try:
            return refers is not None and self.is_one(find(refers)[1])
        except TrilabelError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.own, *self.registered, *_entries(self.kind))))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _entry(self, name: str) -> EntryPoint:
        return _entries(self.kind)[name]

    def _load(self, entry: EntryPoint) -> Any:
        try:
            return entry.load()
        except Exception as error:  # whatever a package does when it is imported
            raise TrilabelError(
                f"{self.kind} {entry.name!r} of {_origin_of_entry(entry)}: cannot be loaded "
                f"({type(error).__name__}: {one_line(error)})"
            ) from error

    def _checked(self, component: Any, name: str) -> T:
        if not self.is_one(component):
            raise TrilabelError(f"{self.kind} {name!r} must be {self.must_be}, not {component!r:.80}")
        checked: T = component
        return checked


class Registered(NamedTuple):
    """A registered component by where it can be imported from."""

    kind: str
    name: str
    module: str
    qualname: str


class InUse(NamedTuple):
    """What this process has from outside, so that another one can have it, too."""

    files: tuple[tuple[str, str, bool], ...]  # path, SHA-256, whether it is trusted
    registered: tuple[Registered, ...]


def in_use() -> InUse:
    """What this process has from outside; packages aside, which every process finds by itself."""
    registered = (
        Registered(kind, name, *_place(component))
        for kind, registry in _registries.items()
        for name, component in registry.registered.items()
    )
    return InUse(tuple((str(file.path), file.sha256, file.trusted) for file in loaded_files()), tuple(registered))


def restore(used: InUse) -> None:
    """Loads what another process of the same run has from outside; nothing where this process has it already."""
    for path, sha256, trusted in used.files:
        load_file(Path(path), trusted, sha256)
    for kind, name, module, qualname in used.registered:
        if name in _registries[kind].registered:
            continue
        try:
            found = import_module(module)
            _registries[kind].register(name, attrgetter(qualname)(found) if qualname else found)
        except (ImportError, AttributeError) as error:
            raise TrilabelError(
                f"{kind} {name!r}: other processes cannot import {qualname or 'it'} from {module} ({one_line(error)}); "
                "put it at the top level of a file and name that, or use one process"
            ) from error


_registries: dict[str, Registry[Any]] = {}


def any_outside(kind: str) -> bool:
    """Whether installed packages, or this process, have components of a kind beside ours."""
    return bool(_entries(kind)) or (kind in _registries and bool(_registries[kind].registered))


@cache
def _entries(kind: str) -> dict[str, EntryPoint]:
    """What installed packages offer, by name."""
    return {entry.name: entry for entry in sorted(entry_points(group=f"trilabel.{kind}s"), key=attrgetter("value"))}


def _place(component: Any) -> tuple[str, str]:
    """(module, name inside it) of a class; a module is its own place."""
    if isinstance(component, type(sys)):
        return component.__name__, ""
    kind = component if isinstance(component, type) else type(component)
    return kind.__module__, kind.__qualname__


@cache
def _packages() -> Mapping[str, list[str]]:
    """The installed packages of each top-level module, which takes a second to find out."""
    return packages_distributions()


def _origin_of_entry(entry: EntryPoint) -> Origin:
    return Origin(package=entry.dist.name, version=entry.dist.version) if entry.dist else Origin(module=entry.module)


def _origin_of_file(file: LoadedFile) -> Origin:
    return Origin(file=str(file.path), sha256=file.sha256)


def _origin_of_module(place: tuple[str, str]) -> Origin:
    """Of a class or module that was registered: the file or package that it stands in, where there is one."""
    for file in loaded_files():
        if file.module.__name__ == place[0]:
            return _origin_of_file(file)
    if packages := _packages().get(place[0].partition(".")[0]):
        return Origin(package=packages[0], version=version(packages[0]))
    source = getattr(sys.modules.get(place[0]), "__file__", None)
    if source is None or not Path(source).is_file():
        return Origin(module=place[0])
    return Origin(file=str(Path(source).absolute()), sha256=hashlib.sha256(Path(source).read_bytes()).hexdigest())
