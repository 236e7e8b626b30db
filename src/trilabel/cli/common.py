"""What the commands share: how data is named and read, and how settings are given."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from trilabel.config import Config
from trilabel.errors import TrilabelError

if TYPE_CHECKING:
    from trilabel.data import Dataset


class UsageError(Exception):
    """The arguments do not go together; exit code 2."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """How to read a data set; the same for every command."""

    format: str | None = None
    """How to read the data (trilabel data formats lists them); none: find out."""
    read: tuple[str, ...] = ()
    """Options of the format, NAME=VALUE, such as unlisted=absent; trilabel data formats lists them."""
    images: str | None = None
    """Folder of the images; none: where the format has them, for a table its own folder."""
    missing: Literal["keep", "drop"] = "keep"
    """Images without a file: keep their labels, or leave them out."""
    splits: tuple[str, ...] = ()
    """NAME=FILE (ids, one per line), NAME=SHARE or NAME=NUMBER (drawn from train), such as val=val.txt test=0.2."""
    values: Literal["auto", "binary", "signed"] = "auto"
    """Numbers in a table. binary: 1 present, 0 absent. signed: 1 present, −1 absent, 0 unknown."""
    ignore: tuple[str, ...] = ()
    """Columns of a table that are no classes."""
    delimiter: str | None = None
    """What separates the cells of a table; none: by the ending of its name and its first line."""
    conflict: Literal["error", "unknown", "majority"] = "error"
    """What becomes of a label that a table gives both as present and as absent."""
    difficult: Literal["unknown", "absent", "present"] = "unknown"
    """What a PASCAL VOC class is in an image where all its objects are marked difficult."""
    year: int | None = None
    """Which PASCAL VOC or COCO, where there are several."""

    def options(self) -> dict[str, Any]:
        """What differs from the default, for `data.read` and for the run folder."""
        chosen = {f.name: getattr(self, f.name) for f in fields(Source)}
        return {name: value for name, value in chosen.items() if value != getattr(Source, name)}


def read_data(data: str, options: Mapping[str, Any], how: str = "pass") -> "Dataset":
    """A data set by path, or the embedded scenes by name; `how` an option can be given, for a hint."""
    from trilabel import data as readers
    from trilabel.log import log

    if data == "scenes" and not Path(data).exists():
        return readers.scenes()
    reader, chosen = _reading(data, options)
    dataset = readers.read(data, **chosen)
    for note in dataset.notes:
        log.info(f"{data}: {note}")
    default = getattr(reader.get("unlisted"), "default", None)
    lists = not any(note.startswith("empty cells") for note in dataset.notes)  # tables with values say it themselves
    if lists and "unlisted" not in chosen and default == "unknown" and not (dataset.labels.csr.data < 0).any():
        log.info(f"{data}: if what is not listed is absent, {how} --read unlisted=absent")
    return dataset


def _reading(data: str, options: Mapping[str, Any]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """(what can be said to the reader of this data, what is said to `data.read`)."""
    from trilabel.data import formats

    if not Path(data).exists():
        raise TrilabelError(f"{data}: no such file or folder")
    splits = _named_once("--splits", options.get("splits", ()))
    texts = _named_once("--read", options.get("read", ()))
    format = formats.format_of(Path(data), options.get("format"))
    reader = formats.FORMATS[format].read
    chosen = {name: value for name, value in options.items() if name != "read"}
    for name in texts:
        if name in chosen:
            raise UsageError(f"--{name} and --read {name}: say it once")
    chosen |= formats.options_from_text(Path(data), reader, texts)
    chosen |= {"format": format, "splits": {name: _number(what) for name, what in splits.items()}}
    if format == "native":
        chosen.setdefault("verify", True)  # whoever waits for a command can wait for that, too
    return formats.options_of(reader), chosen


def read_data_or_own(data: str, options: Mapping[str, Any], run: Path) -> "Dataset":
    """The data set that is named, or else the one that a run was trained on, with nothing hidden."""
    from trilabel.training.run_folder import RunFolder

    source = {"data": data, **options} if data else dict(RunFolder(run).read()["source"])
    if not source:
        raise UsageError("this run does not know its data (it was started from Python); name it")
    if not data and options:
        raise UsageError(f"{', '.join(options)}: name the data that these are for, too")
    return read_data(source.pop("data"), {k: v for k, v in source.items() if not k.startswith("hide")})


def read_source(source: Mapping[str, Any], config: Config) -> "Dataset":
    """The data set of a run, with the training labels hidden that the run hides."""
    from trilabel.labels import simulate
    from trilabel.training.splits import split_for_training

    options = {name: value for name, value in source.items() if name not in ("data", "hide", "hide_seed")}
    dataset = read_data(source["data"], options)
    if "hide" not in source:
        return dataset
    _, rows, _ = split_for_training(dataset, config)
    return dataset.with_labels(simulate.apply_to_rows(dataset.labels, rows, source["hide"], source["hide_seed"]))


def choices(settings: type[Any]) -> dict[str, str]:
    """What may be given for each setting of a method: its default, and after it the others where they are few."""
    hints = get_type_hints(settings)
    found = {}
    for f in fields(settings):
        others = [other for other in get_args(hints[f.name]) if other != f.default]
        words = [f.default, *others] if get_origin(hints[f.name]) is Literal else [f.default]
        found[f.name] = "|".join("none" if word is None else "…" if word == () else str(word) for word in words)
    return found


def set_words(choices: Mapping[str, str], prefix: str = "", option: str = "--set") -> list[str]:
    """How to set a part's settings, in one line; no line where it has none."""
    words = " ".join(f"{prefix}{name}={choice}" for name, choice in choices.items())
    return [f"{option} {words}"] if words else []


