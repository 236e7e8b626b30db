"""The command line: nothing but arguments. Each command imports what it needs when it runs, so that help is instant.

Results go to standard output, progress and remarks to standard error. Exit codes: 0 done, 1 failed with one line,
2 wrong usage, 130 stopped by Ctrl-C.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, get_args, get_origin, get_type_hints

import tyro

from trilabel.config import Config
from trilabel.errors import TrilabelError
from trilabel.recipes import resolve
from trilabel.show import percent, print_entries, print_inspection, print_json, print_metrics, print_table

if TYPE_CHECKING:
    from trilabel.data import Dataset


class UsageError(Exception):
    """The arguments do not go together; exit code 2."""


class Command(Protocol):
    """A command's arguments; calling it runs the command."""

    def __call__(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Source:
    """How to read a data set; the same for every command."""

    format: str | None = None
    """How to read the data: csv, folder or voc; none: find out."""
    images: str | None = None
    """Folder that the paths in a table start from; none: the table's own."""
    splits: tuple[str, ...] = ()
    """NAME=FILE (image ids, one a line) or NAME=SHARE (drawn from train), such as val=val.txt test=0.2."""
    values: Literal["auto", "binary", "signed"] = "auto"
    """Numbers in a table. binary: 1 present, 0 absent. signed: 1 present, −1 absent, 0 unknown."""
    ignore: tuple[str, ...] = ()
    """Columns of a table that are no classes."""
    delimiter: str | None = None
    """What separates the cells of a table; none: by the ending of its name."""
    conflict: Literal["error", "unknown", "majority"] = "error"
    """What becomes of a label that a table gives both as present and as absent."""
    difficult: Literal["unknown", "absent", "present"] = "unknown"
    """What a PASCAL VOC class is in an image where all its objects are marked difficult."""
    year: int | None = None
    """Which PASCAL VOC, where there are several."""

    def options(self) -> dict[str, Any]:
        """What differs from the default, for `data.read` and for the run folder."""
        chosen = {f.name: getattr(self, f.name) for f in fields(Source)}
        return {name: value for name, value in chosen.items() if value != getattr(Source, name)}


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Shows what missing labels cost, and what methods win back, on scenes drawn by code. About three minutes.

    Example: trilabel demo --out demo-run
    """

    out: Path = Path("demo-run")
    """Folder for run folders, numbers and plot. A demo that is there already is replaced."""
    seed: int = 0
    """Of scenes, hidden labels and training."""
    json: bool = False
    """Print the results as JSON."""

    def __call__(self) -> None:
        from trilabel.demo import run_demo

        cells = run_demo(self.out, self.seed)
        if self.json:
            return print_json([vars(cell) for cell in cells])
        rows = [
            [
                cell.labels,
                f"{cell.known:,}",
                cell.method,
                *map(percent, (cell.mAP, cell.CF1, cell.found)),
                cell.run or "—",
            ]
            for cell in cells
        ]
        print_table(["labels", "known", "method", "test mAP %", "test CF1 %", "hidden found %", "run folder"], rows)
        for cell in cells:
            if cell.reason:
                print(f"— {cell.labels}: {cell.reason}")
        print("hidden found: of H hidden presents, the share among the H hidden training labels scored highest")
        print(f"\nplot: {self.out / 'demo.png'}   numbers: {self.out / 'demo.json'}")
        return print(f"try next: trilabel evaluate {cells[0].run} scenes")


@dataclass(frozen=True, kw_only=True)
class DataInspect(Source):
    """Says what is known: shares, counts per class and image, classes that occur together, and what to watch out for.

    Example: trilabel data inspect labels.csv --images photos
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A table, a folder with a sub-folder per class, a PASCAL VOC folder, or "scenes"."""
    split: str = "all"
    """Only this split."""
    json: bool = False
    """Print everything as JSON."""

    def __call__(self) -> None:
        from trilabel.data.inspect import inspect

        found = inspect(read_data(self.data, self.options()), self.split)
        print_json(found) if self.json else print_inspection(found)


@dataclass(frozen=True, kw_only=True)
class DataSimulate(Source):
    """Hides labels of a data set as the papers do, and writes the table that is left.

    Example: trilabel data simulate VOCdevkit single-positive --out single.csv
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """A table, a folder with a sub-folder per class, a PASCAL VOC folder, or a table of scenes."""
    setting: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="SETTING")]
    """keep-share=0.1, keep-share-per-image=0.1, dense-share=0.1, per-class=0.5, noisy=0.05, noisy-plus,
    single-positive, or single-positive=2,3 (two presents and three absents an image)."""
    out: Path
    """The table to write."""
    seed: int | None = None
    """Of the draw; none: the setting's own (0, or 1200 for single-positive as published)."""
    split: str = "train"
    """Hide labels of this split only ("all": everywhere)."""
    layout: Literal["wide", "long"] = "wide"
    """A column a class, or a row a label."""
    overwrite: bool = False
    """Replace the table if it exists."""
    json: bool = False
    """Print the summary as JSON."""

    def __call__(self) -> None:
        from trilabel import simulate
        from trilabel.data.csv_table import write

        if self.out.exists() and not self.overwrite:
            raise TrilabelError(f"{self.out}: this file exists; choose another, or say --overwrite")
        dataset = read_data(self.data, self.options())
        rows = dataset.rows_of(self.split)
        labels = simulate.apply_to_rows(dataset.labels, rows, self.setting, self.seed)
        write(dataset.with_labels(labels), self.out, layout=self.layout)
        before, after = dataset.labels[rows], labels[rows]
        summary = {
            "table": str(self.out),
            "images": len(rows),
            "known_before": before.known,
            "known_after": after.known,
        }
        if self.json:
            return print_json(summary)
        return print(
            f"{self.out}: {after.known:,} of {before.known:,} labels of {len(rows):,} images left "
            f"({after.known_share:.2%} of all known); read it without --images, its paths start from itself"
        )


