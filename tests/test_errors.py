"""Errors list what there is, and suggest what was perhaps meant."""

import pytest

from trilabel.errors import TrilabelError, unknown_name_error


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