def absolute(text: str | None) -> str | None:
    """A path that exists made absolute, so that a run can be resumed and scored from another folder."""
    return str(Path(text).absolute()) if text and Path(text).exists() else text


def from_anywhere(source: Mapping[str, Any]) -> dict[str, Any]:
    """How data is named and read, with the paths in it made absolute; words that happen to be files are left alone."""
    from trilabel.data import formats

    if source["data"] == "scenes" and not Path("scenes").exists():
        return dict(source)
    found = {**source, "data": absolute(source["data"])}
    if "images" in source:
        found["images"] = absolute(source["images"])
    splits = _named_once("--splits", source.get("splits", ()))
    lists = {name for name, what in splits.items() if isinstance(_number(what), str)}
    found["splits"] = [_absolute_value("--splits", text, lists) for text in source.get("splits", ())]
    if not Path(source["data"]).exists():
        raise TrilabelError(f"{source['data']}: no such file or folder")
    if source.get("read"):
        reader = formats.FORMATS[formats.format_of(Path(source["data"]), source.get("format"))].read
        paths = {name for name, kind in formats.options_of(reader).items() if Path in get_args(kind.annotation)}
        found["read"] = [_absolute_value("--read", text, paths) for text in source["read"]]
    return {name: value for name, value in found.items() if name in source}


def _absolute_value(option: str, text: str, paths: Container[str]) -> str:
    name, value = name_and_value(option, text)
    return f"{name}={absolute(value)}" if name in paths else text


def name_and_value(option: str, text: str) -> tuple[str, str]:
    """NAME=VALUE as a pair."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text}: write NAME=VALUE")
    return name, value


def _named_once(option: str, texts: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE … as a dictionary; a name may stand once."""
    found: dict[str, str] = {}
    for name, value in (name_and_value(option, text) for text in texts):
        if found.setdefault(name, value) != value:
            raise UsageError(f"{option} {name}: say it once")
    return found


def check_new(out: Path, overwrite: bool) -> None:
    """Refuses to replace a file, or to write among what is in a folder already, unless told to."""
    if out.is_file() and not overwrite:
        raise TrilabelError(f"{out}: this file exists; choose another, or pass --overwrite")
    if not out.is_file():
        check_folder(out, overwrite)


def check_folder(out: Path, overwrite: bool) -> None:
    """Refuses to write among what is in a folder already, unless told to."""
    if out.is_file():
        raise TrilabelError(f"{out}: this is a file; name a folder")
    if not overwrite and out.is_dir() and any(out.iterdir()):
        raise TrilabelError(f"{out}: this folder exists; choose another, or pass --overwrite")


def at_least_one(**options: int) -> None:
    """Refuses numbers below 1."""
    for name, value in options.items():
        if value < 1:
            raise UsageError(f"--{name} {value}: give 1 or more")


def _number(text: str) -> float | str:
    """A number of images, a share of them, or the name of a file."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