@dataclass(frozen=True, kw_only=True)
class Train(Config, Source):
    """Trains a classifier on labels with holes and writes a run folder.

    Example: trilabel train labels.csv --images photos --out runs/first

    On photographs: trilabel train labels.csv --recipe fine-tune --weights resnet50.safetensors

    After a stop: trilabel train --resume runs/first
    """

    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")] = ""
    """A table, a folder with a sub-folder per class, a PASCAL VOC folder, or "scenes" (drawn by code)."""
    out: Path | None = None
    """The run folder; none: runs/DATA-RECIPE."""
    recipe: str = "small"
    """Where the settings below start from (see `trilabel recipes`)."""
    set: tuple[str, ...] = ()
    """Settings of the method (see `trilabel methods`): NAME=VALUE …; of other parts (see `trilabel parts`):
    head.NAME=VALUE, graph.NAME=VALUE, relabel.NAME=VALUE."""
    hide: str | None = None
    """Hide training labels first, to see what it costs: keep-share=0.1, single-positive, … (see `data simulate`)."""
    hide_seed: int | None = None
    """Of the draw of hidden labels; none: the setting's own."""
    resume: Path | None = None
    """Go on with the run in this folder; it remembers its data and settings."""
    overwrite: bool = False
    """Replace the run folder if it exists."""
    json: bool = False
    """Print the result as JSON."""
    settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    head_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    graph_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)
    relabel_settings: tyro.conf.Suppress[Mapping[str, Any]] = field(default_factory=dict)

    def __call__(self) -> None:
        from trilabel.engine import train
        from trilabel.run_folder import RunFolder

        if bool(self.data) == (self.resume is not None):
            raise UsageError("give either data to train on, or --resume and a run folder")
        if self.resume is not None:
            about = RunFolder(self.resume).read()
            source, out = about["source"], self.resume
            config = self._resumed(about["config"])
            if not source:
                raise TrilabelError(
                    f"{self.resume}: this run was started from Python; resume it with trilabel.train(…, resume=True)"
                )
        else:
            chosen = {f.name: getattr(self, f.name) for f in fields(Config)} | self._settings()
            source = {"data": self.data, **self.options()}
            source = {name: from_anywhere(value) for name, value in source.items()}
            chosen["weights"] = from_anywhere(self.weights)
            source |= {"hide": self.hide, "hide_seed": self.hide_seed} if self.hide else {}
            config, out = Config(**chosen), self.out or Path("runs") / f"{Path(self.data).stem}-{self.recipe}"
        dataset = read_source(source, config)
        run = train(dataset, config, out, resume=self.resume is not None, overwrite=self.overwrite, source=source)
        if self.json:
            return print_json({"run": str(run.folder), "best": run.best, "epochs": len(run.history)})
        if run.metrics:
            how = ", unknown counted as absent" if run.best.get("val_unknown_as_absent") else ""
            epochs = sum(record["stage"] == run.best["stage"] for record in run.history)
            print_metrics(run.metrics, f"best epoch: {run.best['epoch']} of {epochs}, on validation{how}")
        else:
            print(f"{len(run.history)} epochs done; no validation, so the last one is kept")
        return print(f"run folder: {run.folder}\ntry next: trilabel predict {run.folder} IMAGES --out predictions.csv")

    def _settings(self) -> dict[str, dict[str, Any]]:
        """The settings of each part: those of the recipe, where the part is the recipe's, and over them those given."""
        began, found = resolve(self.recipe), dict[str, dict[str, Any]]()
        for part, field_name in PARTS.items():
            same = getattr(self, part) == getattr(began, part)
            found[field_name] = dict(getattr(self, field_name)) if same else {}
        for text in self.set:
            name, value = name_and_value("--set", text)
            part, dot, own = name.partition(".")
            if dot and PARTS.get(part, "settings") == "settings":
                raise UsageError(f"--set {text}: settings of other parts begin with head., graph. or relabel.")
            setting = own if dot else name
            if setting in FILE_SETTINGS:
                value = ",".join(map(from_anywhere, value.split(",")))
            found[PARTS[part] if dot else "settings"][setting] = value
        return found

    def _resumed(self, began: Config) -> Config:
        """The settings to go on with; what may not change, or means nothing on the way, is refused."""
        from trilabel.engine import MAY_CHANGE

        settings = {f.name for f in fields(Config)}
        changed = [name for name in settings if getattr(self, name) != getattr(began, name)]
        others = [f.name for f in fields(self) if f.name not in settings and getattr(self, f.name) != f.default]
        refused = sorted({*changed, *others} - MAY_CHANGE - {"resume", "json"})
        if refused:
            options, allowed = (
                " ".join(f"--{n.replace('_', '-')}" for n in names) for names in (refused, sorted(MAY_CHANGE))
            )
            raise UsageError(f"{options}: a run goes on as it began; only these may be given with --resume: {allowed}")
        return replace(began, **{name: getattr(self, name) for name in changed})


