"""`trilabel similar`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import trilabel as tl
from trilabel.cli.arguments import (
    Broken,
    OptionalDataPath,
    RunPath,
    SafeCells,
    Trust,
    check_output_folder,
    require_positive,
)
from trilabel.cli.data_options import DataOptions, Reading, read_data_or_own
from trilabel.cli.render import print_json, print_line
from trilabel.errors import TrilabelError
from trilabel.log import log
from trilabel.plugin_files import trust
from trilabel.printable import plural

if TYPE_CHECKING:
    from torch import Tensor

    from trilabel.data import Dataset


@dataclass(frozen=True, kw_only=True)
class Similar:
    """Shows which images a model finds similar, and, if it learned this, which labels are related.

    Example: trilabel similar runs/first labels.csv --images photos --out similar
    """

    run: RunPath
    """The run folder."""
    data: OptionalDataPath = ""
    """The data set of the images; none: the data that the run was trained on."""
    split: str = "test"
    """The split whose images are compared with each other."""
    out: Path
    """Folder for images.csv and images.png, and for labels.csv and labels.png if the model learned related labels."""
    neighbors: int = 5
    """Largest number of similar images per image."""
    limit: int = 12
    """Number of images in the picture, the first ones. The table lists all."""
    broken: Broken = "stop"
    """Whether a missing or broken image stops the command, or is left out and counted."""
    device: str = "auto"
    """Where to compute: cpu or cuda; auto: cuda if there is a GPU."""
    trust: Trust = ()
    safe_cells: SafeCells = False
    overwrite: bool = False
    """Write into the folder even if it is not empty."""
    json: bool = False
    """Print what was found as JSON."""
    reading: Reading = field(default_factory=DataOptions)

    def __call__(self) -> None:
        from trilabel.data.side_tables import label_graph
        from trilabel.data.spreadsheet_cells import count_formulas, formula_note
        from trilabel.methods.imcl import similar_images
        from trilabel.report import plots, similarity
        from trilabel.training.run_folder import RunFolder

        require_positive(neighbors=self.neighbors, limit=self.limit)
        check_output_folder(self.out, self.overwrite)
        trust(self.trust)  # the run's own data may be in a format of theirs
        dataset = read_data_or_own(self.data, self.reading.chosen(), self.run)
        model, learned = tl.load(self.run, self.device, self.trust), RunFolder(self.run).label_graph
        features, logits, rows = self._score(model, dataset)
        classes = model.classes
        graph = label_graph.from_file(learned, classes) if learned.is_file() else label_graph.identity(len(classes))
        found = list(similarity.pairs(similar_images(features, logits.sigmoid(), graph, self.neighbors)))
        ids = [dataset.ids[row] for row in rows]
        named = [(ids[image], ids[other], by_labels, by_features) for image, other, by_labels, by_features in found]
        files = [self.out / "images.csv", self.out / "images.png"]
        similarity.write_pairs(named, files[0], self.safe_cells)
        plots.save(similarity.image_neighbors(similarity.first_rows(found, dataset, rows, self.limit)), files[1])
        if learned.is_file():
            files += [self.out / "labels.csv", self.out / "labels.png"]
            label_graph.write(graph, classes, files[2], self.safe_cells)
            plots.save(similarity.label_matrix(label_graph.edges(graph, classes), classes), files[3])
        if not self.safe_cells and (count := count_formulas(ids, classes)):
            log.warning(f"{self.out}: {formula_note(count)}")
        if self.json:
            pairs = [dict(zip(similarity.COLUMNS, pair, strict=True)) for pair in named]
            return print_json({"files": list(map(str, files)), "images": len(ids), "pairs": pairs})
        print_line(f"{plural(len(ids), 'image')}, {plural(len(found), 'pair')} of similar images")
        for file in files:
            print_line(str(file))
        return None

    def _score(self, model: "tl.Model", dataset: "Dataset") -> "tuple[Tensor, Tensor, list[int]]":
        """(features, logits, rows) of the images to compare."""
        import torch

        from trilabel.report import similarity

        rows = dataset.rows_of(self.split)
        if len(rows) > similarity.MOST_IMAGES:
            log.info(f"only the first {similarity.MOST_IMAGES:,} of {len(rows):,} images are compared with each other")
        features: list[torch.Tensor] = []
        logits, rows = model.score_rows(
            dataset,
            rows[: similarity.MOST_IMAGES],
            broken=self.broken,
            on_batch=lambda _, output: features.append(output.features.float().cpu()),
        )
        if not features:
            raise TrilabelError(f"split {self.split!r} has no images to compare")
        if not features[0].shape[1]:
            raise TrilabelError(f"{self.run}: an exported file gives no features; use the run or its model folder")
        return torch.cat(features), logits, rows.tolist()
