"""How commands read data: the options that they share, and the data set that they name."""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import tyro

from trilabel.cli.arguments import NamesAndValues, UsageError, absolute_path, split_pair, split_pairs
from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.plugin_files import use
from trilabel.printable import in_number
from trilabel.settings import read_as

if TYPE_CHECKING:
    from trilabel.data import Dataset
    from trilabel.training.splits import TrainingSplit

SCENES = "scenes"  # the name of the data set that is drawn by code


@dataclass(frozen=True, kw_only=True)
class DataOptions:
    """How to read the data."""

    format: str | None = None
    """The format of the data (trilabel data formats lists them), or FILE.py with one of your own; none: detect it."""
    read: NamesAndValues = ()
    """Options of the format, NAME=VALUE, such as unlisted=absent; trilabel data formats lists them."""
    images: Annotated[str | None, tyro.conf.arg(metavar="FOLDER")] = None
    """Folder of the images; none: the usual place of the format, for a table its own folder."""
    missing: Literal["keep", "drop"] = "keep"
    """Images without a file: keep their labels, or leave them out."""
    fetch: bool = False
    """Fetch images that the data names by URL (https, s3, gs, hf, …), unless they were fetched before."""
    splits: Annotated[tuple[str, ...], tyro.conf.arg(metavar="NAME=WHICH …")] = ()
    """NAME=FILE (ids, one per line), NAME=SHARE or NAME=NUMBER (drawn from train), such as val=val.txt test=0.2."""
    values: Literal["auto", "binary", "signed", "uncertain"] = "auto"
    """What 0 and −1 in a table mean. binary: both absent. signed: −1 absent, 0 unknown. uncertain: −1 unknown, 0 absent
    (CheXpert, MIMIC-CXR)."""
    ignore: tuple[str, ...] = ()
    """Columns of a table that are not classes."""
    class_columns: tuple[str, ...] = ()
    """Columns of a table that are the classes; all others are left out."""
    positive_values: tuple[str, ...] = ()
    """Words in the cells of a table that mean present, such as YES."""
    negative_values: tuple[str, ...] = ()
    """Words in the cells of a table that mean absent, such as NO."""
    unknown_values: tuple[str, ...] = ()
    """Words in the cells of a table that mean unknown, such as NA or ?."""
    none_class: str | None = None
    """A class that says of an image that it has no other, such as "No Finding": these become absent."""
    delimiter: str | None = None
    """The separator of the cells of a table; none: detected from the file extension and the first line."""
    conflict: Literal["error", "unknown", "majority"] = "error"
    """What to do with a label that a table gives both as present and as absent."""
    difficult: Literal["unknown", "absent", "present"] = "unknown"
    """The label of a PASCAL VOC class in an image where all its objects are marked difficult."""
    trainval: bool = False
    """Train on PASCAL VOC's trainval, as papers on VOC 2007 do: it becomes split train, and there is no val."""
    year: int | None = None
    """The year of PASCAL VOC or COCO, if the folder contains several."""

    def chosen(self) -> dict[str, Any]:
        """The options that differ from the default, for `read_data` and for the run folder; loads a format of yours."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.format is not None:
            values["format"] = use(self.format)
        return {name: value for name, value in values.items() if value != getattr(DataOptions, name)}


Reading = Annotated[DataOptions, tyro.conf.OmitArgPrefixes, tyro.conf.arg(help="How to read the data.")]


def read_data(data: str, options: Mapping[str, Any], how: str = "pass") -> "Dataset":
    """The data set at a path, or the scenes by their name. `how` is the start of the hint that names an option."""
    from trilabel import data as readers
    from trilabel.log import log

    if are_scenes(data):
        return readers.scenes()
    format, reader = _format_and_reader(data, options)
    arguments = _reader_arguments(data, format, reader, options)
    dataset = readers.read(data, **arguments)
    for note in dataset.notes:
        log.info(f"{data}: {in_number(note)}")
    if "unlisted" not in arguments and _may_list_all(reader, dataset):
        log.info(f"{data}: if labels that are not listed are absent, {how} --read unlisted=absent")
    return dataset


def _reader_arguments(
    data: str, format: str, reader: Callable[..., "Dataset"], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments for `trilabel.data.read`."""
    from trilabel.data import formats

    texts = split_pairs("--read", options.get("read", ()))
    arguments = {name: value for name, value in options.items() if name != "read"}
    for name in texts:
        if name in arguments:
            raise UsageError(f"--{name} and --read {name}: give one of the two")
    arguments |= formats.options_from_text(Path(data), reader, texts)
    arguments |= {"format": format, "splits": _splits(options)}
    if format == "native":
        arguments.setdefault("verify", True)  # takes seconds, which is fine for a command
    return arguments


