"""WebDataset: .tar files in which 000123.jpg lies beside 000123.cls, .json or .npy with its labels."""

from pathlib import Path

from trilabel.data.dataset import Dataset
from trilabel.data.formats._shared.assemble import Unlisted, assemble
from trilabel.data.formats._shared.record_collector import LISTS, RecordCollector
from trilabel.data.formats._shared.shard_files import files_called, split_of_shard, unique_ids
from trilabel.data.formats.webdataset.samples import is_shard, read_samples
from trilabel.data.image_paths import RootedPaths
from trilabel.data.options import check_choice
from trilabel.data.text_files import read_lines
from trilabel.errors import TrilabelError
from trilabel.labels.names import Names
from trilabel.log import track

RULE = "vectors and columns of 0 and 1: 0 is absent; numbers and lists of classes: listed are present, others unknown"
_PACKED = (".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz")
_CLASS_FILES = ("classnames.txt", "classes.txt", "class_names.txt")


def detect(path: Path) -> bool:
    """Whether this is such a file, or a folder with some, itself or in its sub-folders."""
    if path.is_dir():
        found = files_called(path, (".tar",))
        return bool(found) and is_shard(path / found[0])
    return path.is_file() and (path.name.lower().endswith(_PACKED) or (path.suffix == ".tar" and is_shard(path)))


def read(
    path: Path,
    *,
    images: str | Path | None = None,
    column: str | None = None,
    image: str | None = None,
    unlisted: Unlisted = "unknown",
    separator: str | None = None,
) -> Dataset:
    """Reads all but the images, which are opened in the .tar files when they are needed.

    Labels are those of `column` (a key of .json, or the ending of a file such as cls or txt), or of the first existing
    one of labels, label, tags, cls and objects, or of .npy, or else of all keys with 0 and 1. `image` is the ending of
    the images, where a sample has several. Other options are those of Hugging Face's image folders.
    """
    check_choice(path, "unlisted", unlisted, ("unknown", "absent"))
    if path.name.lower().endswith(_PACKED):
        raise TrilabelError(f"{path}: images cannot be read in a compressed .tar; unpack it to a plain .tar")
    if images is not None:
        raise TrilabelError(f"{path}: the images are in it; leave out images")
    root = path if path.is_dir() else path.parent
    shards = files_called(path, (".tar",)) if path.is_dir() else [path.name]
    if not shards:
        raise TrilabelError(f"{path}: no .tar files here")
    classes = _class_names(root)
    found = RecordCollector(path, column, unlisted, separator, (*LISTS, "cls"))
    found.declare(classes)
    keys, inside, paths, split_of = list[Names](), list[Names](), list[Names](), list[str]()
    for shard in track(shards, "reading shards", len(shards)):
        samples = read_samples(root / shard, column, image, classes)
        found.add(samples.table)
        keys.append(Names(samples.keys))
        inside.append(Names(f"{shard.removesuffix('.tar')}/{key}" for key in samples.keys))
        paths.append(Names(f"{shard}/{name}" for name in samples.images))
        split_of += [split_of_shard(shard)] * len(samples.keys)
    if not split_of:
        raise TrilabelError(f"{path}: its .tar files have no images")
    labels = found.labels()
    return assemble(
        path,
        ids=unique_ids(Names.join(keys), split_of, lambda: Names.join(inside)),
        paths=RootedPaths(root, Names.join(paths)),
        classes=labels.classes,
        entries=labels.entries,
        absent_in=labels.absent_in,
        split_of=split_of,
        boxes=labels.boxes,
        notes=labels.notes + found.left_out(("__key__",)),
    )


def _class_names(root: Path) -> list[str]:
    """The names of classes that are numbers, one per line, from a file beside the shards or one folder up."""
    places = (folder / name for folder in (root, root.parent) for name in _CLASS_FILES)
    file = next((place for place in places if place.is_file()), None)
    names = [text for _, text in read_lines(file)] if file else []
    if len(set(names)) < len(names):
        raise TrilabelError(f"{file}: names a class twice; rename one")
    return names
