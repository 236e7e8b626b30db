"""Components from outside by name: registered, of packages, in files; where they came from; in other processes."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import trilabel as tl
from tests.support import two_processes
from tests.support.outside import new_process, times_run, write_code
from trilabel import plugins
from trilabel.data import Dataset
from trilabel.data.formats import FORMATS
from trilabel.errors import TrilabelError
from trilabel.methods import METHODS, create_method
from trilabel.methods.known_only import KnownOnly
from trilabel.models import HEADS
from trilabel.models.heads.gap import GapHead
from trilabel.plugin_files import use
from trilabel.training.api import ProcessWork
from trilabel.training.run_folder import RunFolder
from trilabel.training.splits import split_for_training


class Mine(KnownOnly):
    """Ours under another name."""


@pytest.fixture(autouse=True)
def nothing_is_loaded() -> Iterator[None]:
    with new_process():
        yield
    plugins._entries.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that offers methods and a format, one of them broken."""
    write_code(tmp_path, "outside_labels.py")
    about = tmp_path / "Outside_Labels-1.2.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: outside-labels\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(
        "[trilabel.methods]\nliked = outside_labels:Mine\nbroken = outside_labels:No\nposterior = outside_labels:X\n"
        "[trilabel.heads]\nliked = outside_labels:Largest\n[trilabel.formats]\nlines = outside_labels:Lines\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "outside_labels", raising=False)
    plugins._entries.cache_clear()
    return tmp_path / "outside_labels.py"


def test_a_registered_class_is_used_by_its_name() -> None:
    assert tl.register_method("mine", Mine) is Mine
    assert METHODS["mine"] is METHODS.find("mine") is Mine and list(METHODS)[-1] == "mine"
    labels = tl.Labels.from_signed([[1, -1, 0]])
    assert type(create_method("mine", {"gamma": "0.5"}, labels)) is Mine

    @tl.register_head("my-head")
    class MyHead(GapHead):
        """A head."""

    assert HEADS["my-head"] is MyHead and "my-head" not in METHODS


def test_a_name_is_taken_once_but_a_cell_of_a_notebook_may_be_run_again() -> None:
    for name in ("posterior", "mine"):
        with pytest.raises(TrilabelError, match=f"method '{name}': this name is taken; choose another"):
            tl.register_method("mine", Mine)
            tl.register_method(name, KnownOnly)
    again = type("Mine", (KnownOnly,), {"__module__": Mine.__module__})
    assert tl.register_method("mine", again) is METHODS["mine"] is again


def test_what_is_no_component_is_refused() -> None:
    with pytest.raises(TrilabelError, match=r"method 'x' must be a class derived from trilabel\.methods\.Method, not "):
        tl.register_method("x", GapHead)
    with pytest.raises(TrilabelError, match="format 'x' must be a module or class with RULE, detect, read"):
        tl.register_format("x", Mine)
    with pytest.raises(TrilabelError, match=r"no method named 'mime'; there are: known-only, .* did you mean 'mine'"):
        tl.register_method("mine", Mine)
        METHODS.find("mime")


def test_packages_are_imported_only_when_one_of_theirs_is_looked_up(package: Path) -> None:
    assert "liked" in METHODS and "liked" in list(METHODS) and "lines" in FORMATS
    assert times_run(package) == 0
    assert METHODS["liked"].__name__ == "Mine" and HEADS["liked"].__name__ == "Largest"
    assert times_run(package) == 1
    assert METHODS["posterior"].__module__.startswith("trilabel.")  # ours cannot be replaced
    assert METHODS.origin("liked") == plugins.Origin(package="outside-labels", version="1.2")
    assert str(METHODS.origin("liked")) == "outside-labels 1.2" and METHODS.origin("posterior") is None


def test_a_package_that_cannot_be_imported_is_told_and_hides_no_other(
    package: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TrilabelError, match=r"method 'broken' of outside-labels 1\.2: cannot be loaded \(AttributeErr"):
        METHODS.find("broken")
    assert "liked" in dict(METHODS.usable()) and "broken" not in dict(METHODS.usable())
    assert "method 'broken' of outside-labels 1.2: cannot be loaded" in caplog.text


