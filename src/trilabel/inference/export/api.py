"""`trilabel.export`: from a run to a file or folder that can be used elsewhere, checked against the run."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from trilabel.errors import TrilabelError
from trilabel.files import replacing
from trilabel.inference.export.about import About
from trilabel.inference.export.card import read_facts, write_card
from trilabel.inference.export.model_folder import is_model_folder, read_folder, write_folder
from trilabel.inference.export.network import DeployedNetwork, example
from trilabel.inference.export.onnx_file import open_onnx, write_onnx
from trilabel.inference.export.pt2_file import open_pt2, write_pt2
from trilabel.inference.loading import load
from trilabel.models import Classifier
from trilabel.plugin_files import Files
from trilabel.training.run_folder import Run, RunFolder

Scoring = Callable[[Tensor], Tensor]  # B×S×S×3 uint8 images -> B×C logits
_MOST_DIFFERENT = 1e-3  # of logits, beside those of about 1; different sums in another order differ by 1e-6


class Exported(NamedTuple):
    """What was written."""

    path: Path
    bytes: int
    classes: int
    image_size: int
    largest_difference: float  # of a probability from the run's, for images made of blocks of color


def export(
    run: str | Path | Run,
    out: str | Path,
    overwrite: bool = False,
    scores: Mapping[str, Any] | None = None,
    trust: Files = (),
) -> Exported:
    """Writes the model of a run (or of a model folder) for use elsewhere.

    out: FILE.onnx, FILE.pt2 (torch.export), or a folder with weights, description and model card for a model hub.
        What is written is loaded again and must give the scores of the run.
    scores: what `Model.evaluate` gave, for the model card. trust: as for `load`.
    """
    path = run.folder if isinstance(run, Run) else Path(run)
    out = Path(out)
    model = load(path, "cpu", trust)
    if not isinstance(model.classifier, Classifier):
        raise TrilabelError(f"{path}: exported already; give the run, or its model folder")
    about = About(list(model.classes), model.image_size, model.decisions)
    network = DeployedNetwork(model.classifier, len(model.classes), model.decisions).eval()
    if out.suffix in _WRITERS:
        if out.exists() and not overwrite:
            raise TrilabelError(f"{out}: this file exists; choose another name, or pass --overwrite")
        with replacing(out) as temporary:
            _WRITERS[out.suffix](network, about, temporary)
            different = _difference(network, _READERS[out.suffix](temporary))
        size = out.stat().st_size
    else:
        _check_folder(path, out, overwrite)
        facts = read_facts(RunFolder(path), out.resolve().name, model.decisions, scores)
        write_folder(out, model.classifier, facts.description, model.decisions, write_card(facts))
        different = _difference(network, _read_folder(out))
        size = sum(file.stat().st_size for file in out.iterdir() if file.is_file())
    return Exported(out, size, len(model.classes), model.image_size, different)


def _check_folder(run: Path, out: Path, overwrite: bool) -> None:
    if out.is_file() or out.suffix in (".pt", ".pth", ".safetensors", ".bin"):
        raise TrilabelError(f"{out}: give a name that ends in .onnx or .pt2, or a folder")
    if is_model_folder(run):
        raise TrilabelError(f"{run}: this is a model folder already; copy it, or export a .onnx or .pt2 file")
    if not overwrite and out.is_dir() and any(out.iterdir()):
        raise TrilabelError(f"{out}: this folder exists; choose another, or pass --overwrite")


@torch.inference_mode()
def _difference(network: DeployedNetwork, written: Scoring) -> float:
    """The largest difference of a probability between the network and what was written; a large one is an error."""
    largest = 0.0
    for count in (1, 3):
        images = example(network.backbone.image_size, count)
        wanted, found = network(images)[2], written(images)
        if not torch.allclose(found, wanted, rtol=_MOST_DIFFERENT, atol=_MOST_DIFFERENT, equal_nan=True):
            raise TrilabelError(
                "the exported model gives other scores than the run (logits differ by up to "
                f"{float((found - wanted).abs().max()):.2g}), so do not use it; export it in another way"
            )
        before, after = (torch.sigmoid(logits * network.slope + network.shifts) for logits in (wanted, found))
        largest = max(largest, float((before - after).abs().max()))
    return largest


def _read_folder(folder: Path) -> Scoring:
    classifier, about, _ = read_folder(folder)
    network = DeployedNetwork(classifier, len(about.classes), None).eval()
    return lambda images: network(images)[2]


_WRITERS = {".onnx": write_onnx, ".pt2": write_pt2}
_READERS: dict[str, Callable[[Path], Scoring]] = {
    ".onnx": lambda file: open_onnx(file, torch.device("cpu"), False)[0].run,
    ".pt2": lambda file: open_pt2(file, torch.device("cpu"), file)[0].run,
}