@dataclass(frozen=True, kw_only=True)
class Evaluate(Source):
    """Scores a run's best model on a split, over its known labels.

    Example: trilabel evaluate runs/first labels.csv --images photos --split test
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")] = ""
    """The data to score on; none: what the run was trained on, with nothing hidden."""
    split: str = "test"
    """The split to score."""
    threshold: float = 0.5
    """Probability from which a class counts as predicted (F1 and the like; mAP needs none)."""
    common_classes: bool = False
    """Score only classes that data and model share."""
    per_class: bool = False
    """Also list the average precision of each class."""
    pointing: bool = False
    """Also play the pointing game: does the class map of a present class peak inside a box of it? Needs boxes."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does."""
    device: str = "auto"
    json: bool = False
    """Print all metrics as JSON."""

    def __call__(self) -> None:
        from trilabel.console import warn
        from trilabel.predict import load

        dataset = read_data_or_own(self.data, self.options(), self.run)
        model = load(self.run, self.device)
        result = model.evaluate(
            dataset, self.split, self.threshold, self.common_classes, broken=self.broken, pointing=self.pointing
        )
        if not dataset.labels[dataset.rows_of(self.split)].counts_per_class()[1].any():
            warn(
                f"no label of split {self.split!r} is known to be absent, so no prediction can be wrong: only the "
                "recall says something; label some images fully"
            )
        if self.json:
            return print_json(result)
        print_metrics(result, f"{self.split}: {result['images']:,} images, {result['known_share']:.1%} of labels known")
        if self.pointing:
            pairs = f"{result['pointing_game_pairs']:,} present classes of images"
            print(f"pointing game: {percent(result['pointing_game'])} % of {pairs} peak inside a box of theirs")
        if self.per_class:
            kept = [name for name in dataset.classes if name not in result["left_out_classes"]]
            rows = [[name, percent(value)] for name, value in zip(kept, result["per_class_ap"], strict=True)]
            if self.pointing:
                shares = result["per_class_pointing_game"]
                rows = [[*row, percent(shares.get(row[0]))] for row in rows]
            print_table(["class", "AP %", *(["pointing %"] if self.pointing else [])], rows)
        return None


