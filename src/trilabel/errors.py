"""TrilabelError: the input is wrong; the message explains what to do about it."""

import errno
import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

_MOST_NAMES = 150  # enough for all recipes, but not for the classes of Open Images
# What the system may refuse, in words, and what a person can do about it.
_SYSTEM = {
    "ENOSPC": ("no space left on its disk", "free some"),
    "EDQUOT": ("your quota of this disk is used up", "delete something or ask for more"),
    "EFBIG": ("too large for its disk or for the limit of a file's size", "choose another disk or raise `ulimit -f`"),
    "EROFS": ("its disk is read-only", "choose another place or make it writable"),
    "EACCES": ("permission denied", "change its permissions or those of its folder, or choose another"),
    "EPERM": ("not permitted", "change its permissions or those of its folder, or choose another"),
    "EISDIR": ("a folder, where a file should be", "put the file in its place"),
    "EIO": ("the disk failed to read or write it", "check the disk"),
    "EMFILE": ("too many open files", "raise `ulimit -n` or lower --workers"),
    "ENAMETOOLONG": ("the name is too long", "choose a shorter one"),
}


class TrilabelError(ValueError):
    """Wrong input. Its message is one line: what is wrong, where, and what to do.

    The command line prints the message without a traceback and exits with 1.
    """


def unknown_name_error(kind: str, name: str, names: Iterable[str]) -> TrilabelError:
    """The error for an unknown name of this `kind`; lists the known names and suggests the most similar one.

    >>> print(unknown_name_error("head", "weldom", ["gap", "weldon"]))
    no head named 'weldom'; there are: gap, weldon; did you mean 'weldon'?
    """
    known = list(names)
    near = get_close_matches(name, known, 1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(known[:_MOST_NAMES]) + (f", … ({len(known):,} in all)" if len(known) > _MOST_NAMES else "")
    return TrilabelError(f"no {kind} named {name!r}; there are: {shown}{meant}")


def system_error(error: OSError, file: str | Path | None = None, then: str = "") -> TrilabelError:
    """The error for what the operating system refused: the file, the reason, what to do, and what to do `then`.

    file: if the error itself names none.

    >>> print(system_error(OSError(errno.ENOSPC, "No space left on device"), "runs/first", "run again"))
    runs/first: no space left on its disk; free some, then run again
    """
    name = error.filename if error.filename is not None else file
    where = "" if name is None else f"{os.fsdecode(name) if isinstance(name, bytes) else name}: "
    code = errno.errorcode.get(error.errno or 0, "")
    reason, advice = _SYSTEM.get(code, ((error.strerror or str(error) or type(error).__name__).lower(), ""))
    steps = ", then ".join(step for step in (advice, then) if step)
    return TrilabelError(f"{where}{reason}{'; ' if steps else ''}{steps}")


def explain(error: Exception, unforeseen: str = "") -> str:
    """Whatever went wrong, in one line; that of an error that nobody foresaw ends with `unforeseen`.

    >>> explain(OSError(errno.ENOSPC, "No space left on device", "runs/first")), explain(KeyError("x"), " (a defect)")
    ('runs/first: no space left on its disk; free some', "KeyError: 'x' (a defect)")
    """
    if isinstance(error, TrilabelError):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None:
        return str(system_error(error))
    first = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {first}{unforeseen}"


def one_line(error: BaseException) -> str:
    """The message of an error on one line, not too long to be put into another."""
    return " ".join(str(error).split())[:200] or type(error).__name__
