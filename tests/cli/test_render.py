"""What is printed is shown as it is, and nothing in it is obeyed by the terminal."""

import ast
import json
from pathlib import Path

import pytest

import trilabel.cli
from tests.support.command_line import QUICK, Capture, call, complaint
from trilabel.cli.render import print_entries, print_json, print_line, print_table
from trilabel.printable import printable

HOSTILE = "\x1b[31mred\x1b[0m\r\n\t\u202e\x9b2J"
SHOWN = "\\x1b[31mred\\x1b[0m\\r\\n\\t\\u202e\\x9b2J"


def assert_harmless(text: str) -> None:
    for line in text.split("\n"):
        assert printable(line.replace("\t", "")) == line.replace("\t", ""), line


def test_a_table_shows_names_as_they_are(capsys):
    print_table(
        ["class", "n"], [[HOSTILE, 1], ["[red]x[/red]", 2], [":smile:\\[a]", 3], ["x" * 5000, 4], ["👨‍👩‍👧 鳥", 5]]
    )
    out = capsys.readouterr().out
    assert_harmless(out)
    assert SHOWN in out and "[red]x[/red]" in out and ":smile:\\[a]" in out and "👨‍👩‍👧 鳥" in out
    assert "x…x" in out and len(out) < 2000


def test_numbers_stand_at_the_right(capsys):
    print_table(["class", "AP %", "95 % interval", "n"], [["cat", "9.1", "7.0 … 12.5", 1], ["dog", "—", "—", "1,200"]])
    assert capsys.readouterr().out.splitlines() == [
        "class  AP %  95 % interval      n",
        "cat     9.1     7.0 … 12.5      1",
        "dog       —              —  1,200",
    ]


def test_lines_and_entries(capsys):
    print_line(HOSTILE, "end")
    print_line("a", HOSTILE, between="\t")
    print_entries({HOSTILE: [HOSTILE]})
    lines = capsys.readouterr().out.split("\n")
    assert lines[:3] == [f"{SHOWN} end", f"a\t{SHOWN}", SHOWN]
    assert_harmless("\n".join(lines))


def test_json_is_exact_and_harmless(capsys):
    values = {"name": HOSTILE + "\udc80 é 鳥", HOSTILE: [1]}
    print_json(values)
    out = capsys.readouterr().out
    assert json.loads(out) == values
    assert_harmless(out)
    assert "é 鳥" in out


def test_only_render_and_main_print():
    """So that nothing is forgotten: other commands print through `render`."""
    for file in Path(trilabel.cli.__file__).parent.rglob("*.py"):
        if file.name not in ("render.py", "main.py"):
            calls = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)]
            assert not [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "print"], file


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Path:
    """The project with a hostile name for a class, a split and a file."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "photos").symlink_to(project / "photos")
    header, *rows = (project / "labels.csv").read_text().splitlines()
    first, *names, last = header.split(",")
    quoted = HOSTILE.replace("\r\n", "\n")
    names[0] = f'"{quoted}"'
    rows = [row.replace(",test", f',"{quoted}"') for row in rows]
    (folder / "labels.csv").write_text("\n".join([",".join([first, *names, last]), *rows]) + "\n", newline="")
    (folder / f"x{quoted.replace('/', '')}.png").symlink_to(next((project / "photos").iterdir()))
    return folder


def test_no_command_lets_a_name_reach_the_terminal(hostile, tmp_path, capsys: Capture):
    name, table, photos = HOSTILE.replace("\r\n", "\n"), hostile / "labels.csv", ("--images", hostile / "photos")
    run = tmp_path / "run"
    image = next(hostile.glob("x*.png"))
    for command in (
        ("data", "inspect", table, *photos),
        ("data", "inspect", table, *photos, "--json"),
        ("data", "convert", table, *photos, "--out", tmp_path / "long.csv", "--layout", "long"),
        ("train", table, *photos, "--out", run, *QUICK, "--epochs", "1"),
        ("evaluate", run, table, *photos, "--split", name, "--per-class"),
        ("predict", run, image, "--threshold", "0"),
        ("predict", run, image, "--threshold", "0", "--json"),
        ("report", run),
    ):
        capsys.readouterr()
        assert call(*command) == 0
        captured = capsys.readouterr()
        assert_harmless(captured.out)
        assert_harmless(captured.err)
    assert_harmless(complaint(capsys, "evaluate", run, table, *photos, "--split", name + "\x1b]0;x\x07"))
    assert_harmless(complaint(capsys, "predict", run, f"{image}\x1b[2J"))
    assert_harmless(complaint(capsys, "\x1b[2J", code=2))
