"""`trilabel methods`, `components` and `recipes`."""

import json
import subprocess
import sys
from dataclasses import fields

import pytest

from tests.support.command_line import Capture, call, complaint, result
from trilabel.cli.catalog import CATALOG
from trilabel.cli.described import written
from trilabel.cli.main import parse
from trilabel.cli.options import described_fields, explanation
from trilabel.config import SETTINGS_OF, Config
from trilabel.methods import METHODS
from trilabel.models import GRAPHS, HEADS
from trilabel.recipes import RECIPES, resolve


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


def test_the_catalog_says_what_the_classes_say() -> None:
    said = json.loads(CATALOG.read_text("utf-8"))
    assert said == json.loads(json.dumps(written())), "run python -m trilabel.cli.catalog"


@pytest.mark.parametrize("command", [["methods"], ["methods", "hill"], ["components", "--json"], ["recipes"]])
def test_lists_do_not_wait_for_torch(command: list[str]) -> None:
    script = f"import sys; from trilabel.cli.main import main; main({command!r}); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout, done.stderr


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


def test_one_method_with_every_setting_explained(capsys: Capture) -> None:
    assert call("methods", "large-loss") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("large-loss unknown counts as absent") and "posterior" not in text
    assert "labels: positives known" in text and "cost: as plain BCE" in text
    assert "--set delta=0.2: Relative: by how many percent" in text and "--set start=none: Absolute" in text
    assert "example: trilabel train labels.csv --images photos --method large-loss --set mode=reject" in text
    assert result(capsys, "methods", "hill")["method"] == "hill"


def test_every_setting_has_an_explanation() -> None:
    for kind in (*METHODS.values(), *HEADS.values(), *GRAPHS.values()):
        assert all(map(explanation, described_fields(kind.Settings))), kind


def test_one_recipe_and_what_it_changes(capsys: Capture) -> None:
    for name in RECIPES:
        assert call("recipes", name) == 0
        lines = [line[4:] for line in capsys.readouterr().out.splitlines() if line.startswith("    --")]
        given = [word for line in lines for word in line.split(" ", 1)]
        chosen = parse("train", ["scenes", *given]).chosen_config()
        changed = {f.name for f in fields(Config) if getattr(resolve(name), f.name) != getattr(Config(), f.name)}
        for field in changed - set(SETTINGS_OF.values()):
            assert getattr(chosen, field) == getattr(resolve(name), field), field
        for field in changed & set(SETTINGS_OF.values()):
            assert set(getattr(chosen, field)) == set(getattr(resolve(name), field)), field
    assert Config.from_json(result(capsys, "recipes", "fine-tune")) == resolve("fine-tune")


def test_components_by_name(capsys: Capture) -> None:
    assert call("components", "weldon") == 0
    text = capsys.readouterr().out
    assert text.startswith("--head weldon") and "gap" not in text and "--set head.top=0.1: " in text
    assert [row["relabel"] for row in result(capsys, "components", "score")] == ["score"]


def test_an_unknown_name_is_answered_with_the_nearest(capsys: Capture) -> None:
    assert complaint(capsys, "methods", "large-los").startswith(
        "trilabel: no method named 'large-los'; did you mean large-loss"
    )
    assert "no recipe named 'fine'; did you mean fine-tune" in complaint(capsys, "recipes", "fine")
    assert "no component named 'weldom'; did you mean weldon" in complaint(capsys, "components", "weldom")
    assert "no component named 'zzzz'; there are: gap" in complaint(capsys, "components", "zzzz")
