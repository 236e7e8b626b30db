"""Commands that show what a model learned and where it looks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trilabel.cli.common import Source, UsageError, at_least_one, check_folder, read_data, read_data_or_own
from trilabel.cli.render import percent, print_json, print_table
from trilabel.errors import TrilabelError


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
        from trilabel.data.image_paths import find_images
        from trilabel.inference.predictor import load
        from trilabel.log import log, track
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
            looks = model.dataset_maps(dataset, rows, broken=self.broken)
            known = class_maps.KnownAnnotations(dataset, rows, model.classes)
        else:
            files = [file for given in self.files for file in find_images(given)]
            count = len(files)
            looks = model.maps(files[: self.limit], broken=self.broken)
        if count > self.limit:
            log.info(f"the first {self.limit:,} of {count:,} images (--limit)")
        shown = class_maps.select_panels(looks, model.classes, self.top, self.classes, known)
        records: list[dict[str, Any]] = []
        for row, file in class_maps.write_pictures(track(shown, "drawing", min(count, self.limit)), self.out):
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

        from trilabel.data.side_tables import label_graph
        from trilabel.data.side_tables.label_graph import edges, from_file, identity
        from trilabel.inference.predictor import load
        from trilabel.log import log
        from trilabel.methods.imcl import similar_images
        from trilabel.report import plots, similarity
        from trilabel.training.run_folder import RunFolder

        at_least_one(neighbours=self.neighbours, limit=self.limit)
        check_folder(self.out, self.overwrite)
        dataset = read_data_or_own(self.data, self.options(), self.run)
        model, learned = load(self.run, self.device), RunFolder(self.run).label_graph
        rows = dataset.rows_of(self.split)
        if len(rows) > similarity.MOST_IMAGES:
            log.info(f"the first {similarity.MOST_IMAGES:,} of {len(rows):,} images are compared with each other")
        features: list[torch.Tensor] = []
        logits, rows = model.score_rows(
            dataset,
            rows[: similarity.MOST_IMAGES],
            broken=self.broken,
            on_batch=lambda _, output: features.append(output.features.float().cpu()),
        )
        if not features:
            raise TrilabelError(f"split {self.split!r} has no images to compare")
        graph = from_file(learned, model.classes) if learned.is_file() else identity(len(model.classes))
        made_of = similar_images(torch.cat(features), logits.sigmoid(), graph, self.neighbours)
        found, ids = list(similarity.pairs(made_of)), [dataset.ids[row] for row in rows.tolist()]
        named = [(ids[image], ids[other], *weights) for image, other, *weights in found]
        similarity.write_pairs(named, self.out / "images.csv")
        shown = similarity.first_rows(found, dataset, rows.tolist(), self.limit)
        plots.save(similarity.image_neighbors(shown), self.out / "images.png")
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
        from trilabel.report import plots, probabilities, training
        from trilabel.training import checkpoint
        from trilabel.training.run_folder import RunFolder

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
            print("validation has no known negatives: its scores are with unknown counted as absent")
        kinds = history[-1].get("highest_loss_in_first_epoch", {})
        if kinds:
            words = ", ".join(f"{name.replace('_', ' ')} {percent(value)} %" for name, value in kinds.items())
            print(f"highest loss in the first epoch: {words}")
        for name, path in pictures.items():
            print(f"{name}: {path}")
        return None
