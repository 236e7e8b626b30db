"""How the processes of a run are asked to stop; none is started here."""

from types import SimpleNamespace

import pytest

from trilabel.training import spawning


@pytest.mark.parametrize(("system", "told"), [("posix", [7, 9]), ("nt", [])])
def test_all_are_asked_at_once_and_have_one_deadline(
    monkeypatch: pytest.MonkeyPatch, system: str, told: list[int]
) -> None:
    """On Windows the same call would end them before they save."""
    now, killed = 0.0, list[int]()

    def join(seconds: float) -> None:
        nonlocal now
        now += seconds  # none of them ends

    processes = [SimpleNamespace(pid=pid, exitcode=code, join=join) for pid, code in ((7, None), (8, 0), (9, None))]
    monkeypatch.setattr(spawning, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(spawning, "os", SimpleNamespace(name=system, kill=lambda pid, _: killed.append(pid)))
    spawning._interrupt(processes)
    assert killed == told and now == spawning._SECONDS_TO_SAVE