@dataclass(frozen=True, kw_only=True)
class Predict:
    """Predicts the classes of images, to a table (.csv) or records (.json).

    Example: trilabel predict runs/first photos --out predictions.csv
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    images: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="IMAGES …")]
    """A folder (searched with its sub-folders), or image files."""
    out: Path | None = None
    """Where to write: .csv or .json; none: a line an image on standard output."""
    threshold: float = 0.5
    """Probability from which a class is listed as present."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does."""
    batch_size: int = 64
    workers: int | None = None
    device: str = "auto"
    overwrite: bool = False
    """Replace the file if it exists."""
    json: bool = False
    """Print the records as JSON."""

    def __call__(self) -> None:
        from trilabel.console import warn
        from trilabel.data.folder import find_images
        from trilabel.predict import load

        if not self.images:
            raise UsageError("name a folder of images, or image files")
        if self.out is not None and self.out.suffix not in (".csv", ".json"):
            raise UsageError(f"--out {self.out}: the name must end in .csv or .json")
        if self.out is not None and self.out.exists() and not self.overwrite:
            raise TrilabelError(f"{self.out}: this file exists; choose another, or say --overwrite")
        model = load(self.run, self.device)
        files = [file for given in self.images for file in find_images(given)]
        found = model.predict(files, self.batch_size, self.workers, self.broken)
        if found.left_out:
            warn(f"{len(found.left_out)} images left out; the first: {found.left_out[0]}")
        if self.out is not None:
            found.to_csv(self.out) if self.out.suffix == ".csv" else found.to_json(self.out, self.threshold)
        if self.json:
            return print_json(found.to_records(self.threshold))
        if self.out is not None:
            return print(f"{self.out}: {len(found.ids):,} images × {len(found.classes):,} classes")
        for record in found.to_records(self.threshold):
            classes = "  ".join(f"{name} {record['scores'][name]:.2f}" for name in record["present"])
            print(f"{record['image']}\t{classes or '(none)'}")
        return None


@dataclass(frozen=True, kw_only=True)
class Maps(Source):
    """Shows where a run's model sees classes in images: class maps laid over them, a picture an image.

    Example: trilabel maps runs/first photos --out maps

    With known labels and boxes: trilabel maps runs/first --data VOCdevkit --split val --out maps
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    files: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[IMAGES …]")] = ()
    """A folder (searched with its sub-folders), or image files."""
    data: str = ""
    """A data set whose images to show instead, with what it knows of them."""
    split: str = "test"
    """Of the data set."""
    out: Path
    """Folder for the pictures."""
    top: int = 3
    """Classes to show of each image: those with the highest probabilities."""
    classes: tuple[str, ...] = ()
    """Show these classes instead."""
    limit: int = 20
    """Images to show: the first ones."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does."""
    device: str = "auto"
    overwrite: bool = False
    """Write into the folder even if something is in it."""
    json: bool = False
    """Print what was written as JSON."""

    def __call__(self) -> None:
        from trilabel.console import say, track
        from trilabel.data.folder import find_images
        from trilabel.predict import load
        from trilabel.report import class_maps

        if bool(self.files) == bool(self.data):
            raise UsageError("give either images (a folder or files), or --data and a data set")
        if not self.data and self.options():
            raise UsageError(f"{', '.join(self.options())}: these are for --data")
        at_least_one(top=self.top, limit=self.limit)
        check_folder(self.out, self.overwrite)
        model, known = load(self.run, self.device), None
        if self.data:
            dataset = read_data(self.data, self.options())
            rows = dataset.rows_of(self.split)
            count, rows = len(rows), rows[: self.limit]
            looks = model.maps_of_rows(dataset, rows, broken=self.broken)
            known = class_maps.Known(dataset, rows, model.classes)
        else:
            files = [file for given in self.files for file in find_images(given)]
            count = len(files)
            looks = model.maps(files[: self.limit], broken=self.broken)
        if count > self.limit:
            say(f"the first {self.limit:,} of {count:,} images (--limit)")
        shown = class_maps.rows(looks, model.classes, self.top, self.classes, known)
        records: list[dict[str, Any]] = []
        for row, file in class_maps.write(track(shown, "drawing", min(count, self.limit)), self.out):
            classes = {panel.name: round(panel.probability, 6) for panel in row.panels}
            records.append({"image": row.id, "file": str(file), "classes": classes})
        if not records:
            raise TrilabelError("no image to show")
        if self.json:
            return print_json({"images": count, "overview": str(self.out / "overview.png"), "pictures": records})
        return print(f"{self.out}: pictures of {len(records):,} images; look at overview.png first")


