"""Reading a data set from a .zip: files of labels are unpacked to a temporary folder, images stay where they are.

In that folder an empty file stands for each image, so that readers see which images there are.
"""

import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trilabel.archives import standing_in
from trilabel.archives.zip_members import DAMAGED
from trilabel.data.image_paths import RootedPaths, is_image
from trilabel.data.text_files import shown
from trilabel.errors import TrilabelError
from trilabel.input_files import TEXT_BYTES, check_regular, is_raised, limit, too_much
from trilabel.labels.names import Names

_MOST_MEMBERS = 1_000_000
_MOST_RATIO, _SMALL = 200, 256 << 20  # of text that is larger than this; a bomb has up to 1,032
_LABELS = {".csv", ".tsv", ".txt", ".lst", ".gz", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".names", ".data", ".dat"}
_LABELS |= {".parquet", ".arrow", ".feather"}


def is_archive(path: Path) -> bool:
    """Whether this is a file called .zip."""
    return path.suffix.lower() == ".zip" and path.is_file()


@dataclass(frozen=True)
class Mounted:
    """An archive that is being read."""

    archive: Path
    folder: Path  # with its files of labels
    has_images: bool

    def shown(self, text: str) -> str:
        """A text with the archive instead of the temporary folder."""
        return text.replace(str(self.folder), str(self.archive))

    def paths(self, paths: Sequence[str] | None) -> Sequence[str] | None:
        """Paths in the archive instead of the temporary folder."""
        if not isinstance(paths, RootedPaths):
            return None if paths is None else list(map(self.shown, paths))
        absolute = any(str(self.folder) in name for name in paths.names[:1])
        return RootedPaths(self.shown(paths.root), Names(map(self.shown, paths.names)) if absolute else paths.names)


@contextmanager
def mounted(path: Path) -> Iterator[Mounted]:
    """The archive as a folder, for the time of this context; what its readers complain about is named as in it."""
    check_regular(path)
    with tempfile.TemporaryDirectory(prefix="trilabel-") as temporary:
        folder = Path(temporary).resolve() / "archive"
        folder.mkdir()
        try:
            with zipfile.ZipFile(path) as archive:
                members = _members(path, archive)
                _unpack(archive, members, folder)
        except TrilabelError:
            raise
        except DAMAGED as error:
            raise TrilabelError(f"{path}: cannot be read as an archive ({error})") from None
        except OSError as error:
            raise TrilabelError(f"{path}: cannot be unpacked ({error.strerror or error})") from None
        inside = Mounted(path, folder, any(is_image(member.filename) for member in members))
        try:
            with standing_in(folder, path):
                yield inside
        except TrilabelError as error:
            raise TrilabelError(inside.shown(str(error))) from None


def _members(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """The files in the archive that may be labels or images, after all checks."""
    every = archive.infolist()
    if len(every) > _MOST_MEMBERS:
        raise TrilabelError(f"{path}: has {len(every):,} files, more than the {_MOST_MEMBERS:,} allowed; unpack it")
    for member in every:
        if _escapes(member.filename):
            raise TrilabelError(f"{path}: its file {shown(member.filename)} leads out of the archive; do not trust it")
    kept = [member for member in every if not member.is_dir() and not _is_hidden(member.filename)]
    kept = [member for member in kept if is_image(member.filename) or _has_labels(member.filename)]
    if not kept:
        raise TrilabelError(f"{path}: contains neither labels nor images")
    _refuse_bombs(path, [member for member in kept if _has_labels(member.filename)])
    return kept


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or name.startswith(("/", "\\")) or ":" in parts[0]


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in name.split("/"))


def _has_labels(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _LABELS


def _refuse_bombs(path: Path, members: list[zipfile.ZipInfo]) -> None:
    if locked := [member.filename for member in members if member.flag_bits & 1]:
        raise TrilabelError(f"{path}: its file {shown(locked[0])} is encrypted; unpack it, and give the folder")
    size, packed = sum(member.file_size for member in members), sum(member.compress_size for member in members)
    allowed = limit(TEXT_BYTES)
    if not is_raised(TEXT_BYTES):
        allowed = min(allowed, shutil.disk_usage(tempfile.gettempdir()).free // 2)
    if size > allowed:
        raise TrilabelError(f"{path}: {too_much(f'its labels unpack to {size:,} bytes', allowed, TEXT_BYTES)}")
    if size > _SMALL and size > _MOST_RATIO * packed and not is_raised(TEXT_BYTES):
        raise TrilabelError(
            f"{path}: {packed:,} bytes unpack to {size:,}, as in a file that is made to fill disks; if you trust it, "
            "unpack it, and give the folder"
        )


def _unpack(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path) -> None:
    for member in members:
        target = folder / member.filename
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_image(member.filename):
            target.touch()
            continue
        with archive.open(member) as source, target.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
