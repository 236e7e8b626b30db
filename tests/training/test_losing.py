"""Processes that end together tell one reason; threads stand for them here."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from torch.distributed import TCPStore

from tests.support import SECONDS_UNTIL_HUNG
from trilabel.training import losing

BROKEN = RuntimeError("Connection closed by peer [127.0.0.1]")


@pytest.fixture
def store() -> Iterator[TCPStore]:
    yield TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)


def meeting(store: TCPStore, rank: int, count: int, on_machine: int) -> losing._Meeting:
    own = TCPStore("127.0.0.1", store.port, is_master=False, wait_for_workers=False)
    return losing._Meeting(own, rank, count, rank // on_machine, rank - rank % on_machine)


def told(error: Exception, folder: Path, at: losing._Meeting) -> str:
    cause = losing._cause(error, folder, at)
    return "" if cause is None else str(cause)


def test_if_nobody_is_missing_nobody_is_lost(store: TCPStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losing, "_SECONDS_TO_MEET", SECONDS_UNTIL_HUNG)
    with ThreadPoolExecutor(3) as threads:
        said = list(threads.map(lambda rank: told(BROKEN, tmp_path, meeting(store, rank, 3, 2)), range(3)))
    assert said == ["the connection between processes was lost; start it again", "", said[0]], "one on each machine"


def test_the_one_that_says_nothing_is_lost(store: TCPStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losing, "_SECONDS_TO_MEET", 0.2)
    first, second = (meeting(store, rank, 3, 3) for rank in range(2))
    second.say("left")
    assert told(BROKEN, tmp_path, first).startswith("process 3 of 3 (rank 2) was lost, perhaps for lack of memory")
    assert told(BROKEN, tmp_path, second) == ""


def test_the_cause_is_told_where_it_is(store: TCPStore, tmp_path: Path) -> None:
    at = [meeting(store, rank, 3, 2) for rank in range(3)]
    assert [told(error, tmp_path, at[rank]) for rank, error in enumerate((ValueError("x"), BROKEN, BROKEN))] == [
        "x",
        "",
        "rank 0 of 3 processes failed, see there; start it again",
    ]


def test_the_same_error_is_told_once_on_each_machine(store: TCPStore) -> None:
    errors = [ValueError("x"), ValueError("x"), ValueError("x"), ValueError("y")]
    found = [losing._is_told(error, meeting(store, rank, 4, 2)) for rank, error in enumerate(errors)]
    assert found == [False, True, False, False]


def test_without_the_store_each_tells_what_it_knows(tmp_path: Path) -> None:
    assert losing._cause(error := ValueError("x"), tmp_path, None) is error
    assert str(losing._cause(BROKEN, tmp_path, None)) == ("the connection to other processes was lost; start it again")
