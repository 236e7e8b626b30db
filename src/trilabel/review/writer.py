"""One thread that writes answers: those that wait while it writes are written together, with one wait for the disk."""

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from trilabel.review.store import AnswerStore, Record


class AnswerWriter:
    """Writes to a store from any thread; a future is done when its answers are safe on the disk."""

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._waiting: queue.SimpleQueue[tuple[Sequence[Record], Callable[[], None], Future[None]] | None]
        self._waiting = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="answers", daemon=True)
        self._thread.start()

    def add(self, records: Sequence[Record], then: Callable[[], None]) -> Future[None]:
        """Starts to write answers; the future has the error if that failed.

        then: called once they are safe, in the thread that writes, before the future is done.
        """
        done: Future[None] = Future()
        done.set_running_or_notify_cancel()  # whoever stops waiting does not stop the writing
        self._waiting.put((records, then, done))
        return done

    def close(self) -> None:
        """Writes what waits, and closes the store."""
        self._waiting.put(None)
        self._thread.join()
        self._store.close()

    def _write(self) -> None:
        ended = False
        while not ended:
            parts = [self._waiting.get()]
            while not self._waiting.empty():
                parts.append(self._waiting.get())
            ended = None in parts
            given = [part for part in parts if part is not None]
            try:
                self._store.add(record for records, _, _ in given for record in records)
            except Exception as error:  # also of those of others, who wait for the same disk
                for _, _, done in given:
                    done.set_exception(error)
            else:
                for _, then, done in given:
                    then()
                    done.set_result(None)