@dataclass(frozen=True, kw_only=True)
class Similar(Source):
    """Shows which images a run's model finds similar, and where it learned that, which labels go together.

    Example: trilabel similar runs/first labels.csv --images photos --out similar
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder."""
    data: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="[DATA]")] = ""
    """The data to take images from; none: what the run was trained on."""
    split: str = "test"
    """Its images are compared with each other."""
    out: Path
    """Folder for images.csv and images.png, and labels.csv and labels.png where labels were learned to go together."""
    neighbours: int = 5
    """Images that an image is made of, at most."""
    limit: int = 12
    """Images in the picture: the first ones. The table has all."""
    broken: Literal["stop", "skip"] = "stop"
    """What a missing or broken image does."""
    device: str = "auto"
    overwrite: bool = False
    """Write into the folder even if something is in it."""
    json: bool = False
    """Print what was found as JSON."""

    def __call__(self) -> None:
        import torch

        from trilabel import label_graph
        from trilabel.console import say
        from trilabel.label_graph import edges, from_file, identity
        from trilabel.methods.imcl import similar_images
        from trilabel.predict import load
        from trilabel.report import plots, similarity
        from trilabel.run_folder import RunFolder

        at_least_one(neighbours=self.neighbours, limit=self.limit)
        check_folder(self.out, self.overwrite)
        dataset = read_data_or_own(self.data, self.options(), self.run)
        model, learned = load(self.run, self.device), RunFolder(self.run).label_graph
        rows = dataset.rows_of(self.split)
        if len(rows) > similarity.MOST_IMAGES:
            say(f"the first {similarity.MOST_IMAGES:,} of {len(rows):,} images are compared with each other")
        features: list[torch.Tensor] = []
        logits, rows = model.score_rows(
            dataset,
            rows[: similarity.MOST_IMAGES],
            broken=self.broken,
            seen=lambda _, output: features.append(output.features.float().cpu()),
        )
        if not features:
            raise TrilabelError(f"split {self.split!r} has no images to compare")
        graph = from_file(learned, model.classes) if learned.is_file() else identity(len(model.classes))
        made_of = similar_images(torch.cat(features), logits.sigmoid(), graph, self.neighbours)
        found, ids = list(similarity.pairs(made_of)), [dataset.ids[row] for row in rows.tolist()]
        named = [(ids[image], ids[other], *weights) for image, other, *weights in found]
        similarity.write_images(named, self.out / "images.csv")
        shown = similarity.first_rows(found, dataset, rows.tolist(), self.limit)
        plots.save(similarity.image_neighbours(shown), self.out / "images.png")
        files = [self.out / "images.csv", self.out / "images.png"]
        if learned.is_file():
            label_graph.write(graph, model.classes, self.out / "labels.csv")
            plots.save(similarity.label_matrix(edges(graph, model.classes), model.classes), self.out / "labels.png")
            files += [self.out / "labels.csv", self.out / "labels.png"]
        if self.json:
            pairs = [dict(zip(similarity.COLUMNS, pair, strict=True)) for pair in named]
            return print_json({"files": list(map(str, files)), "images": len(ids), "pairs": pairs})
        print(f"{len(ids):,} images, {len(found):,} pairs of similar ones")
        return print("\n".join(map(str, files)))


