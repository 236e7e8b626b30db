"""What the pages name is there: files, links, methods, commands and flags; their Python is Python, their words ours."""

import ast
import re
import sys
from collections import deque
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from PIL import Image

import trilabel
from trilabel.cli.main import COMMANDS, main
from trilabel.data import Dataset
from trilabel.data.formats import FORMATS
from trilabel.labels import Labels
from trilabel.methods import METHODS
from trilabel.models import HEADS

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "trilabel"
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in sorted((*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
    if "_build" not in page.parts
}
NOW = [name for name in PAGES if name != "CHANGELOG.md"]  # which names what there was
ARCHITECTURE = PAGES["docs/architecture.md"]


def codes(text: str) -> list[str]:
    """Lines of code blocks, and what is in backticks elsewhere."""
    blocks = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [*"\n".join(blocks).replace("\\\n", " ").splitlines(), *spans]


def anchors(text: str) -> set[str]:
    """Where a link can lead to in a page: its headings, as GitHub and MyST write them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def flags_of(command: str) -> frozenset[str]:
    """The flags that `--help` of a command shows."""
    with redirect_stdout(StringIO()) as printed:
        assert main([*command.split(), "--help", "all"]) == 0
    switches = re.sub(r"--\[no-\]([a-z-]+)", r"--\1 --no-\1", printed.getvalue())
    return frozenset(re.findall(r"(?<!\S)--[a-z][a-z-]*", switches))


@pytest.mark.parametrize("name", PAGES)
def test_relative_links_lead_somewhere(name: str) -> None:
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", PAGES[name], flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / name).parent / path if path else ROOT / name
        assert file.is_file(), target
        assert not anchor or anchor in anchors(file.read_text(encoding="utf-8")), target


@pytest.mark.parametrize("name", NOW)
def test_files_and_modules_that_are_named_exist(name: str) -> None:
    for path in re.findall(r"(?<![\w/.])(?:src|tests|benchmarks|docs)/[\w./*-]+", PAGES[name]):
        assert "_build" in path or list(ROOT.glob(path.rstrip("./"))), path
    for module in re.findall(r"`trilabel\.([a-z_]+(?:\.[a-z_]+)*)", PAGES[name]):
        room, *rest = module.split(".")
        inside = SOURCE.joinpath(room, *rest[:-1])
        assert room in trilabel.__all__ or inside.is_dir() or inside.with_suffix(".py").is_file(), module


def test_files_of_the_architecture_exist() -> None:
    """They are named from src/trilabel or the root on, those of the table of training from there."""
    named = {code for code in codes(ARCHITECTURE) if re.fullmatch(r"[\w/]+\.py", code)}
    assert [
        file for file in named if not any((base / file).is_file() for base in (SOURCE, SOURCE / "training", ROOT))
    ] == []


def test_the_rooms_of_the_architecture_are_those_of_the_source() -> None:
    rooms = set(re.findall(r"^\| `(\w+)/` \|", ARCHITECTURE, re.MULTILINE))
    assert rooms == {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").is_file()}


def test_the_label_walks_as_the_architecture_says(
    small_scenes: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a run and its report, the functions of the walk are called in its order; each file is named once."""
    monkeypatch.chdir(tmp_path)
    write_images_and_table(small_scenes)
    walk = ARCHITECTURE.partition("## The walk of one label")[2].partition("\n## ")[0]
    steps = re.findall(r"^\| (\d+) \| `([^`]+)` \| `([^`]+)` \|", walk, re.MULTILINE)
    assert [int(number) for number, _, _ in steps] == list(range(1, len(steps) + 1)) and len(steps) > 15
    assert len({file for _, file, _ in steps}) == len(steps)
    ahead = deque((str(SOURCE / file), function) for _, file, function in steps)

    def follow(frame: FrameType, event: str, _: Any) -> None:  # not inside: what is called there comes here, too
        code = frame.f_code
        if ahead and (code.co_filename, code.co_qualname) == ahead[0]:
            ahead.popleft()

    (command,) = re.findall(r"```\ntrilabel (train .*)\n```", walk)
    small = "--epochs 2 --image-size 32 --workers 0 --set relabel.epochs=2"
    before = sys.gettrace()
    sys.settrace(follow)
    try:
        assert main([*command.split(), *small.split()]) == main(["report", "runs/first"]) == 0
    finally:
        sys.settrace(before)
    assert list(ahead) == []


def write_images_and_table(dataset: Dataset) -> None:
    """labels.csv and its images, here."""
    assert dataset.images is not None
    for name, image in zip(dataset.ids, dataset.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).numpy()).save(f"{name}.png")
    named = Labels.from_signed(dataset.labels.to_signed(), dataset.classes, [f"{name}.png" for name in dataset.ids])
    paths = [f"{name}.png" for name in dataset.ids]
    trilabel.data.write(Dataset(named.ids, paths, named, dataset.splits), "labels.csv")


