"""The folder of each run of a comparison, named by what can change its result."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any

from trilabel.compare.store import is_finished
from trilabel.config import Config
from trilabel.locks import try_lock
from trilabel.training.resume import MAY_CHANGE

# Where and how fast a run is made. Devices round differently, but no run is made again for that.
WITHOUT_EFFECT = MAY_CHANGE - {"patience", "epochs"}
_DIGITS = 8


def run_folder(parent: Path, name: str, config: Config, scored: Sequence[Any]) -> Path:
    """A folder for each configuration and way of scoring (`scored`), so that results cannot be confused.

    A run that an earlier version made has another name, since versions name by other fields of the configuration; its
    file config.json says by which. It is given the name that it has now.
    """
    settings = config.to_json()
    folder = parent / f"{name}-{_digest(settings, settings.keys() - WITHOUT_EFFECT, scored)}"
    if folder.is_dir():
        return folder
    earlier = [each for each in sorted(parent.glob(f"{escape(name)}-{'?' * _DIGITS}")) if _is_of(each, config, scored)]
    if not earlier:
        return folder
    found = min(earlier, key=lambda each: not is_finished(each))
    with try_lock(found) as locked:
        if not locked:  # another process is working there
            return found
        with suppress(OSError):  # another process may have renamed it just now
            found.rename(folder)
    return folder if folder.is_dir() else found


def _is_of(folder: Path, config: Config, scored: Sequence[Any]) -> bool:
    """Whether a folder is named by this configuration, with the fields that it had then."""
    try:
        then = dict(json.loads((folder / "config.json").read_text(encoding="utf-8"))["config"])
    except (OSError, ValueError, KeyError, TypeError):
        return False
    now, default = config.to_json(), Config().to_json()
    if any(now[name] != default[name] for name in now.keys() - then.keys() - WITHOUT_EFFECT):
        return False  # what it does not say was as it is by default
    mixed = now | {name: value for name, value in then.items() if name in WITHOUT_EFFECT}
    named_by = (then.keys() & now.keys(), (then.keys() & now.keys()) - WITHOUT_EFFECT)
    return folder.name[-_DIGITS:] in [_digest(mixed, names, scored) for names in named_by]


def _digest(settings: Mapping[str, Any], names: Collection[str], scored: Sequence[Any]) -> str:
    about = [{name: settings[name] for name in names}, *scored]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:_DIGITS]
