"""Every module can be imported, and the examples in its docstrings are right."""

import doctest
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import trilabel

MODULES = sorted(
    module.name for module in walk_packages(trilabel.__path__, "trilabel.") if module.name != "trilabel.__main__"
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.mark.parametrize("name", ["trilabel", *MODULES])
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # an example that writes a file leaves nothing behind
    found = doctest.testmod(import_module(name), optionflags=OPTIONS)
    assert not found.failed


def test_some_modules_have_examples() -> None:
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [test for name in MODULES for test in finder.find(import_module(name)) if test.examples]
    assert len(examples) >= 5