@dataclass(frozen=True, kw_only=True)
class Report:
    """Shows how a run went, epoch by epoch: scores, and what became of unknown labels; also as a picture.

    Example: trilabel report runs/first
    """

    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
    """The run folder; the run may still be going on."""
    out: Path | None = None
    """The picture (.png, .svg or .pdf); none: report.png in the run folder."""
    json: bool = False
    """Print what was recorded as JSON."""

    def __call__(self) -> None:
        from trilabel import checkpoint
        from trilabel.report import plots, probabilities, training
        from trilabel.run_folder import RunFolder

        folder = RunFolder(self.run)
        folder.read()  # is it a run at all?
        history = folder.read_history()
        if not history:
            raise TrilabelError(f"{self.run}: no epoch of this run is done yet")
        out = self.out or self.run / "report.png"
        if out.suffix not in (".png", ".svg", ".pdf"):
            raise UsageError(f"--out {out}: the name must end in .png, .svg or .pdf")
        plots.save(training.picture(history), out)
        best = checkpoint.load_state(folder.best) if folder.best.is_file() else history[-1]
        pictures = {"picture": str(out)}
        if probabilities.has_some(best):
            stem = "probabilities" if self.out is None else f"{out.stem}-probabilities"
            pictures["probabilities"] = str(out.with_name(f"{stem}{out.suffix}"))
            plots.save(probabilities.histograms(best), pictures["probabilities"])
        if self.json:
            return print_json({**pictures, "epochs": history})
        print_table(*training.table(history))
        header, rows = training.relabellings(history)
        if rows:
            print()
            print_table(header, rows)
            print("right: of those added. TP, TN: of the added that are in truth present, absent, the share called so")
        if any(record.get("val_unknown_as_absent") for record in history):
            print("validation has no known absents: its scores are with unknown counted as absent")
        kinds = history[-1].get("highest_loss_in_first_epoch", {})
        if kinds:
            words = ", ".join(f"{name.replace('_', ' ')} {percent(value)} %" for name, value in kinds.items())
            print(f"highest loss in the first epoch: {words}")
        for name, path in pictures.items():
            print(f"{name}: {path}")
        return None


@dataclass(frozen=True, kw_only=True)
class Methods:
    """Lists the methods: what each does, the labels it is for, what it costs, and its settings.

    Example: trilabel methods
    """

    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        from trilabel.methods import METHODS

        if self.json:
            return print_json(
                [
                    {
                        "method": name,
                        "what": kind.summary,
                        "labels": kind.suits,
                        "cost": kind.cost,
                        "heads": list(kind.heads),
                        "settings": {f.name: f.default for f in fields(kind.Settings)},
                    }
                    for name, kind in METHODS.items()
                ]
            )
        entries = {}
        for name, kind in METHODS.items():
            lines = [kind.summary, f"labels: {kind.suits}; cost: {kind.cost}", *set_words(choices(kind.Settings))]
            entries[name] = lines + ([f"goes with --head {' or '.join(kind.heads)}"] if kind.heads else [])
        return print_entries(entries)


