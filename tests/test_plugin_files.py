"""Files of users: run when named, as they are, once; found afterwards; what is wrong with them in one line."""

import os
import py_compile
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outside import new_process, times_run, write_code
from trilabel.errors import TrilabelError
from trilabel.plugin_files import beside, find, load_file, reference, trust, trust_options, use


@pytest.fixture(autouse=True)
def nothing_is_loaded() -> Iterator[None]:
    with new_process():
        yield


def found(text: str) -> object:
    refers = reference(text)
    assert refers is not None
    return find(refers)[1]


def test_a_file_that_is_named_is_run_once_and_found_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_code(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert use("mine.py:Mine") == use(f"{file}:Mine") == f"{file}:Mine"
    assert times_run(file) == 1
    assert found(f"{file}:Mine").__name__ == "Mine" and found(str(file)).Lines  # type: ignore[attr-defined]
    assert use("posterior") == "posterior" and use("/models/net.pyx:A") == "/models/net.pyx:A"


def test_a_file_that_changed_is_run_again(tmp_path: Path) -> None:
    file = write_code(tmp_path, code="A = 1")
    use(f"{file}:A")
    file.write_text("A = 2")
    assert found(f"{file}:A") == 1
    use(f"{file}:A")
    assert found(f"{file}:A") == 2
    with pytest.raises(TrilabelError, match=r"mine\.py: has changed since this run loaded it"):
        load_file(file, expected="0" * 64)


def test_two_files_of_one_name_are_two(tmp_path: Path) -> None:
    one, two = (write_code(tmp_path / name, code=f"A = {name!r}") for name in ("one", "two"))
    use(f"{one}:A")
    use(f"{two}:A")
    assert (found(f"{one}:A"), found(f"{two}:A")) == ("one", "two")
    assert trust_options(f"{one}:A", "gap", f"{two}:A", f"{one}:B"[:-1] + "A") == ["--trust", str(one), str(two)]
    assert trust_options("gap") == []


def test_finding_runs_nothing(tmp_path: Path) -> None:
    file = write_code(tmp_path)
    with pytest.raises(TrilabelError, match=re.escape(f"if you trust this file, pass trust='{file}'")):
        found(f"{file}:Mine")
    assert times_run(file) == 0


def test_a_trusted_file_stands_for_one_of_its_name_elsewhere(tmp_path: Path) -> None:
    copy, other = write_code(tmp_path / "copy"), write_code(tmp_path / "other")
    use(f"{copy}:Mine")
    with pytest.raises(TrilabelError, match="trust"):  # it was named for itself alone
        found("/far/away/mine.py:Mine")
    trust(copy)
    assert found("/far/away/mine.py:Mine") is found(f"{copy}:Mine") is found(f"{other}:Mine")
    assert (times_run(copy), times_run(other)) == (1, 0)
    trust([other])
    assert found(f"{other}:Mine") is not found(f"{copy}:Mine")


def test_what_python_compiled_before_is_not_run(tmp_path: Path) -> None:
    """A stranger may put a compiled file of any content beside the one that a person has read."""
    file = write_code(tmp_path, code="A = 'evil'")
    before = file.stat()
    py_compile.compile(str(file), doraise=True)
    file.write_text("A = 'good'")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    use(f"{file}:A")
    assert found(f"{file}:A") == "good"


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("A = 1\nB = (", r"mine\.py, line 2: cannot be loaded \(SyntaxError: .*\)"),
        ("\n\nimport no_such_module", r"mine\.py, line 3: cannot be loaded \(ModuleNotFoundError: No module .*\)"),
        ("def f():\n    raise ValueError('a\\nb')\nf()", r"mine\.py, line 2: cannot be loaded \(ValueError: a b\)"),
    ],
)
def test_what_cannot_be_run_is_told_in_one_line(code: str, complaint: str, tmp_path: Path) -> None:
    file = write_code(tmp_path, code=code)
    with pytest.raises(TrilabelError, match=complaint) as caught:
        use(f"{file}:A")
    assert "\n" not in str(caught.value)


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match=r"no\.py: no such file; give the path of a Python file"):
        use(f"{tmp_path}/no.py:A")
    with pytest.raises(TrilabelError, match="trust needs the name of a Python file, not 'runs/a'"):
        trust("runs/a")
    file = write_code(tmp_path, code="A = 1")
    use(str(file))
    with pytest.raises(TrilabelError, match="has no 'B'; name a class of this file"):
        found(f"{file}:B")


def test_what_stands_in_a_file_is_beside_it() -> None:
    assert beside("parts/heads.py:Mine", "/home/me/mine.py:Mine") == "/home/me/parts/heads.py:Mine"
    assert beside("heads.py:Mine", "posterior") == "heads.py:Mine"