def test_methods_heads_and_formats_have_a_row() -> None:
    for names, page in ((METHODS, "docs/methods.md"), (HEADS, "docs/methods.md"), (FORMATS, "docs/data.md")):
        rows = set(re.findall(r"^\| `([^`]+)`", PAGES[page], re.MULTILINE))
        assert set(names) - rows == set()


@pytest.mark.parametrize("name", NOW)
def test_commands_and_flags_exist(name: str) -> None:
    every = frozenset[str]().union(*map(flags_of, COMMANDS)) | {"--help"}
    for code in codes(PAGES[name]):
        _, ours, line = code.partition("trilabel ")
        words = line.split("#")[0].split() if ours else []
        if ours and re.fullmatch(r"(\$ )?trilabel [a-z].*", code) and words != ["data"]:
            command = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS), None)
            assert command, code
            assert {word for word in words if word.startswith("--")} <= flags_of(command), code
        elif code.startswith("--") and code != "--strict":
            assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", code)) <= every, code


@pytest.mark.parametrize("name", NOW)
def test_words(name: str) -> None:
    """None of the words that the glossary replaced."""
    assert re.findall(r"\b(?:presents|absents|rehearsal|optimiser|normalise)\b", PAGES[name]) == []


@pytest.mark.parametrize("name", NOW)
def test_python_is_python_and_names_what_there_is(name: str) -> None:
    for code in re.findall(r"```python\n(.*?)```", PAGES[name], re.DOTALL):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "tl":
                assert hasattr(trilabel, node.attr), f"tl.{node.attr}"


@pytest.mark.parametrize("name", PAGES)
def test_lines_are_short(name: str) -> None:
    """But for what a command prints."""
    prose = re.sub(r"```.*?```", "", PAGES[name], flags=re.DOTALL)
    assert [line for line in prose.splitlines() if len(line) > 120] == []


@pytest.mark.slow
def test_pages_build_without_a_warning_and_need_no_network(tmp_path: Path) -> None:
    from sphinx.cmd.build import build_main

    assert build_main(["-b", "html", "-W", "--keep-going", "-q", str(ROOT / "docs"), str(tmp_path)]) == 0
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"([^\"]+)\"", page.read_text("utf-8"))
        assert [address for address in loaded if address.startswith(("http", "//"))] == [], page
    for style in tmp_path.rglob("*.css"):
        assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", style.read_text("utf-8")) == [], style


@pytest.mark.parametrize("name", ["README.md", "docs/getting-started.md"])
def test_no_run_folder_of_a_page_is_trained_into_twice(name: str) -> None:
    """A reader types all of a page, and a folder that exists is refused."""
    lines = [line for line in codes(PAGES[name]) if "trilabel train" in line or "tl.train(" in line]
    folders = [folder for line in lines for folder in re.findall(r"(?:--out |\")(runs/[\w-]+)", line)]
    assert len(folders) > 1 and len(folders) == len(set(folders))