def _may_list_all(reader: Callable[..., "Dataset"], dataset: "Dataset") -> bool:
    """Whether the data lists only positives, so that the user should know the option for labels that are not listed.

    Tables with values in their cells are recognized by their note on empty cells.
    """
    from trilabel.data import formats

    option = formats.options_of(reader).get("unlisted")
    has_cells = any(note.startswith("empty cells") for note in dataset.notes)
    has_negatives = bool((dataset.labels.csr.data < 0).any())
    return option is not None and option.default == "unknown" and not has_cells and not has_negatives


def read_data_or_own(data: str, options: Mapping[str, Any], run: Path) -> "Dataset":
    """The given data set, or else the one that the run was trained on, with no labels hidden."""
    from trilabel.training.run_folder import RunFolder

    if data:
        return read_data(data, options)
    about = None if run.is_file() else RunFolder(run).read()  # a file is an exported model
    if about is None or not about.source:
        raise UsageError("the model does not record its data (it was exported, or trained from Python); give the data")
    source = dict(about.source)
    if options:
        raise UsageError(f"{', '.join(options)}: also give the data that these options are for")
    about.require(["format"], run)
    return _read_source(source)


def read_training_data(source: Mapping[str, Any], config: Config) -> "TrainingSplit":
    """The data set of a run, split for training, with the same training labels hidden as in the run."""
    from trilabel.training.splits import split_for_training

    split = split_for_training(_read_source(source), config)
    return split.hide(source["hide"], source["hide_seed"]) if "hide" in source else split


def _read_source(source: Mapping[str, Any]) -> "Dataset":
    """The data set of a run, with no labels hidden, and without those that a model predicted."""
    own = ("data", "hide", "hide_seed", "provenance", "answers")
    dataset = read_data(source["data"], {name: value for name, value in source.items() if name not in own})
    if "provenance" not in source:
        return dataset
    from trilabel.data.provenance import without_predicted
    from trilabel.log import log

    labels = without_predicted(dataset.labels, source["provenance"])
    log.info(
        f"{source['provenance']}: {labels.known:,} labels known, {dataset.labels.known - labels.known:,} predicted"
    )
    return replace(dataset, labels=labels)


def with_absolute_paths(source: Mapping[str, Any]) -> dict[str, Any]:
    """How data is named and read, with its paths made absolute; words that happen to be file names are left alone."""
    from trilabel.data import formats

    data = source["data"]
    if "answers" in source:
        source = {**source, "answers": absolute_path(str(source["answers"]))}
    if are_scenes(data):
        return dict(source)
    files = {name for name, what in _splits(source).items() if isinstance(what, str)}
    found = {**source, "data": absolute_path(data)}
    if "images" in source:
        found["images"] = absolute_path(source["images"])
    if "splits" in source:
        found["splits"] = [_with_absolute_value("--splits", text, files) for text in source["splits"]]
    if source.get("read"):
        _, reader = _format_and_reader(data, source)
        paths = {name for name, kind in formats.options_of(reader).items() if Path in get_args(kind.annotation)}
        found["read"] = [_with_absolute_value("--read", text, paths) for text in source["read"]]
    return found


def are_scenes(data: str) -> bool:
    """Whether this names the data set that is drawn by code."""
    return data == SCENES and not Path(data).exists()


def _format_and_reader(data: str, options: Mapping[str, Any]) -> tuple[str, Callable[..., "Dataset"]]:
    from trilabel.data import formats

    if not Path(data).exists():
        raise TrilabelError(f"{data}: no such file or folder")
    format = formats.format_of(Path(data), options.get("format"))
    return format, formats.FORMATS[format].read


def _splits(options: Mapping[str, Any]) -> dict[str, int | float | str]:
    """For each split a number of images, a share of them, or the name of a file."""
    texts = split_pairs("--splits", options.get("splits", ()))
    return {name: read_as(int | float | str, text, f"--splits {name}") for name, text in texts.items()}


def _with_absolute_value(option: str, text: str, paths: Container[str]) -> str:
    name, value = split_pair(option, text)
    return f"{name}={absolute_path(value)}" if name in paths else text
