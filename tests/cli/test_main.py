"""Finding the command, help, and exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Capture, call, complaint, options_in_help
from tests.support.stopped import run_script
from trilabel import __version__
from trilabel.cli.main import COMMANDS

HELP_OF_ALL = """
import sys
from trilabel.cli.main import COMMANDS, main
assert main(["--help"]) == 0
for name in COMMANDS:
    assert main([*name.split(), "--help"]) == 0
print("IMPORTED", *sorted({name.partition(".")[0] for name in sys.modules}))
"""
READING = """
import sys
from trilabel.cli.main import main
table, out = sys.argv[1:]
assert main(["data", "inspect", table]) == 0
assert main(["data", "convert", table, "--out", out]) == 0
print("IMPORTED", *sorted(sys.modules))
"""
HEAVY = {
    *("torch", "torchvision", "timm", "lightning_fabric", "safetensors", "numpy", "scipy", "pandas", "sklearn"),
    *("matplotlib", "PIL", "rich", "yaml"),
}


def test_reading_labels_imports_nothing_slow(tmp_path: Path) -> None:
    table, out = tmp_path / "labels.csv", tmp_path / "labels.trilabel"
    table.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,,1\n")
    done = run_script(READING, [str(table), str(out)])
    assert done.returncode == 0 and out.exists(), done.stderr
    imported = set(done.stdout.split("IMPORTED ")[1].split())
    assert "trilabel.labels.matrix" in imported
    assert not imported & {"torch", "timm", "lightning_fabric", "scipy.stats", "matplotlib", "sklearn"}


def test_help_has_examples_and_imports_nothing_heavy() -> None:
    done = run_script(HELP_OF_ALL, [])
    assert done.returncode == 0, done.stderr
    overview, *helps = done.stdout.split("usage: ")[1:]
    assert all(f"  {name} " in overview for name in COMMANDS) and "Example: trilabel demo" in overview
    assert len(helps) == len(COMMANDS)
    for name, text in zip(COMMANDS, helps, strict=True):
        assert text.startswith(f"trilabel {name} ") and f"Example: trilabel {name}" in text
    imported = set(done.stdout.split("IMPORTED ")[1].split())
    assert "tyro" in imported and not imported & HEAVY


def test_every_option_is_explained(capsys: Capture) -> None:
    for name in COMMANDS:
        options = options_in_help(capsys, name, "all")
        assert {"help", "json"} <= set(options)
        for text in options.values():
            words = text.partition("(default:")[0].partition("(required)")[0].split()
            assert any(word.isalpha() and not word.isupper() for word in words), f"{name}: {text}"


def test_the_program_is_the_module() -> None:
    done = subprocess.run([sys.executable, "-m", "trilabel", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{__version__}\n"


def test_wrong_usage_exits_2(capsys: Capture) -> None:
    assert "there are: demo" in complaint(capsys, "tarin", code=2)
    assert "inspect | simulate" in complaint(capsys, "data", code=2)
    assert call() == 2
    assert "usage: trilabel COMMAND" in capsys.readouterr().out


def test_help_of_a_group_of_commands(capsys: Capture) -> None:
    assert call("data", "--help") == 0
    printed = capsys.readouterr().out
    assert "usage: trilabel data COMMAND" in printed and "  data merge " in printed and "  train " not in printed


def test_debug_gives_the_traceback(tmp_path: Path, capsys: Capture) -> None:
    assert "no such file" in complaint(capsys, "data", "inspect", tmp_path / "none.csv")
    with pytest.raises(ValueError, match="no such file"):
        call("data", "inspect", tmp_path / "none.csv", "--debug")


def test_an_error_of_ours_is_one_line_too(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("first\nsecond")

    monkeypatch.setattr("trilabel.data.scenes", fail)
    line = complaint(capsys, "data", "inspect", "scenes")
    assert line == "trilabel: ZeroDivisionError: first (run again with --debug for the traceback)"


def test_what_the_system_refuses_names_the_file(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied", "photos/a.jpg")

    monkeypatch.setattr("trilabel.data.scenes", fail)
    assert complaint(capsys, "data", "inspect", "scenes") == (
        "trilabel: photos/a.jpg: permission denied; change its permissions or those of its folder, or choose another"
    )


def test_output_that_nobody_reads_any_more(project: Path) -> None:
    """As in `trilabel recipes | head -1`."""
    command = f"{sys.executable} -m trilabel recipes | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout == "photos\n" and "Traceback" not in done.stderr
