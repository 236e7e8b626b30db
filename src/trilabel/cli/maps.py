"""`trilabel maps`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

import trilabel as tl
from trilabel.cli.arguments import Broken, RunPath, Trust, UsageError, check_output_folder, require_positive
from trilabel.cli.data_options import DataOptions, Reading, read_data
from trilabel.cli.render import print_json, print_line
from trilabel.errors import TrilabelError
from trilabel.log import log, track
from trilabel.printable import plural


@dataclass(frozen=True, kw_only=True)
class Maps:
    """Shows where in images a model sees classes: a picture of the class activation maps over each image.

    Example: trilabel maps runs/first photos --out maps

    With known labels and boxes: trilabel maps runs/first --data VOCdevkit --split val --out maps
    """

    run: RunPath
    """The run folder."""
    files: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[IMAGES …]")] = ()
    """A folder (searched with its sub-folders), or image files."""
    data: str = ""
    """A data set whose images to show instead, with their known labels and boxes."""
    split: str = "test"
    """The split of the data set."""
    out: Path
    """Folder for the pictures."""
    top: int = 3
    """Number of classes to show per image: those with the highest probabilities."""
    classes: tuple[str, ...] = ()
    """Show these classes instead."""
    limit: int = 20
    """Show only this many images, the first ones."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out and counted."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    trust: Trust = ()
    overwrite: bool = False
    """Write into the folder even if it is not empty."""
    json: bool = False
    """Print what was written as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.data.image_paths import find_images
        from trilabel.report import class_maps

        self._check()
        model, known = tl.load(self.run, self.device, self.trust), None
        if self.data:
            dataset = read_data(self.data, self.reading.chosen())
            rows = dataset.rows_of(self.split)
            count, rows = len(rows), rows[: self.limit]
            activations = model.dataset_maps(dataset, rows, broken=self.broken)
            known = class_maps.KnownAnnotations(dataset, rows, model.classes)
        else:
            files = [file for given in self.files for file in find_images(given)]
            count = len(files)
            activations = model.maps(files[: self.limit], broken=self.broken)
        if count > self.limit:
            log.info(f"the first {self.limit:,} of {plural(count, 'image')} (--limit)")
        shown = class_maps.select_panels(activations, model.classes, self.top, self.classes, known)
        records: list[dict[str, Any]] = []
        for image, file in class_maps.write_pictures(track(shown, "drawing", min(count, self.limit)), self.out):
            classes = {panel.name: round(panel.probability, 6) for panel in image.panels}
            records.append({"image": image.id, "file": str(file), "classes": classes})
        if not records:
            raise TrilabelError("there are no images to show")
        if self.json:
            return print_json({"images": count, "overview": str(self.out / "overview.png"), "pictures": records})
        return print_line(f"{self.out}: pictures of {plural(len(records), 'image')}; overview.png shows the first")

    def _check(self) -> None:
        if bool(self.files) == bool(self.data):
            raise UsageError("give either images (a folder or files), or --data and a data set")
        if not self.data and self.reading.chosen():
            raise UsageError(f"{', '.join(self.reading.chosen())}: these options need --data")
        require_positive(top=self.top, limit=self.limit)
        check_output_folder(self.out, self.overwrite)
