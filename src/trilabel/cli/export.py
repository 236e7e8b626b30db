"""`trilabel export`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

import trilabel as tl
from trilabel.cli.arguments import RunPath, Trust
from trilabel.cli.render import print_json, print_line
from trilabel.errors import TrilabelError, one_line
from trilabel.printable import plural


@dataclass(frozen=True, kw_only=True)
class Export:
    """Writes a trained model for use elsewhere: .onnx, .pt2 (torch.export), or a folder for a model hub.

    Normalization, calibration and thresholds are inside. What was written is loaded again and compared with the run.

    Example: trilabel export runs/first --out model.onnx
    """

    run: RunPath
    """The run folder, or a model folder."""
    out: Annotated[Path, tyro.conf.arg(metavar="FILE|FOLDER")]
    """FILE.onnx, FILE.pt2, or the folder to write."""
    scores: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """For the model card of a folder: the file with what trilabel evaluate RUN --json printed."""
    trust: Trust = ()
    overwrite: bool = False
    """Replace the file if it exists, or the files of a model in the folder."""
    json: bool = False
    """Print what was written as JSON."""

    def __call__(self) -> None:
        scores = None if self.scores is None else _read_scores(self.scores)
        done = tl.export(self.run, self.out, self.overwrite, scores, self.trust)
        if self.json:
            return print_json({**done._asdict(), "path": str(done.path)})
        what = f"{plural(done.classes, 'class')}, images of {done.image_size} pixels, {done.bytes / 1e6:,.1f} MB"
        return print_line(f"{done.path}: {what}; probabilities differ from the run's by {done.largest_difference:.1g}")


def _read_scores(file: Path) -> Mapping[str, Any]:
    from trilabel.input_files import read_input

    try:
        found = json.loads(read_input(file))
        if not isinstance(found, dict) or not {"images", "known_share", "mAP"} <= found.keys():
            raise ValueError("no metrics of a split")
    except FileNotFoundError:
        raise TrilabelError(f"{file}: no such file; write it with trilabel evaluate RUN --json") from None
    except (ValueError, RecursionError) as error:
        raise TrilabelError(f"{file}: not what trilabel evaluate --json prints ({one_line(error)})") from None
    return found
