"""FiftyOne itself, with a database in memory (mongomock) where it would start a MongoDB."""

import os
from typing import Any

import pytest


def import_fiftyone() -> Any:
    """The package; the test is skipped if it, or the database, is not installed."""
    mongomock = pytest.importorskip("mongomock")
    os.environ |= {
        "FIFTYONE_DATABASE_URI": "mongodb://localhost",
        "FIFTYONE_DATABASE_VALIDATION": "false",
        "FIFTYONE_DISABLE_SERVICES": "1",
        "FIFTYONE_DO_NOT_TRACK": "1",
        "FIFTYONE_SHOW_PROGRESS_BARS": "false",
    }
    pymongo, mongoengine = pytest.importorskip("pymongo"), pytest.importorskip("mongoengine")
    store, connect = mongomock.store.ServerStore(), mongoengine.connect

    class Client(mongomock.MongoClient):  # type: ignore[misc, name-defined]
        """Every connection is to the same database."""

        _closed = False

        def __init__(self, *place: Any, **options: Any) -> None:
            known = {name: value for name, value in options.items() if name in ("host", "port")}
            super().__init__(*place, **known, _store=store)

    pymongo.MongoClient = Client
    mongoengine.connect = lambda *place, **options: connect(*place, mongo_client_class=Client, **options)
    return pytest.importorskip("fiftyone")