def test_a_format_from_outside_reads_what_ours_do_not_recognize(package: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("image,cat\nx.jpg,1\n")
    tl.data.read(tmp_path / "a.csv")
    assert times_run(package) == 0
    (tmp_path / "a.lines").write_text("x.jpg cat\ny.jpg dog cat\n")
    read = tl.data.read(tmp_path / "a.lines")
    assert read.labels.to_signed().tolist() == [[1, 0], [1, 1]] and list(read.classes) == ["cat", "dog"]


def test_a_format_in_a_file(tmp_path: Path) -> None:
    file = write_code(tmp_path)
    (tmp_path / "a.txt").write_text("x.jpg cat\n")
    assert list(tl.data.read(tmp_path / "a.txt", format=f"{file}:Lines", images="photos").paths) == ["photos/x.jpg"]
    whole = write_code(tmp_path, "whole.py", 'from mine_too import *\nRULE = ""\n'.replace("mine_too", "pathlib"))
    with pytest.raises(TrilabelError, match=re.escape(f"format '{whole}' must be a module or class with RULE")):
        tl.data.read(tmp_path / "a.txt", format=str(whole))
    with pytest.raises(TrilabelError, match="no format to write named"):
        tl.data.write(tl.data.read(tmp_path / "a.txt", format=f"{file}:Lines"), tmp_path / "b", f"{file}:Lines")


def test_where_registered_components_came_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tl.register_method("here", Mine)
    here = METHODS.origin("here")
    assert here is not None and here.file == __file__ and len(here.sha256) == 64
    tl.register_method("ours", type("X", (KnownOnly,), {"__module__": "torch.nn"}))
    assert METHODS.origin("ours") == plugins.Origin(package="torch", version=version("torch"))
    monkeypatch.setitem(sys.modules, "cell", ModuleType("cell"))
    tl.register_method("notebook", type("Y", (KnownOnly,), {"__module__": "cell"}))
    assert str(METHODS.origin("notebook")) == "module cell"
    file = write_code(tmp_path, code="import trilabel as tl\nfrom trilabel.methods.known_only import KnownOnly\n"
                      "@tl.register_method('in-a-file')\nclass M(KnownOnly): pass\n")  # fmt: skip
    use(str(file))
    origin = METHODS.origin("in-a-file")
    assert origin == METHODS.origin(f"{file}:M") and origin is not None and origin.file == str(file)


def test_another_process_gets_what_this_one_has(tmp_path: Path) -> None:
    file = write_code(tmp_path)
    use(f"{file}:Mine")
    tl.register_method("mine", Mine)
    used = plugins.in_use()
    with new_process():
        assert "mine" not in METHODS and f"{file}:Mine" not in METHODS
        plugins.restore(used)
        plugins.restore(used)  # the process that started the others has everything already
        assert METHODS["mine"] is Mine and METHODS[f"{file}:Mine"].__name__ == "Mine"
        assert times_run(file) == 2
    with new_process(), pytest.raises(TrilabelError, match="has changed since this run loaded it"):
        file.write_text("")
        plugins.restore(used)


def test_the_processes_of_a_run_have_it_too(
    in_two: two_processes.Run, small_scenes: Dataset, quick: tl.Config, tmp_path: Path
) -> None:
    file = write_code(tmp_path)
    names = [use(f"{file}:{name}") for name in ("Mine", "Largest")]
    config = replace(quick, method=names[0], head=names[1], epochs=1, device="cpu", devices=2)
    split, folder = split_for_training(small_scenes, config), RunFolder(tmp_path / "run")
    in_two(two_processes.do_work, ProcessWork(split, config, folder, False, False, {}))
    assert times_run(file) == 3 and folder.read().plugins["method"] == METHODS.origin(names[0])
    assert tl.load(folder.path).evaluate(small_scenes, "val")["images"] == 48


def test_a_class_that_no_other_process_can_import_is_told() -> None:
    class Hidden(KnownOnly):
        """In a function."""

    tl.register_method("hidden", Hidden)
    used = plugins.in_use()
    with new_process(), pytest.raises(TrilabelError, match=r"method 'hidden': other processes cannot import .*Hidden"):
        plugins.restore(used)
