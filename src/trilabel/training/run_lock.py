"""The lock of a run folder: only one process writes to it."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trilabel.errors import TrilabelError, system_error
from trilabel.locks import lock_file, owner, try_lock

_held: dict[Path, tuple[Path, os.stat_result]] = {}  # by run folder, the lock files of this process


@contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Holds the lock of a run folder; raises an error that names the process if another one has it."""
    with ExitStack() as held:
        try:
            locked, file = held.enter_context(try_lock(folder, "train")), lock_file(folder, "train")
            opened = held.enter_context(file.open("rb"))  # so that its number is not given to another file
        except OSError as error:
            error.filename = str(folder)  # nobody knows of the lock file
            raise system_error(error) from error
        if not locked:
            who = owner(folder, "train")
            raise TrilabelError(
                f"{folder}: another process is training here{who and f' ({who})'}; wait for it, stop it, or choose "
                "another --out"
            )
        _held[folder.resolve()] = file, os.fstat(opened.fileno())
        try:
            yield
        finally:
            del _held[folder.resolve()]


def lock_lost(folder: Path) -> bool:
    """Whether this process locked a run folder and somebody removed the lock since: another may train there now."""
    if (held := _held.get(folder.resolve())) is None:
        return False
    file, as_locked = held
    try:
        return not os.path.samestat(file.stat(), as_locked)
    except FileNotFoundError:
        return True
