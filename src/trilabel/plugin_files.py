"""Python files of users that hold methods, heads or formats, named as FILE.py:NAME.

A file is code: it runs only where a person names it. `use` and `trust` are called for what a person wrote (a flag, an
argument), never for what a run folder or a spec file says; `find` runs nothing.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from trilabel.errors import TrilabelError, one_line, system_error
from trilabel.input_files import read_input

Files = str | Path | Iterable[str | Path]
_REFERENCE = re.compile(r"(.+\.py)(?::(\w+))?")
_PREFIX = "trilabel_plugin_"  # of the names of their modules


class Reference(NamedTuple):
    """FILE.py:NAME, or FILE.py alone for a format that is the whole module."""

    file: Path  # absolute
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.name}" if self.name else str(self.file)


@dataclass(frozen=True)
class LoadedFile:
    """A file that was run in this process."""

    path: Path
    sha256: str
    module: ModuleType
    trusted: bool = False  # stands for the file of the same name that a run was made with, wherever that was


_loaded: dict[Path, LoadedFile] = {}


def reference(text: str) -> Reference | None:
    """What FILE.py:NAME refers to; None for other names.

    >>> reference("/home/me/mine.py:Mine").name, reference("posterior")
    ('Mine', None)
    """
    found = _REFERENCE.fullmatch(text)
    return Reference(Path(found[1]).absolute(), found[2] or "") if found else None


def beside(text: str, other: str) -> str:
    """A name that stands in the file of another component: FILE.py:NAME is then a file beside that one.

    >>> beside("mine.py:MyHead", "/home/me/mine.py:Mine"), beside("gap", "/home/me/mine.py:Mine")
    ('/home/me/mine.py:MyHead', 'gap')
    """
    refers, base = _REFERENCE.fullmatch(text), reference(other)
    return text if refers is None or base is None else str(Reference(base.file.parent / refers[1], refers[2] or ""))


def use(text: str) -> str:
    """Loads the file that a person named as FILE.py:NAME; returns it with its whole path, and other names as they are.

    Call it for what a person wrote, never for what was read from a file.
    """
    refers = reference(text)
    if refers is not None:
        load_file(refers.file)
    return text if refers is None else str(refers)


def trust(files: Files) -> None:
    """Loads files that a person trusts: runs may then use what they hold, if they were made with a file of that name.

    Call it for what a person wrote, never for what was read from a file.
    """
    for file in listed(files):
        if file.suffix != ".py":
            raise TrilabelError(f"trust needs the name of a Python file, not {str(file)!r}")
        load_file(file.absolute(), trusted=True)


def listed(files: Files) -> list[Path]:
    """One file or several as a list."""
    return [Path(files)] if isinstance(files, str | Path) else list(map(Path, files))


def find(refers: Reference) -> tuple[LoadedFile, Any]:
    """(the loaded file, what it holds under that name); an error if the file was not loaded. It runs nothing."""
    same_name = [file for file in _loaded.values() if file.trusted and file.path.name == refers.file.name]
    file = _loaded.get(refers.file) or next(reversed(same_name), None)
    if file is None:
        raise TrilabelError(
            f"{refers.file}: code runs only if you say so; if you trust this file, pass trust='{refers.file}'"
        )
    if not refers.name:
        return file, file.module
    if not hasattr(file.module, refers.name):
        raise TrilabelError(f"{file.path}: has no {refers.name!r}; name a class of this file")
    return file, getattr(file.module, refers.name)


def trust_options(*names: str) -> list[str]:
    """--trust and the loaded files in which components of these names are, for a command to paste; else nothing."""
    files = dict.fromkeys(str(find(refers)[0].path) for refers in map(reference, names) if refers is not None)
    return ["--trust", *files] if files else []


def loaded_files() -> tuple[LoadedFile, ...]:
    """All files that this process has loaded."""
    return tuple(_loaded.values())


def load_file(path: Path, trusted: bool = False, expected: str = "") -> LoadedFile:
    """Runs a file, unless this process has run it as it is now. expected: its SHA-256, where it must not be another."""
    content = _read(path)
    sha256 = hashlib.sha256(content).hexdigest()
    if expected not in ("", sha256):
        raise TrilabelError(f"{path}: has changed since this run loaded it; start again")
    known = _loaded.get(path)
    if known is None or known.sha256 != sha256:
        known = LoadedFile(path, sha256, _run(path, content, sha256))
    _loaded[path] = LoadedFile(path, sha256, known.module, trusted or known.trusted)
    return _loaded[path]


def _read(path: Path) -> bytes:
    try:
        return read_input(path)
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such file; give the path of a Python file") from None
    except OSError as error:
        raise system_error(error, path) from error


def _run(path: Path, content: bytes, sha256: str) -> ModuleType:
    """The module, made from these very bytes: a compiled copy beside the file would be another program."""
    module = ModuleType(f"{_PREFIX}{path.stem}_{sha256[:8]}")
    module.__file__ = str(path)
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module  # dataclasses look their module up while it runs
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), vars(module))
    except Exception as error:
        sys.modules.pop(module.__name__)
        if before is not None:
            sys.modules[module.__name__] = before
        where = next((f", line {line}" for line in _lines(error, path)), "")
        raise TrilabelError(f"{path}{where}: cannot be loaded ({type(error).__name__}: {one_line(error)})") from error
    return module


def _lines(error: Exception, path: Path) -> list[int]:
    """The lines of the file at which an error happened, the innermost first."""
    trace, lines = error.__traceback__, list[int]()
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.insert(0, trace.tb_lineno)
        trace = trace.tb_next
    return lines or ([error.lineno] if isinstance(error, SyntaxError) and error.lineno else [])
