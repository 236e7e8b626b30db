"""The library is silent unless it is asked; the command line shows lines and, on a terminal, a bar."""

import io
import logging
import sys
from types import SimpleNamespace

import pytest

import trilabel as tl
from tests.support.stopped import forked_script
from trilabel.log import is_shown, log, progress, quiet, shown, track, truncate_list

TRAIN = """
import sys
import trilabel as tl
tiny = tl.data.scenes(train=16, val=8, test=8, size=32)
tl.train(tiny, tl.Config(method="known-only", epochs=1, image_size=16, workers=0, device="cpu"), sys.argv[1])
"""


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def not_logging(caplog):
    """As in a program that did not turn logging on."""
    with caplog.at_level(logging.NOTSET, "trilabel"):
        yield


def work(total=3):
    """Something that takes a while."""
    return list(track(range(total), "working", total))


# ---- the library


def test_training_from_python_prints_nothing(tmp_path):
    """Nor does importing it, which `test_two_processes_train_and_score_every_image_once` looks at."""
    done = forked_script(TRAIN, [tmp_path / "run"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "run" / "best.safetensors").is_file()


def test_training_is_logged_where_logging_is_on(small_scenes, quick, tmp_path, caplog, capsys):
    tl.train(small_scenes, quick, tmp_path / "run")
    lines = [record.getMessage() for record in caplog.records if record.name == "trilabel"]
    assert any("epoch 2 of 2" in line and "loss" in line for line in lines), lines
    assert capsys.readouterr() == ("", "")


def test_logging_as_for_any_library(not_logging, capsys):
    """basicConfig adds such a handler to the root."""
    handler = logging.StreamHandler(stream := io.StringIO())
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        log.info("not asked for")
        log.warning("%s", "100 %")
        root.setLevel(logging.INFO)
        log.info("asked for")
    finally:
        root.removeHandler(handler)
        root.setLevel(logging.WARNING)
    assert stream.getvalue() == "100 %\nasked for\n"
    assert capsys.readouterr() == ("", "")


# ---- shown


def test_shown_lines_go_to_standard_error(not_logging, capsys):
    log.info("before")
    with shown():
        assert is_shown()
        with shown():
            log.info("once")
        log.warning("doubtful")
    log.warning("after")
    assert not is_shown() and log.level == logging.NOTSET
    assert capsys.readouterr() == ("", "once\nwarning: doubtful\n")


def test_a_warning_is_shown_once(not_logging, capsys):
    for _ in range(2):  # for every command anew
        with shown():
            log.warning("half of it is missing")
            log.info("line")
            log.warning("half of it is missing")
            log.info("line")
        assert capsys.readouterr().err.splitlines() == ["warning: half of it is missing", "line", "line"]


def test_shown_ends_with_an_error(not_logging, capsys):
    with pytest.raises(KeyError), shown():
        raise KeyError
    assert not is_shown() and log.level == logging.NOTSET


def test_not_enabled_shows_nothing(not_logging, capsys):
    with shown(False):
        assert not is_shown()
        log.warning("unseen")
    assert capsys.readouterr() == ("", "")


# ---- quiet


def test_quiet_leaves_warnings(capsys):
    with shown():
        with quiet(), quiet():
            log.info("one of many")
            log.warning("seen")
        log.info("back")
    assert capsys.readouterr().err == "warning: seen\nback\n"


def test_quiet_does_not_show_what_the_program_turned_off(caplog):
    with caplog.at_level(logging.ERROR, "trilabel"):
        with quiet():
            log.warning("turned off")
        assert log.level == logging.ERROR
    assert not caplog.records


# ---- progress


def test_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with shown():
        assert work() == [0, 1, 2]
        assert "working" in terminal.getvalue() and "\x1b[" in terminal.getvalue()
        for hidden in (lambda: work(), lambda: list(track([1], "hidden", 1, shown=False))):
            before = terminal.getvalue()
            with quiet(bars=True):
                hidden()
            assert terminal.getvalue() == before
        with quiet():
            work()
        assert terminal.getvalue() != before, "a bar is no line of a log"


def test_no_bar_for_python_users(monkeypatch, not_logging):
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    work()
    assert terminal.getvalue() == ""


def test_lines_elsewhere_after_two_seconds_and_every_ten(monkeypatch, capsys):
    now = 100.0
    monkeypatch.setattr("trilabel.log.time", SimpleNamespace(monotonic=lambda: now))
    with shown(), progress("working", 30) as advance:
        for _ in range(30):
            now += 1
            advance(words="loss 0.5")
    assert capsys.readouterr().err.splitlines() == [f"working: {done}/30 loss 0.5" for done in (2, 12, 22)]


def test_a_total_that_was_estimated_too_low_is_left_out(monkeypatch, capsys):
    now = 100.0
    monkeypatch.setattr("trilabel.log.time", SimpleNamespace(monotonic=lambda: now))
    with shown(), progress("reading", 15) as advance:
        for _ in range(30):
            now += 1
            advance()
    assert capsys.readouterr().err.splitlines() == ["reading: 2/15", "reading: 12/15", "reading: 22"]
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with shown(), progress("reading", 15) as advance:
        advance(15)
        advance(7, "words")
    assert "22/?" in terminal.getvalue() and "22/15" not in terminal.getvalue()


def test_short_work_logs_no_progress(monkeypatch, capsys):
    monkeypatch.setattr("trilabel.log.time", SimpleNamespace(monotonic=lambda: 100.0))
    with shown():
        assert work() == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_the_first_names_and_a_count():
    assert truncate_list(["a", "b", "c"]) == "'a', 'b', 'c'"
    assert truncate_list(["a", "b", "c"], most=1) == "'a' and 2 more"
    assert truncate_list([]) == ""


# ---- what others wrote


def test_nothing_in_a_message_is_obeyed_by_the_terminal(not_logging, capsys):
    with shown():
        log.warning("class '%s'", "\x1b[31m\n\u202e")
        log.info(f"100 % of {'x' * 5000}")
    first, second, _ = capsys.readouterr().err.split("\n")
    assert first == "warning: class '\\x1b[31m\\n\\u202e'"
    assert second.startswith("100 % of xxx") and "x…x" in second and len(second) < 500


def test_other_handlers_get_the_same_line(caplog):
    log.warning("class %r and %s", "cat", "\x1b[31m")
    assert caplog.messages == ["class 'cat' and \\x1b[31m"]


def test_the_name_of_a_file_beside_a_bar_is_shown_as_it_is(monkeypatch, not_logging):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with shown(), progress("reading [red]\x1b[2J\n.csv", 3) as advance:
        advance(1, "[bold]\x07")
    written = terminal.getvalue()
    assert "[red]\\x1b[2J\\n.csv" in written and "\x1b[2J\n.csv" not in written and "\x07" not in written
