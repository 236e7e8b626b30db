"""Errors list what there is, and suggest what was perhaps meant."""

import errno

import pytest

from trilabel.errors import TrilabelError, one_line, system_error, unknown_name_error


def test_a_similar_name_is_suggested():
    error = unknown_name_error("method", "rolle", ["role", "known-only"])
    assert str(error) == "no method named 'rolle'; there are: role, known-only; did you mean 'role'?"
    assert "did you mean" not in str(unknown_name_error("method", "x", ["role"]))


def test_long_lists_are_cut():
    message = str(unknown_name_error("class", "x", (f"c{number}" for number in range(2000))))
    assert "c149, … (2,000 in all)" in message and "c150" not in message


def test_it_is_a_value_error():
    with pytest.raises(ValueError, match="no head"):
        raise unknown_name_error("head", "x", [])
    assert issubclass(TrilabelError, ValueError)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, "x", "a"), "a: no space left on its disk; free some, then go"),
        (
            OSError(errno.EDQUOT, "x"),
            "b: your quota of this disk is used up; delete something or ask for more, then go",
        ),
        (
            OSError(errno.EROFS, "x", b"a"),
            "a: its disk is read-only; choose another place or make it writable, then go",
        ),
        (OSError(errno.ECHILD, "No child", "a"), "a: no child; go"),
        (OSError("only words"), "b: only words; go"),
        (OSError(), "b: oserror; go"),
    ],
)
def test_what_the_system_refuses_is_told_with_what_to_do(error, line):
    assert str(system_error(error, "b", "go")) == line


def test_a_message_of_many_lines_becomes_one():
    assert one_line(ValueError("a\n  b")) == "a b" and one_line(KeyError()) == "KeyError"
    assert len(one_line(ValueError("x" * 5000))) == 200