@dataclass(frozen=True, kw_only=True)
class Parts:
    """Lists what goes with any method: heads, graphs between classes, and ways to fill in labels on the way.

    Example: trilabel parts
    """

    json: bool = False
    """Print as JSON."""

    def __call__(self) -> None:
        from trilabel.models import GRAPHS, HEADS
        from trilabel.relabel import STRATEGIES, RelabelSettings

        parts: list[tuple[str, str, str, dict[str, Any], dict[str, str]]] = [
            (part, name, kind.summary, {f.name: f.default for f in fields(kind.Settings)}, choices(kind.Settings))
            for part, kinds in (("head", HEADS), ("graph", GRAPHS))
            for name, kind in kinds.items()
        ]
        defaults, words = {f.name: f.default for f in fields(RelabelSettings)}, choices(RelabelSettings)
        for name, strategy in STRATEGIES.items():
            own = ["epochs", *([] if strategy.threshold is None else ["threshold"]), *strategy.settings]
            values = {key: strategy.threshold if key == "threshold" else defaults[key] for key in own}
            shown = {key: str(values[key]) if key == "threshold" else words[key] for key in own}
            parts.append(("relabel", name, strategy.what, values, shown))
        if self.json:
            return print_json([{part: name, "what": what, "settings": values} for part, name, what, values, _ in parts])
        return print_entries(
            {f"--{part} {name}": [what, *set_words(shown, f"{part}.")] for part, name, what, _, shown in parts}
        )


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """Lists the recipes: full settings under a name, and where they come from.

    Example: trilabel recipes
    """

    json: bool = False
    """Print as JSON, with all settings."""

    def __call__(self) -> None:
        from trilabel.recipes import RECIPES

        if self.json:
            return print_json({name: recipe().to_json() for name, recipe in RECIPES.items()})
        return print_entries({name: [recipe.__doc__ or ""] for name, recipe in RECIPES.items()})


# The parts of a run that have settings of their own, and where a Config keeps them.
PARTS = {
    "method": "settings",
    "head": "head_settings",
    "graph": "graph_settings",
    "relabel": "relabel_settings",
}

FILE_SETTINGS = ("vectors", "graph", "side", "runs")  # may name files

COMMANDS: dict[str, type[Any]] = {
    "demo": Demo,
    "data inspect": DataInspect,
    "data simulate": DataSimulate,
    "train": Train,
    "evaluate": Evaluate,
    "predict": Predict,
    "maps": Maps,
    "similar": Similar,
    "report": Report,
    "methods": Methods,
    "parts": Parts,
    "recipes": Recipes,
}


# ---- reading


def read_data(data: str, options: Mapping[str, Any]) -> "Dataset":
    """A data set by path, or the embedded scenes by name."""
    from trilabel import data as readers
    from trilabel.console import say

    if data == "scenes" and not Path(data).exists():
        return readers.scenes()
    splits = dict(name_and_value("--splits", text) for text in options.get("splits", ()))
    dataset = readers.read(data, **{**options, "splits": {name: _number(what) for name, what in splits.items()}})
    for note in dataset.notes:
        say(f"{data}: {note}")
    return dataset


def read_data_or_own(data: str, options: Mapping[str, Any], run: Path) -> "Dataset":
    """The data set that is named, or else the one that a run was trained on, with nothing hidden."""
    from trilabel.run_folder import RunFolder

    source = {"data": data, **options} if data else dict(RunFolder(run).read()["source"])
    if not source:
        raise UsageError("this run does not know its data (it was started from Python); name it")
    if not data and options:
        raise UsageError(f"{', '.join(options)}: name the data that these are for, too")
    return read_data(source.pop("data"), {k: v for k, v in source.items() if not k.startswith("hide")})


def read_source(source: Mapping[str, Any], config: Config) -> "Dataset":
    """The data set of a run, with the training labels hidden that the run hides."""
    from trilabel import simulate
    from trilabel.plan import split_for_training

    options = {name: value for name, value in source.items() if name not in ("data", "hide", "hide_seed")}
    dataset = read_data(source["data"], options)
    if "hide" not in source:
        return dataset
    _, rows, _ = split_for_training(dataset, config)
    return dataset.with_labels(simulate.apply_to_rows(dataset.labels, rows, source["hide"], source["hide_seed"]))


def set_words(choices: Mapping[str, str], prefix: str = "") -> list[str]:
    """How to set a part's settings, in one line; no line where it has none."""
    words = " ".join(f"{prefix}{name}={choice}" for name, choice in choices.items())
    return [f"--set {words}"] if words else []


def choices(settings: type[Any]) -> dict[str, str]:
    """What may be given for each setting of a method: its default, and after it the others where they are few."""
    hints = get_type_hints(settings)
    found = {}
    for f in fields(settings):
        others = [other for other in get_args(hints[f.name]) if other != f.default]
        words = [f.default, *others] if get_origin(hints[f.name]) is Literal else [f.default]
        found[f.name] = "|".join("none" if word is None else "…" if word == () else str(word) for word in words)
    return found


