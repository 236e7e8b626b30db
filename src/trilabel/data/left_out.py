"""Images that are left out are all named: in a file, or in the log."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from trilabel.data.heif import HEIF_EXTENSIONS, HOW_TO_READ, can_read_heif
from trilabel.files import write_text
from trilabel.log import log
from trilabel.printable import plural, printable

_MOST_KINDS = 5


def log_left_out(messages: Sequence[str], images: int, file: Path | None = None) -> None:
    """Warns that some of so many images could not be read, and says where they are listed; without a file, lists them.

    messages: what is wrong with each, which begins with its path.
    """
    if not messages:
        return
    words = f"{len(messages):,} of {plural(images, 'image')} left out"
    if file is not None:
        log.warning(f"{words}, listed in {file}; the first: {messages[0]}")
        return
    log.warning(f"{words}:")
    for message in messages:
        log.info(f"left out: {message}")


def write_left_out(messages: Sequence[str], file: Path) -> None:
    """A list of what was left out, one image per line."""
    write_text(file, "".join(f"{printable(message)}\n" for message in messages))


def readable_images(files: Sequence[str], images: Sequence[str]) -> tuple[list[str], list[str]]:
    """(the images that can be read, what to say of the other files that were found beside them)."""
    unread = [] if can_read_heif() else [name for name in images if name.lower().endswith(HEIF_EXTENSIONS)]
    notes = []
    if unread:
        notes.append(f"{plural(len(unread), 'HEIC image')} left out, such as {unread[0]!r}; {HOW_TO_READ}")
    others = Counter(PurePosixPath(name).suffix.lower() for name in set(files).difference(images))
    if others:
        kinds = [f"{count:,} {kind or 'without extension'}" for kind, count in others.most_common(_MOST_KINDS)]
        more = ", …" if len(others) > _MOST_KINDS else ""
        what = plural(others.total(), "file that is no image is", "files that are no images are")
        notes.append(f"{what} left out ({', '.join(kinds)}{more})")
    left = set(unread)
    return [name for name in images if name not in left], notes
