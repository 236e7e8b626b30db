"""No number of the released code lies unused."""

import importlib
from pathlib import Path

from tests.support.loss_cases import reference_cases


def test_every_reference_case_is_checked_by_some_test():
    tested = []
    for file in sorted(Path(__file__).parent.glob("test_*.py")):
        for function in vars(importlib.import_module(f"tests.losses.{file.stem}")).values():
            for mark in getattr(function, "pytestmark", []):
                if mark.name == "parametrize" and mark.args[0] == "case":
                    tested += mark.args[1]
    assert len(reference_cases()) == 108
    assert sorted(tested) == sorted(reference_cases())
