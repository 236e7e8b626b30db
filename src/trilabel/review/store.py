"""The answers of people in one SQLite file: every answer ever given, in order, and what counts of it.

An answer is written with who gave it, when, what was proposed and with which probability. Nothing is changed or
deleted: who changes an answer, or undoes it, adds another. Answers that `add` has returned outlast a killed process and
a power failure (write-ahead log, synchronized at every commit).
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from trilabel.data.answers import Answer, confirmed
from trilabel.errors import TrilabelError, one_line
from trilabel.input_files import check_regular

__all__ = ["Answer", "AnswerStore", "Record", "confirmed", "is_store", "last_words", "read_answers", "read_records"]

APPLICATION = 0x7472696C  # "tril": what the file says that it is for
VERSION = 1
_SCHEMA = """
CREATE TABLE answers (
    number INTEGER PRIMARY KEY,          -- in the order in which they were given
    batch TEXT NOT NULL,                 -- answers that were sent together
    image TEXT NOT NULL,
    class TEXT NOT NULL,
    value INTEGER NOT NULL CHECK (value IN (1, -1, 0)),    -- present, absent, cannot tell
    undone INTEGER NOT NULL CHECK (undone IN (0, 1)),      -- takes back the earlier answer of this person
    who TEXT NOT NULL,
    at TEXT NOT NULL,                    -- UTC, as 2026-01-31T12:00:00.000Z
    view TEXT NOT NULL,                  -- where it was asked: grid, images, mistakes, questions, audit
    drawn TEXT NOT NULL,                 -- at random from: all, class (labels proposed alike), table; empty: not
    proposed INTEGER NOT NULL CHECK (proposed IN (1, -1, 0)),
    probability REAL,                    -- that it is present
    run TEXT NOT NULL,                   -- what proposed it
    population TEXT NOT NULL,            -- what it was drawn from, when it was drawn at random
    UNIQUE (batch, image, class)         -- the same answers sent twice are stored once
) STRICT
"""
_COLUMNS = "batch, image, class, value, undone, who, at, view, drawn, proposed, probability, run, population"
# Not OR IGNORE, which would also leave out, without a word, what a check refuses.
_INSERT = (
    f"INSERT INTO answers ({_COLUMNS}) VALUES ({', '.join('?' * 13)}) ON CONFLICT (batch, image, class) DO NOTHING"
)


class Record(NamedTuple):
    """One answer as it was given; a row of the table."""

    batch: str
    image: str
    cls: str
    value: int
    undone: bool
    who: str
    at: str
    view: str
    drawn: str
    proposed: int
    probability: float | None
    run: str
    population: str


class AnswerStore:
    """A store that is open to add answers; one process has it open at a time."""

    def __init__(self, path: Path) -> None:
        if path.exists():
            is_new_store(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _told(path):
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._connection.execute("PRAGMA trusted_schema = OFF")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.execute("PRAGMA fullfsync = ON")  # macOS only: a plain fsync may stay in the disk's cache
            with self._transaction():  # a process that is killed here leaves an empty file, which is a new store
                if not self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'answers'").fetchone():
                    self._connection.execute(_SCHEMA)
                    self._connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self.path = path

    def add(self, records: Iterable[Record]) -> None:
        """Writes answers, all or none; when it returns, they are safe on the disk."""
        with _told(self.path), self._transaction():
            self._connection.executemany(_INSERT, records)

    def records(self) -> Iterator[Record]:
        """Every answer, in the order in which they were given."""
        with _told(self.path):
            yield from map(_record, self._connection.execute(f"SELECT {_COLUMNS} FROM answers ORDER BY number"))

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise


def read_answers(path: str | Path) -> list[Answer]:
    """What each person last said of each label, by time; what was undone is left out.

    Several people may have answered one question, and differently; `confirmed` says what they agree on.
    """
    return last_words(read_records(path))


def read_records(path: str | Path) -> list[Record]:
    """Every answer of a store ever given, undone ones included; a server may be writing to it."""
    path = Path(path)
    if is_new_store(path):
        return []
    with _told(path), closing(_reader(path)) as connection:
        return [_record(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM answers ORDER BY number")]


def last_words(records: Iterable[Record]) -> list[Answer]:
    """The answers that count of all that were given, by time."""
    last, drawn = dict[tuple[str, str, str], Record](), set[tuple[str, str]]()
    for record in records:
        key = (record.image, record.cls, record.who)
        last.pop(key, None)  # so that the order is that of the last answers
        if record.undone:
            continue
        last[key] = record
        if record.drawn in ("all", "table"):
            drawn.add((record.image, record.cls))
    return [
        Answer(
            one.image,
            one.cls,
            one.value,
            one.who,
            one.at,
            one.view,
            (one.image, one.cls) in drawn,
            one.proposed,
            one.probability,
        )
        for one in last.values()
    ]


def is_store(path: str | Path) -> bool:
    """Whether a file is an SQLite database, as stores are: told by its first bytes."""
    try:
        check_regular(path)
        with Path(path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, TrilabelError):
        return False


def is_new_store(path: Path) -> bool:
    """Whether a file is a store without its table yet, as a killed process may leave it; refuses what is no store."""
    try:
        empty = check_regular(path).st_size == 0
    except FileNotFoundError:
        raise TrilabelError(f"{path}: no such file; `trilabel review` makes one") from None
    with _told(path), closing(_reader(path)) as connection:
        kind, version = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
        )
        if empty or not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            return True
    if kind != APPLICATION:
        raise TrilabelError(f"{path}: not a store of answers; give another file, or the name of a new one")
    if version != VERSION:
        raise TrilabelError(f"{path}: a store of another version of trilabel ({version}, not {VERSION})")
    return False


def _reader(path: Path) -> sqlite3.Connection:
    """Reads while a server may be writing, and also in a folder where nothing may be written."""
    address = path.absolute().as_uri()
    connection = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("SELECT count(*) FROM sqlite_schema")
    except sqlite3.OperationalError:
        connection.close()
        if Path(f"{path}-wal").exists():
            raise
        connection = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    return connection


def _record(row: tuple[object, ...]) -> Record:
    record = Record(*row)  # type: ignore[arg-type]
    return record._replace(undone=bool(record.undone))


@contextmanager
def _told(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors of the file."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise TrilabelError(f"{path}: cannot be read or written as a store of answers ({one_line(error)})") from error
