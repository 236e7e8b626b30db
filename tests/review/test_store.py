"""The file of answers: what counts, what is kept, what is refused."""

import sqlite3
import threading
from pathlib import Path

import pytest

from trilabel.errors import TrilabelError
from trilabel.review.store import AnswerStore, Record, confirmed, is_store, last_words, read_answers, read_records
from trilabel.review.writer import AnswerWriter


def record(image: str = "a.jpg", cls: str = "cat", value: int = 1, who: str = "anna", **more: object) -> Record:
    base = Record("b", image, cls, value, False, who, "2026-01-31T12:00:00.000Z", "grid", "", 1, 0.9, "runs/first", "p")
    return base._replace(**more)  # type: ignore[arg-type]


def test_every_answer_is_kept_and_the_last_word_counts(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "new" / "answers.db")
    given = [
        record(batch="1", value=1),
        record(batch="2", cls="dog", value=-1),
        record(batch="3", value=-1),
        record(batch="4", cls="dog", value=0, undone=True),
        record(batch="5", who="ben", value=0),
    ]
    for one in given:
        store.add([one])
    assert read_records(store.path) == given  # while it is open
    store.close()
    first, second = read_answers(store.path)
    assert first == ("a.jpg", "cat", -1, "anna", "2026-01-31T12:00:00.000Z", "grid", False, 1, 0.9)
    assert (second.cls, second.who, second.value) == ("cat", "ben", 0)


def test_what_was_drawn_at_random_stays_so_when_it_is_answered_again(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.db")
    store.add([record(batch="1", drawn="all"), record(batch="1", cls="dog", drawn="class")])
    store.add([record(batch="2", value=-1)])
    store.close()
    assert {one.cls: one.random for one in read_answers(store.path)} == {"cat": True, "dog": False}


def test_people_who_differ() -> None:
    def of(*values: int) -> int:
        answers = [record(value=value, who=f"person {n}") for n, value in enumerate(values)]
        return confirmed(last_words(answers))["a.jpg", "cat"]

    assert (of(1), of(1, -1), of(1, -1, -1), of(0), of(0, 1)) == (1, 0, -1, 0, 1)


def test_answers_that_are_sent_twice_are_stored_once(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.db")
    for _ in range(3):
        store.add([record(), record(cls="dog")])
    assert len(list(store.records())) == 2
    store.close()


def test_all_or_none(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.db")
    with pytest.raises(TrilabelError, match=r"answers\.db: cannot be read or written"):
        store.add([record(), record(cls="dog", value=7)])
    assert list(store.records()) == []
    store.add([record()])
    assert len(list(store.records())) == 1
    store.close()


def test_it_waits_for_the_disk_at_every_commit(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.db")
    pragmas = [store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 2]  # 2: FULL
    store.close()


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TrilabelError, match="no such file"):
        read_answers(tmp_path / "missing.db")
    text, other, later = tmp_path / "text.db", tmp_path / "other.db", tmp_path / "later.db"
    text.write_text("not a database, but long enough to be one" * 10)
    sqlite3.connect(other).execute("CREATE TABLE answers (a)").connection.close()
    AnswerStore(later).close()
    sqlite3.connect(later).execute("PRAGMA user_version = 99").connection.close()
    for path, message in ((text, "cannot be read"), (other, "not a store of answers"), (later, "another version")):
        for opening in (read_answers, AnswerStore):
            with pytest.raises(TrilabelError, match=message):
                opening(path)
    assert is_store(later) and not is_store(text) and not is_store(tmp_path) and not is_store(tmp_path / "missing.db")


def test_a_store_that_was_just_begun_is_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    assert read_answers(tmp_path / "empty.db") == []
    AnswerStore(tmp_path / "empty.db").close()
    assert read_answers(tmp_path / "empty.db") == []


def test_a_store_in_a_folder_that_is_read_only(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "sub" / "answers.db")
    store.add([record()])
    store.close()
    store.path.parent.chmod(0o500)
    try:
        assert len(read_answers(store.path)) == 1
    finally:
        store.path.parent.chmod(0o700)


def test_those_who_wait_are_written_together_and_told_when_it_is_safe(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.db")
    commits, entered, go_on = 0, threading.Event(), threading.Event()
    add = store.add

    def slow_add(records: object) -> None:
        nonlocal commits
        commits += 1
        entered.set()
        assert go_on.wait(60)
        add(records)  # type: ignore[arg-type]

    store.add = slow_add  # type: ignore[method-assign]
    writer, noted = AnswerWriter(store), list[int]()
    futures = [writer.add([record(batch="0")], lambda: noted.append(0))]
    assert entered.wait(60)
    for number in range(1, 20):  # all of them wait while the first is written
        futures.append(writer.add([record(batch=str(number))], lambda number=number: noted.append(number)))
    assert not futures[0].cancel() and not any(future.done() for future in futures)
    go_on.set()
    for future in futures:
        future.result(60)
    assert commits == 2 and noted == list(range(20)) and len(list(store.records())) == 20
    writer.close()


def test_whoever_was_written_with_a_failure_is_told(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path / "answers.db")
    writer = AnswerWriter(store)
    failed = writer.add([record(value=9)], lambda: pytest.fail("it is not safe"))
    with pytest.raises(TrilabelError):
        failed.result(60)
    writer.add([record()], lambda: None).result(60)  # the thread lives on
    writer.close()
