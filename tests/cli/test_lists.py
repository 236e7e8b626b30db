"""`trilabel methods`, `components` and `recipes`."""

from tests.support.command_line import Capture, call, result
from trilabel.methods import METHODS


def test_lists(capsys: Capture) -> None:
    listed = {row["method"]: row for row in result(capsys, "methods")}
    assert list(listed) == list(METHODS)
    assert all(row["what"] and row["labels"] and row["cost"] for row in listed.values())
    assert listed["large-loss"]["settings"] == {"mode": "reject", "delta": 0.2, "percent_of": "all", "start": None}
    components = result(capsys, "components")
    assert {next(iter(row)) for row in components} == {"head", "graph", "relabel"}
    weldon, *_ = (row for row in components if row.get("head") == "weldon")
    assert weldon["settings"] == {"top": 0.1, "bottom": 0.1}
    recipes = result(capsys, "recipes")
    assert recipes["kim2022-ll-ct"]["settings"] == {"mode": "correct"}
    assert recipes["cole2021-role-linear-init"]["stages"] == "linear-then-fine-tune"


def test_lists_for_a_person_say_how_to_set_things(capsys: Capture) -> None:
    for command, words in (
        ("methods", "--set mode=reject|correct|correct-for-good delta=0.2 percent_of=all|unknown start=none"),
        ("components", "--set head.alpha=0.5 head.k=5"),
        (
            "components",
            "--set relabel.epochs=none relabel.threshold=0.3 relabel.accumulate=true relabel.passes=50",
        ),
        ("recipes", "Cole 2021, table 1"),
    ):
        assert call(command) == 0
        assert words in " ".join(capsys.readouterr().out.split())  # lines are wrapped at the width of a terminal