def from_anywhere(value: Any) -> Any:
    """Paths that exist made absolute, so that a run can be resumed and scored from another folder."""
    if isinstance(value, tuple | list):
        return [from_anywhere(item) for item in value]
    if not isinstance(value, str):
        return value
    name, equals, path = value.rpartition("=")  # NAME=FILE of --splits
    return f"{name}{equals}{Path(path).absolute()}" if path and Path(path).exists() else value


def name_and_value(option: str, text: str) -> tuple[str, str]:
    """NAME=VALUE as a pair."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"{option} {text}: write NAME=VALUE")
    return name, value


def check_folder(out: Path, overwrite: bool) -> None:
    """Refuses to write among what is in a folder already, unless told to."""
    if out.is_file():
        raise TrilabelError(f"{out}: this is a file; name a folder")
    if not overwrite and out.is_dir() and any(out.iterdir()):
        raise TrilabelError(f"{out}: this folder exists; choose another, or say --overwrite")


def at_least_one(**options: int) -> None:
    """Refuses numbers below 1."""
    for name, value in options.items():
        if value < 1:
            raise UsageError(f"--{name} {value}: give 1 or more")


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


# ---- finding the command


def overview() -> str:
    """The text of `trilabel --help`."""
    lines = [f"  {name:<15} {(kind.__doc__ or '').splitlines()[0]}" for name, kind in COMMANDS.items()]
    return "\n".join(
        [
            "usage: trilabel COMMAND … [--help] [--debug]",
            "",
            "Train multi-label image classifiers when most labels are unknown.",
            "Every label is present, absent or unknown.",
            "",
            *lines,
            "",
            "Example: trilabel demo",
            "Options and an example of a command: trilabel COMMAND --help",
        ]
    )


def find_command(arguments: list[str]) -> tuple[str, list[str]]:
    """(command, its arguments)."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if name in COMMANDS:
            return name, arguments[words:]
    if arguments and any(name.startswith(arguments[0] + " ") for name in COMMANDS):
        parts = [name.split()[1] for name in COMMANDS if name.startswith(arguments[0] + " ")]
        raise UsageError(
            f"trilabel {arguments[0]}: which one? {' | '.join(parts)} (trilabel {arguments[0]} {parts[0]} --help)"
        )
    raise UsageError(f"no command {arguments[0]!r}; there are: {', '.join(COMMANDS)}")


def parse(name: str, arguments: list[str]) -> Command:
    """The command with its arguments; `train` takes its defaults from the recipe or the run that is named."""
    kind, default = COMMANDS[name], None
    if kind is Train:
        recipe, resumed = value_of("--recipe", arguments) or "small", value_of("--resume", arguments)
        if resumed:
            from trilabel.run_folder import RunFolder

            config = RunFolder(Path(resumed)).read()["config"]
        else:
            config = resolve(recipe)
        default = Train(recipe=recipe, **{f.name: getattr(config, f.name) for f in fields(Config)})
    options: dict[str, Any] = {} if default is None else {"default": default}
    command: Command = tyro.cli(kind, args=arguments, prog=f"trilabel {name}", **options)
    return command


def value_of(option: str, arguments: list[str]) -> str | None:
    """The value of an option that must be known before parsing, because it decides the defaults of the others."""
    for position, argument in enumerate(arguments):
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
        if argument == option and position + 1 < len(arguments):
            return arguments[position + 1]
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command and gives its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from trilabel import __version__

        print(__version__)
        return 0
    try:
        parse(*find_command(arguments))()
    except UsageError as error:
        print(f"trilabel: {error}", file=sys.stderr)
        return 2
    except TrilabelError as error:
        if debug:
            raise
        print(f"trilabel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("trilabel: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        sys.stderr.close()
        return 0
    except Exception as error:
        if debug:
            raise
        first = (str(error).strip().splitlines() or [""])[0]
        print(f"trilabel: {type(error).__name__}: {first} (run again with --debug for the traceback)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
